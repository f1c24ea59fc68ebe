"""Drawing of results, for notebooks and for programs that show them."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any, Optional

import numpy as np
from numpy.typing import NDArray

from ._library import CPlane, call

if TYPE_CHECKING:
    _ndarray = np.ndarray[Any, Any]
else:
    _ndarray = np.ndarray

_RGB = 6  # OCELLUS_RGB

#: Where the red, green and blue of a pixel are, by the names of `color`; of YUV, the luma.
_CHANNELS = {
    "rgb": (0, 1, 2),
    "rgbx": (0, 1, 2),
    "bgr": (2, 1, 0),
    "bgrx": (2, 1, 0),
    "yuy2": (0, 0, 0),
    "uyvy": (1, 1, 1),
}


def rgb_of(image: NDArray[Any], color: Optional[str]) -> NDArray[np.uint8]:
    """A new RGB image of 8 bits. White is 255 in floats, and 65535 in 16 bits."""
    if image.dtype == np.uint16:
        image = image >> 8
    pixels = np.clip(np.nan_to_num(image), 0, 255).astype(np.uint8)
    if pixels.ndim == 2:
        return np.repeat(pixels[:, :, None], 3, axis=2)
    return np.ascontiguousarray(pixels[:, :, _CHANNELS[color or "rgb"]])


def png(pixels: NDArray[np.uint8]) -> bytes:
    """A PNG file of an RGB image."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = pixels.shape[:2]
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # each begins with its filter: none
    rows[:, 1:] = pixels.reshape(height, -1)
    header = chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(rows.tobytes(), 3)) + chunk(b"IEND", b"")


def _plane(array: NDArray[Any], number_of_format: int) -> CPlane:
    return CPlane(array.ctypes.data, array.shape[1], array.shape[0], array.strides[0], number_of_format, 0, None)


def draw_flow(u: NDArray[Any], v: NDArray[Any], image: NDArray[np.uint8], over: bool) -> None:
    call("draw_flow", _plane(u, 2), _plane(v, 2), over, _plane(image, _RGB))


def draw_items(operator: Any, record: NDArray[Any], image: NDArray[np.uint8]) -> None:
    call("operator_draw", operator, record.ctypes.data, _plane(image, _RGB))


class Picture(_ndarray):
    """An image that a notebook shows. In all else it is a NumPy array, and what is computed from it is a plain one."""

    color: Optional[str]  #: order of the bytes of a pixel; None: gray

    def __array_finalize__(self, source: Any) -> None:
        self.color = getattr(source, "color", None)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return np.asarray(array)[()]  # a number, if it has no dimension

    def _repr_png_(self) -> Optional[bytes]:
        shown = self.ndim == 2 or (self.ndim == 3 and self.shape[2] > max(_CHANNELS[self.color or "rgb"]))
        return png(rgb_of(np.asarray(self), self.color)) if shown and self.size > 0 else None


def picture_of(image: NDArray[Any], color: Optional[str]) -> Picture:
    picture = image.view(Picture)
    picture.color = color
    return picture
