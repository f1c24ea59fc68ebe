"""The results of the GStreamer elements: the meta of a Gst.Buffer, and the values of a Gst.Message.

    def probe(pad, info):
        motion = ocellus.gst.result(info.get_buffer(), "flow")
        if motion is not None:
            print(motion.planes["u"].mean(), motion.planes["v"].mean())
        return Gst.PadProbeReturn.OK

    def on_message(bus, message):
        values = ocellus.gst.values(message)
        if values is not None and "objects" in values:
            print([(moving["x"], moving["y"]) for moving in values["objects"]])

It needs PyGObject and GStreamer, and not the shared library of Ocellus. The structs are those of
ocellus/gst/meta.h.
"""

from __future__ import annotations

import ctypes
import enum
import functools
import warnings
from ctypes import POINTER, Structure, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any, Iterator, NamedTuple, Optional, Union

import numpy as np
from numpy.typing import NDArray

from ._library import Error, Status
from ._operator import FieldRole, View

META_VERSION = 1


class CField(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("help", c_char_p),
        ("type", c_int),
        ("role", c_int),
        ("capacity", c_uint),
        ("offset", c_uint),
        ("n_flags", c_uint),
        ("flags", POINTER(c_char_p)),
    ]


class CResultInfo(Structure):
    _fields_ = [
        ("operator_name", c_char_p),
        ("items", c_char_p),
        ("item", c_char_p),
        ("width", c_int),
        ("height", c_int),
        ("record_bytes", c_uint),
        ("n_fields", c_uint),
        ("fields", POINTER(CField)),
        ("n_classes", c_uint),
        ("class_names", POINTER(c_char_p)),
        ("tile_width", c_int),
        ("tile_height", c_int),
        ("tile_columns", c_int),
    ]


class CPlane(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_int),
        ("is_picture", c_int),
        ("x", c_int),
        ("y", c_int),
        ("width", c_int),
        ("height", c_int),
        ("stride", c_size_t),
        ("data", c_void_p),
    ]


class CMeta(Structure):
    _fields_ = [
        ("meta_flags", c_int),
        ("meta_info", c_void_p),
        ("version", c_uint),
        ("flags", c_uint),
        ("source", c_uint),
        ("info", POINTER(CResultInfo)),
        ("width", c_int),
        ("height", c_int),
        ("pts", c_uint64),
        ("described_pts", c_uint64),
        ("delay_frames", c_float),
        ("compute_time", c_uint64),
        ("n_planes", c_uint),
        ("planes", CPlane * 8),
        ("n_items", c_uint),
        ("string", c_char_p),
        ("n_parts", c_uint),
        ("parts", POINTER(c_char_p)),
        ("data", c_void_p),
        ("text", c_void_p),
        ("text_bytes", c_size_t),
        ("record", c_uint64 * 3072),
    ]


# In the order of GstOcellusType.
_DTYPES = tuple(np.dtype(kind) for kind in (np.uint8, np.uint16, np.int32, np.uint32, np.float32, np.bool_))


class Flags(enum.IntFlag):
    """How a result came about, see GstOcellusMetaFlags in ocellus/gst/meta.h."""

    WARMING_UP = 1
    BAD_PIXELS = 2
    REPEATED = 4
    REUSED = 8
    LATE = 16


#: A value of a record: a number, or an array with a number for each item.
Value = Union[bool, int, float, NDArray[Any]]


class Result(NamedTuple):
    """What an element computed for the picture of a buffer. Times are in nanoseconds."""

    operator: str  #: name of the operator, such as "flow"
    source: str  #: name of the element
    flags: Flags
    planes: dict[str, NDArray[Any]]  #: by their names, without those that were left out
    regions: dict[str, tuple[int, int, int, int]]  #: x, y, width, height in the picture, of planes of pixels
    record: dict[str, Value]  #: by the names of the fields; empty if the operator has no record
    string: Optional[str]  #: the names of the items as one text; None if the operator has no classes
    parts: tuple[str, ...]  #: the parts of the string, such as the fields of a form
    #: The items of the record, such as digits: the values of each by the names of the fields, and in
    #: addition "name" of the class and "box" (x, y, width, height) in the buffer's picture. Bits are
    #: a tuple of the names of those that are set.
    items: tuple[dict[str, Any], ...]
    pts: int
    described_pts: int  #: PTS of the frame that the result describes
    delay_frames: float
    compute_time: int


def _array(buffer: Any, plane: CPlane) -> NDArray[Any]:
    """A plane of a meta. The array keeps the buffer, and with it the plane."""
    dtype = _DTYPES[plane.type]
    interface = {
        "version": 3,
        "shape": (plane.height, plane.width),
        "strides": (plane.stride, dtype.itemsize),
        "typestr": dtype.str,
        "data": (plane.data, True),  # copies of the buffer share the plane, so it is read-only
    }
    return np.asarray(View(interface, buffer))


@functools.cache
def _gstreamer() -> tuple[ctypes.CDLL, ctypes.CDLL]:
    """libgstreamer and libgobject, which PyGObject has loaded."""
    gst = ctypes.CDLL("libgstreamer-1.0.so.0")
    gst.gst_buffer_iterate_meta_filtered.restype = c_void_p
    gst.gst_buffer_iterate_meta_filtered.argtypes = [c_void_p, POINTER(c_void_p), c_size_t]
    glib = ctypes.CDLL("libgobject-2.0.so.0")
    glib.g_type_from_name.restype = c_size_t
    glib.g_type_from_name.argtypes = [c_char_p]
    glib.g_quark_to_string.restype = c_char_p
    glib.g_quark_to_string.argtypes = [c_uint]
    return gst, glib


def _metas(buffer: Any) -> Iterator[CMeta]:
    """The metas that are not empty, that of the last element first."""
    gst, glib = _gstreamer()
    kind = glib.g_type_from_name(b"GstOcellusMetaAPI")
    if kind == 0:
        return
    state = c_void_p()
    # The hash of a boxed object of PyGObject is its address.
    address = hash(buffer)
    while (found := gst.gst_buffer_iterate_meta_filtered(address, ctypes.byref(state), kind)) is not None:
        meta = CMeta.from_address(found)
        if meta.version != META_VERSION:
            raise Error(
                Status.UNSUPPORTED,
                f"the plugin has version {meta.version} of GstOcellusMeta; this package reads version {META_VERSION}",
            )
        if meta.source != 0:
            yield meta


def _item(meta: CMeta, values: list[tuple[CField, NDArray[Any]]], item: int) -> dict[str, Any]:
    info = meta.info.contents
    found: dict[str, Any] = {"name": ""}
    box: list[int] = []
    if info.tile_columns > 0:
        row, column = divmod(item, info.tile_columns)
        box = [column * info.tile_width, row * info.tile_height, info.tile_width, info.tile_height]
    for field, array in values:
        if field.capacity == 1:
            continue
        name, value = field.name.decode(), array[item].item()
        found[name] = value
        if field.role == FieldRole.LABEL:
            found["name"] = info.class_names[value].decode() if 0 <= value < info.n_classes else ""
        elif field.role == FieldRole.FLAG:
            found[name] = tuple(field.flags[bit].decode() for bit in range(field.n_flags) if value >> bit & 1)
        elif field.role == FieldRole.BOX:
            del found[name]
            box.append(value)
    if box:
        scale = (meta.width, meta.height) * 2
        found["box"] = tuple(
            int(side * to / of) for side, to, of in zip(box, scale, (info.width, info.height) * 2)
        )
    return found


def result(buffer: Any, operator: Optional[str] = None) -> Optional[Result]:
    """The result that an element attached to a Gst.Buffer, or None if there is none.

    After several elements in series it is that of the last one. The planes are read-only views, which keep
    the buffer.

    operator: name of an operator, such as "digits"; None: any
    """
    kind = type(buffer)
    if kind.__name__ != "Buffer" or not kind.__module__.startswith(("gi.repository.Gst", "gi.overrides.Gst")):
        raise TypeError(f"{buffer!r} is not a Gst.Buffer")
    for meta in _metas(buffer):
        info = meta.info.contents
        if operator is None or operator == info.operator_name.decode():
            break
    else:
        return None
    planes = [plane for plane in meta.planes[: meta.n_planes] if plane.data]
    record = bytes(meta.record)[: info.record_bytes]
    values = [
        (field, np.frombuffer(record, _DTYPES[field.type], field.capacity, field.offset).copy())
        for field in info.fields[: info.n_fields]
    ]
    source = _gstreamer()[1].g_quark_to_string(meta.source)
    return Result(
        info.operator_name.decode(),
        source.decode("utf-8", "replace"),
        Flags(meta.flags),
        {plane.name.decode(): _array(buffer, plane) for plane in planes},
        {plane.name.decode(): (plane.x, plane.y, plane.width, plane.height) for plane in planes if plane.is_picture},
        {field.name.decode(): array[0].item() if field.capacity == 1 else array for field, array in values},
        None if meta.string is None else meta.string.decode(),
        tuple(part.decode() for part in meta.parts[: meta.n_parts]) if meta.n_parts else (),
        tuple(_item(meta, values, item) for item in range(meta.n_items)),
        meta.pts,
        meta.described_pts,
        meta.delay_frames,
        meta.compute_time,
    )


def values(message: Any) -> Optional[dict[str, Any]]:
    """The values in the element message of `post-messages=true` by their names, or None for another
    message.

    Numbers, booleans and texts are those of Python, an array is a list, and a structure in it, such as
    one of `objects`, `digits` or `patches`, is a dict again. PyGObject's Gst.Structure.get_value
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
