"""Arrays of other libraries: memory of a CUDA device, and DLPack on the host."""

from __future__ import annotations

from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from ._library import invalid

_TO_HOST = (
    "copy it to the host: .get() of CuPy, .cpu() of PyTorch, .copy_to_host() of Numba, or cudaMemcpy of CUDA"
)

# The values of ocellus_memory.
_HOST = 0
_CUDA = 2
# Device types of DLPack whose memory the processor reads: kDLCPU, kDLCUDAHost.
_DLPACK_HOST = (1, 3)


class CudaArray:
    """Memory of a CUDA device as `__cuda_array_interface__` describes it, with NumPy's names."""

    __slots__ = ("owner", "shape", "dtype", "itemsize", "ndim", "strides", "address", "read_only", "stream")

    def __init__(self, name: str, owner: Any) -> None:
        interface = owner.__cuda_array_interface__
        if interface.get("mask") is not None:
            raise invalid(f"{name} has a mask; its __cuda_array_interface__ must have none")
        self.owner = owner
        self.shape: tuple[int, ...] = tuple(interface["shape"])
        self.dtype = np.dtype(interface["typestr"])
        self.itemsize = self.dtype.itemsize
        self.ndim = len(self.shape)
        strides = interface.get("strides")
        if strides is None:  # the rows follow one another
            strides = [self.itemsize] * self.ndim
            for axis in range(self.ndim - 1, 0, -1):
                strides[axis - 1] = strides[axis] * self.shape[axis]
        self.strides: tuple[int, ...] = tuple(strides)
        self.address, self.read_only = interface["data"]
        # 1 is cudaStreamLegacy and 2 cudaStreamPerThread, in the interface and in CUDA. With None there is nothing to
        # wait for.
        self.stream = interface.get("stream")


Array = Union[NDArray[Any], CudaArray]


def array_of(name: str, given: Any) -> Array:
    """What another library gives, without a copy: a CUDA array, one of DLPack, or what NumPy understands."""
    if isinstance(given, (np.ndarray, CudaArray)):
        return given
    if hasattr(given, "__cuda_array_interface__"):
        return CudaArray(name, given)
    if hasattr(given, "__dlpack__") and not (hasattr(given, "__array__") or hasattr(given, "__array_interface__")):
        device = given.__dlpack_device__()[0]
        if device not in _DLPACK_HOST:
            raise invalid(f"{name} is in memory of the device type {int(device)} of DLPack; {_TO_HOST}")
        return np.from_dlpack(given)
    return np.asarray(given)


def place_of(name: str, array: Array, backend: str) -> tuple[int, int, Any]:
    """Address, kind of memory and stream as ocellus_frame and ocellus_plane have them."""
    if isinstance(array, CudaArray):
        if backend != "cuda":
            raise invalid(f"{name} is in CUDA memory, and the backend is {backend}; {_TO_HOST}")
        return array.address, _CUDA, array.stream
    return array.ctypes.data, _HOST, None
