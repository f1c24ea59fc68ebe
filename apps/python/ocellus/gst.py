"""The results of the GStreamer elements: the metas of a Gst.Buffer, and the values of a Gst.Message.

    def probe(pad, info):
        motion = ocellus.gst.flow(info.get_buffer())
        if motion is not None:
            print(motion.u.mean(), motion.v.mean())
        return Gst.PadProbeReturn.OK

    def on_message(bus, message):
        values = ocellus.gst.values(message)
        if values is not None and "objects" in values:
            print([(moving["x"], moving["y"]) for moving in values["objects"]])

It needs PyGObject and GStreamer, and not the shared library of Ocellus. The structs are those of
ocellus/gst/flow_meta.h and ocellus/gst/digits_meta.h.
"""

from __future__ import annotations

import ctypes
import warnings
from ctypes import POINTER, Structure, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any, NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from ._library import Error, Status

FLOW_VERSION = 2
DIGITS_VERSION = 1


class CFlowMeta(Structure):
    _fields_ = [
        ("meta_flags", c_int),
        ("meta_info", c_void_p),
        ("version", c_uint),
        ("flags", c_uint),
        ("source", c_uint),
        ("x", c_int),
        ("y", c_int),
        ("width", c_int),
        ("height", c_int),
        ("stride", c_size_t),
        ("u", c_void_p),
        ("v", c_void_p),
        ("confidence", c_void_p),
        ("deviation", c_void_p),
        ("pts", c_uint64),
        ("described_pts", c_uint64),
        ("delay_frames", c_float),
        ("compute_time", c_uint64),
    ]


class CDigit(Structure):
    _fields_ = [
        ("label", c_int),
        ("name", c_char_p),
        ("confidence", c_float),
        ("similarity", c_float),
        ("margin", c_float),
        ("x", c_int),
        ("y", c_int),
        ("width", c_int),
        ("height", c_int),
        ("line", c_int),
        ("field", c_int),
        ("flags", c_uint),
    ]


class CDigitsMeta(Structure):
    _fields_ = [
        ("meta_flags", c_int),
        ("meta_info", c_void_p),
        ("version", c_uint),
        ("flags", c_uint),
        ("source", c_uint),
        ("string", c_char_p),
        ("count", c_uint),
        ("truncated", c_int),
        ("digits", CDigit * 64),
        ("pts", c_uint64),
        ("compute_time", c_uint64),
    ]


class Flow(NamedTuple):
    """The flow field of a buffer. Times are in nanoseconds."""

    u: NDArray[np.float32]  #: motion to the right, pixels per frame; NaN or 0 where it is not known
    v: NDArray[np.float32]  #: motion down
    confidence: Optional[NDArray[np.float32]]
    deviation: Optional[NDArray[np.float32]]
    x: int  #: left edge of the planes in the picture
    y: int  #: upper edge
    flags: int  #: GstOcellusFlowFlags
    source: str  #: name of the element
    pts: int
    described_pts: int  #: PTS of the frame that the field describes
    delay_frames: float
    compute_time: int


class Digit(NamedTuple):
    """A character in the picture."""

    label: int  #: class of the model; -1: empty tile
    name: str
    confidence: float
    similarity: float
    margin: float
    box: tuple[int, int, int, int]  #: x, y, width, height
    line: int
    field: int
    flags: int  #: GstOcellusDigitFlags


class Digits(NamedTuple):
    """The characters that were read in the picture of a buffer."""

    string: str
    digits: tuple[Digit, ...]
    truncated: bool
    flags: int  #: GstOcellusDigitsFlags
    source: str
    pts: int
    compute_time: int


class _Plane:
    """A plane of a meta for NumPy. It keeps the buffer, and with it the plane."""

    __slots__ = ("__array_interface__", "buffer")

    def __init__(self, buffer: Any, meta: CFlowMeta, address: int) -> None:
        self.buffer = buffer
        self.__array_interface__ = {
            "version": 3,
            "shape": (meta.height, meta.width),
            "strides": (meta.stride, 4),
            "typestr": np.dtype(np.float32).str,
            "data": (address, True),  # copies of the buffer share the plane, so it is read-only
        }


_libraries: Optional[tuple[ctypes.CDLL, ctypes.CDLL]] = None


def _gstreamer() -> tuple[ctypes.CDLL, ctypes.CDLL]:
    """libgstreamer and libgobject, which PyGObject has loaded."""
    global _libraries
    if _libraries is None:
        gst = ctypes.CDLL("libgstreamer-1.0.so.0")
        gst.gst_buffer_iterate_meta_filtered.restype = c_void_p
        gst.gst_buffer_iterate_meta_filtered.argtypes = [c_void_p, POINTER(c_void_p), c_size_t]
        glib = ctypes.CDLL("libgobject-2.0.so.0")
        glib.g_type_from_name.restype = c_size_t
        glib.g_type_from_name.argtypes = [c_char_p]
        glib.g_quark_to_string.restype = c_char_p
        glib.g_quark_to_string.argtypes = [c_uint]
        _libraries = gst, glib
    return _libraries


def _find(buffer: Any, api: bytes, struct: type[Any], version: int, used: str) -> Any:
    """The first meta of this type that is not empty, or None."""
    gst, glib = _gstreamer()
    kind = glib.g_type_from_name(api)
    if kind == 0:
        return None
    state = c_void_p()
    # The hash of a boxed object of PyGObject is its address.
    address = hash(buffer)
    while True:
        found = gst.gst_buffer_iterate_meta_filtered(address, ctypes.byref(state), kind)
        if found is None:
            return None
        meta = struct.from_address(found)
        if meta.version != version:
            raise Error(
                Status.UNSUPPORTED,
                f"the plugin has version {meta.version} of {api.decode()}; this package reads version {version}",
            )
        if getattr(meta, used):
            return meta


def _source(quark: int) -> str:
    text = _gstreamer()[1].g_quark_to_string(quark)
    return "" if text is None else text.decode("utf-8", "replace")


def _check_buffer(buffer: Any) -> None:
    kind = type(buffer)
    if kind.__name__ != "Buffer" or not kind.__module__.startswith(("gi.repository.Gst", "gi.overrides.Gst")):
        raise TypeError(f"{buffer!r} is not a Gst.Buffer")


def flow(buffer: Any) -> Optional[Flow]:
    """The flow field that ocellusflow attached to a Gst.Buffer, or None if there is none.

    The arrays are read-only views. They keep the buffer.
    """
    _check_buffer(buffer)
    meta = _find(buffer, b"GstOcellusFlowMetaAPI", CFlowMeta, FLOW_VERSION, "u")
    if meta is None:
        return None

    def plane(address: int) -> NDArray[np.float32]:
        return np.asarray(_Plane(buffer, meta, address))

    return Flow(
        plane(meta.u),
        plane(meta.v),
        plane(meta.confidence) if meta.confidence else None,
        plane(meta.deviation) if meta.deviation else None,
        meta.x,
        meta.y,
        meta.flags,
        _source(meta.source),
        meta.pts,
        meta.described_pts,
        meta.delay_frames,
        meta.compute_time,
    )


def digits(buffer: Any) -> Optional[Digits]:
    """The characters that ocellusdigits read in the picture of a Gst.Buffer, or None if the picture
    was not read."""
    _check_buffer(buffer)
    meta = _find(buffer, b"GstOcellusDigitsMetaAPI", CDigitsMeta, DIGITS_VERSION, "source")
    if meta is None:
        return None
    found = tuple(
        Digit(
            one.label,
            (one.name or b"").decode("utf-8", "replace"),
            one.confidence,
            one.similarity,
            one.margin,
            (one.x, one.y, one.width, one.height),
            one.line,
            one.field,
            one.flags,
        )
        for one in meta.digits[: meta.count]
    )
    return Digits(
        (meta.string or b"").decode("utf-8", "replace"),
        found,
        bool(meta.truncated),
        meta.flags,
        _source(meta.source),
        meta.pts,
        meta.compute_time,
    )


def values(message: Any) -> Optional[dict[str, Any]]:
    """The values in the element message of `post-messages=true` by their names, or None for another
    message.

    Numbers, booleans and texts are those of Python, an array is a list, and a structure in it, such as
    one of `objects`, `characters` or `patches`, is a dict again. PyGObject's Gst.Structure.get_value
    cannot read the arrays.
    """
    structure = message.get_structure()
    if structure is None or not structure.get_name().startswith("ocellus"):
        return None
    return _values(structure)


def _values(structure: Any) -> dict[str, Any]:
    names = (structure.nth_field_name(number) for number in range(structure.n_fields()))
    return {name: _value(structure, name) for name in names}


def _value(structure: Any, name: str) -> Any:
    if structure.get_field_type(name).name != "GstValueArray":
        return structure.get_value(name)
    array = structure.get_array(name)[1]
    with warnings.catch_warnings():
        # GObject.ValueArray is deprecated, and GStreamer gives nothing else.
        warnings.simplefilter("ignore", DeprecationWarning)
        items = [array.get_nth(number) for number in range(array.n_values)]
    return [_values(item) if hasattr(item, "n_fields") else item for item in items]
