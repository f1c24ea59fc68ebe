"""Objects that move in a flow field."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from ._library import (
    CError,
    CMovingObject,
    CMovingObjectsConfig,
    CPlane,
    Handle,
    NotCopied,
    check,
    invalid,
    library,
    whole,
    width_and_height,
)
from ._operator import _FORMATS


class MovingObject(NamedTuple):
    """An object that moves."""

    box: tuple[int, int, int, int]  #: left, top, width, height in pixels of the flow planes
    u: float  #: mean motion to the right, pixels per frame
    v: float  #: mean motion down, pixels per frame
    area: int  #: pixels of the object


class MovingObjects(NotCopied):
    """Finds the objects that move in the planes of the operator "flow".

    flow = ocellus.Operator("flow", size=(640, 480), deviation=True)
    find = ocellus.MovingObjects(size=(640, 480))
    u, v, confidence, deviation = flow(frame)
    for moving in find(u, v, deviation):
        print(moving.box, moving.u, moving.v)
    """

    def __init__(
        self,
        size: tuple[int, int],
        *,
        min_motion: float = 1.0,
        min_deviations: float = 2.0,
        min_area: int = 0,
        max_objects: int = 32,
    ) -> None:
        """Takes the memory for fields of one size.

        size: width and height of the planes
        min_motion: pixels per frame; less is not motion
        min_deviations: motion below this multiple of its standard deviation is noise
        min_area: pixels; smaller objects are left out; 0: those of 16 cells, which
            docs/optical_flow_method.md describes
        max_objects: 1 to 256; the largest are kept
        """
        if "_handle" in self.__dict__:
            raise TypeError("the object exists already; make another one")
        self._lib = library()
        width, height = width_and_height(size)
        self._shape = (height, width)
        config = CMovingObjectsConfig(
            width,
            height,
            min_motion,
            min_deviations,
            whole(ctypes.c_int32, "min_area", min_area),
            whole(ctypes.c_int32, "max_objects", max_objects),
        )
        self._handle = Handle(self._lib.ocellus_moving_objects_destroy)
        self._objects = self._handle.pointer
        error = CError()
        check(
            self._lib.ocellus_moving_objects_create(
                ctypes.byref(config), ctypes.byref(self._objects), ctypes.byref(error)
            ),
            error,
        )

    def __call__(
        self, u: NDArray[Any], v: NDArray[Any], deviation: Optional[NDArray[Any]] = None
    ) -> list[MovingObject]:
        """Returns the objects of one field, the largest first.

        u, v, deviation: planes of a result of `flow`, which are not copied. Without the deviation,
            min_deviations has no effect.
        """
        planes = (CPlane * 4)()
        planes[0] = self._plane("u", u)
        planes[1] = self._plane("v", v)
        if deviation is not None:
            planes[3] = self._plane("deviation", deviation)
        found, count, error = ctypes.POINTER(CMovingObject)(), ctypes.c_size_t(), CError()
        check(
            self._lib.ocellus_moving_objects_find(
                self._objects,
                planes,
                len(planes),
                ctypes.byref(found),
                ctypes.byref(count),
                ctypes.byref(error),
            ),
            error,
        )
        return [
            MovingObject((one.x, one.y, one.width, one.height), one.u, one.v, one.area)
            for one in found[: count.value]
        ]

    def _plane(self, name: str, array: NDArray[Any]) -> CPlane:
        if array.dtype != np.float32 or array.shape != self._shape or array.strides[1] != array.itemsize:
            raise invalid(
                f"{name} is an array of {array.dtype} of shape {array.shape} with the strides {array.strides}; "
                f"it must be one of float32 of shape {self._shape} whose rows have no gaps",
            )
        kind = _FORMATS[array.dtype]
        return CPlane(array.ctypes.data, array.shape[1], array.shape[0], array.strides[0], kind, 0, None)

    def __del__(self) -> None:
        if "_handle" in self.__dict__:
            self._handle.destroy()
