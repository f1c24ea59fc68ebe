"""The shared library: where it is, and its functions and structs as ocellus/ocellus_c.h declares them."""

from __future__ import annotations

import collections
import ctypes
import enum
import functools
import operator
import os
from ctypes import (
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int16,
    c_int32,
    c_int64,
    c_size_t,
    c_ssize_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

MAX_PLANES = 8
NEVER = 2**63 - 1


class Status(enum.IntEnum):
    """What kind of error a call met."""

    OK = 0
    INVALID_ARGUMENT = 1
    UNSUPPORTED = 2
    OUT_OF_MEMORY = 3
    QUEUE_FULL = 4
    INVALID_TICKET = 5
    DEADLINE_MISSED = 6
    BACKEND_UNAVAILABLE = 7
    DEVICE_LOST = 8
    CORRUPT_FILE = 9
    IO_ERROR = 10
    SYSTEM = 11
    STOPPED = 12


class Error(Exception):
    """A call failed. The text says what is wrong and what is valid."""

    def __init__(self, status: Status, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text

    def __reduce__(self) -> tuple[type[Error], tuple[Status, str]]:
        return type(self), (self.status, self.text)


class InvalidArgument(Error, ValueError):
    """An argument or an option is wrong."""


class DeadlineMissed(Error):
    """The frame is not done yet. It stays in flight: wait for its ticket again, or call reset."""


def invalid(text: str) -> InvalidArgument:
    return InvalidArgument(Status.INVALID_ARGUMENT, text)


def whole(kind: type[Any], name: str, value: Any) -> int:
    """A whole number for a member of this type of ctypes, which by itself would drop the upper bits."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be a whole number") from None
    if kind(number).value != number:
        unsigned = kind(-1).value > 0
        limit = "must not be negative and must" if unsigned else "must"
        raise invalid(f"{name} is {number}; it {limit} fit in {8 * ctypes.sizeof(kind)} bits")
    return number


def width_and_height(size: Any) -> tuple[int, int]:
    try:
        width, height = size
    except (TypeError, ValueError):
        raise invalid(f"size is {size!r}; it must be (width, height)") from None
    return whole(c_int32, "the width of size", width), whole(c_int32, "the height of size", height)


class NotCopied:
    """Base of the classes that own an object of the library or its memory. A copy would give them back
    twice."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> Any:
        name = type(self).__name__
        raise TypeError(f"{name} cannot be copied or pickled, because it owns memory of the library; make another one")


class Handle(NotCopied):
    """An object of the library, which is destroyed once.

    An exception of a signal handler can come between any two steps of Python. So the library writes the
    pointer to memory that this object has already, and nothing lies between taking the pointer and
    destroying it: one call of deque does both. Until then the handle stays in `_handles` with all that the
    library uses, even if nobody else refers to it.
    """

    __slots__ = ("pointer", "keeps", "_destroy", "_alive")

    def __init__(self, destroy: Any, keeps: Any = None) -> None:
        self.pointer = c_void_p()
        self.keeps = keeps
        self._destroy = destroy
        self._alive = {0: self.pointer}
        _handles.add(self)

    def __bool__(self) -> bool:
        return 0 in self._alive

    def destroy(self) -> None:
        """Does nothing the second time."""
        taken = iter(functools.partial(self._alive.pop, 0, None), None)
        collections.deque(map(self._destroy, taken), maxlen=0)
        # A signal handler may have called this between two steps of a call that uses the pointer.
        self.pointer.value = None
        _handles.discard(self)


_handles: set[Handle] = set()


class CError(Structure):
    _fields_ = [("status", c_int32), ("text", c_char * 240)]


class COption(Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class COperatorConfig(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("width", c_int32),
        ("height", c_int32),
        ("format", c_int32),
        ("black", c_float),
        ("white", c_float),
        ("options", POINTER(COption)),
        ("option_count", c_size_t),
    ]


class CEngineConfig(Structure):
    _fields_ = [
        ("backend", c_char_p),
        ("workers", c_int32),
        ("realtime_priority", c_int32),
        ("lock_memory", c_int32),
        ("affinity", POINTER(c_int16)),
        ("affinity_count", c_size_t),
        ("device_wait", c_int32),
        ("device_stream_sets", c_int32),
        ("device_copy_threads", c_int32),
        ("options", POINTER(COption)),
        ("option_count", c_size_t),
        ("workers_only", c_int32),
        ("memory", c_size_t * 3),
    ]


class CEngineInfo(Structure):
    _fields_ = [
        ("backend", c_char_p),
        ("device", c_int32),
        ("workers", c_int32),
        ("device_name", c_char * 64),
        ("simd_target", c_char_p),
        ("integrated", c_int32),
        ("zero_copy", c_int32),
        ("workers_only", c_int32),
    ]


class CPlaneInfo(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("width", c_int32),
        ("height", c_int32),
        ("format", c_int32),
        ("optional", c_int32),
        ("levels", c_int32),
        ("follows_frame", c_int32),
        ("keeps_color", c_int32),
    ]


class CFieldInfo(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("help", c_char_p),
        ("type", c_int32),
        ("capacity", c_int32),
        ("offset", c_size_t),
        ("role", c_int32),
    ]


class COperatorInfo(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("width", c_int32),
        ("height", c_int32),
        ("format", c_int32),
        ("plane_count", c_int32),
        ("planes", CPlaneInfo * MAX_PLANES),
        ("record_name", c_char_p),
        ("record_bytes", c_size_t),
        ("field_count", c_int32),
        ("classes", c_int32),
        ("text_parts", c_int32),
        ("depth", c_int32),
        ("support_frames", c_int32),
        ("delay_frames", c_float),
        ("keeps_state", c_int32),
        ("learns", c_int32),
        ("summary", c_char * 160),
    ]


class CPlane(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("width", c_int32),
        ("height", c_int32),
        ("stride", c_ssize_t),
        ("format", c_int32),
        ("memory", c_int32),
        ("stream", c_void_p),
    ]


class CFrame(CPlane):
    """The members of ocellus_frame begin with those of ocellus_plane."""

    _fields_ = [("sequence", c_uint64), ("timestamp_ns", c_int64)]


class CTicket(Structure):
    _fields_ = [("number", c_uint64), ("issuer", c_uint64)]


class CFrameInfo(Structure):
    _fields_ = [
        ("sequence", c_uint64),
        ("timestamp_ns", c_int64),
        ("described_sequence", c_uint64),
        ("described_timestamp_ns", c_int64),
        ("delay_frames", c_float),
        ("flags", c_uint32),
        ("queue_ns", c_int64),
        ("copy_ns", c_int64),
        ("compute_ns", c_int64),
    ]


class CStats(Structure):
    _fields_ = [
        ("frames", c_uint64),
        ("bad_frames", c_uint64),
        ("missed_deadlines", c_uint64),
        ("p50_ns", c_int64),
        ("p99_ns", c_int64),
        ("max_ns", c_int64),
        ("canceled_frames", c_uint64),
        ("overflow", c_uint64),
    ]


_ENGINE = c_void_p
_OPERATOR = c_void_p
_ERROR = POINTER(CError)

# Arguments of each function that returns a status, without the last one, the error.
_CALLS: dict[str, list[Any]] = {
    "ocellus_engine_create": [POINTER(CEngineConfig), POINTER(COperatorConfig), c_size_t, POINTER(_ENGINE)],
    "ocellus_engine_get_info": [_ENGINE, POINTER(CEngineInfo)],
    "ocellus_operator_create": [_ENGINE, POINTER(COperatorConfig), POINTER(_OPERATOR)],
    "ocellus_operator_get_info": [_OPERATOR, POINTER(COperatorInfo)],
    "ocellus_operator_write_text": [_OPERATOR, c_void_p, c_int32, c_char_p, c_size_t, POINTER(c_size_t)],
    "ocellus_operator_get_field": [_OPERATOR, c_size_t, POINTER(CFieldInfo)],
    "ocellus_draw_flow": [POINTER(CPlane), POINTER(CPlane), c_int32, POINTER(CPlane)],
    "ocellus_operator_draw": [_OPERATOR, c_void_p, POINTER(CPlane)],
    "ocellus_operator_submit": [_OPERATOR, POINTER(CFrame), POINTER(CPlane), c_size_t, c_void_p, POINTER(CTicket)],
    "ocellus_operator_wait": [_OPERATOR, CTicket, c_int64, POINTER(CFrameInfo)],
    "ocellus_operator_cancel": [_OPERATOR, CTicket, POINTER(c_int32)],
    "ocellus_operator_create_event_fd": [_OPERATOR, POINTER(c_int32)],
    "ocellus_operator_reset": [_OPERATOR],
    "ocellus_operator_save_model": [_OPERATOR, c_char_p],
    "ocellus_operator_take_learned": [_OPERATOR, _OPERATOR],
    "ocellus_operator_get_stats": [_OPERATOR, POINTER(CStats)],
}
_DRAWING = ("ocellus_draw_flow", "ocellus_operator_draw")
# Result and arguments of each function that the package calls.
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "ocellus_version": (c_char_p, []),
    "ocellus_operator_name": (c_char_p, [c_size_t]),
    "ocellus_operator_summary": (c_char_p, [c_size_t]),
    "ocellus_engine_destroy": (None, [_ENGINE]),
    "ocellus_operator_destroy": (None, [_OPERATOR]),
    "ocellus_operator_class_name": (c_char_p, [_OPERATOR, c_int32]),
    "ocellus_operator_stop": (None, [_OPERATOR]),
    **{name: (c_int32, [*arguments, _ERROR]) for name, arguments in _CALLS.items()},
}

# The library with the C interface alone, first of this version, then a shared library with both interfaces. A package of
# the system that has no development files has only the first name.
_NAMES = (f"libocellus_c.so.{'.'.join(__version__.split('.')[:2])}", "libocellus_c.so", "libocellus.so")

_KINDS: dict[int, type[Error]] = {
    Status.INVALID_ARGUMENT: InvalidArgument,
    Status.DEADLINE_MISSED: DeadlineMissed,
}


def check(status: int, error: CError) -> None:
    """Raises the library's error after a call that failed."""
    if status == Status.OK:
        return
    kind = _KINDS.get(status, Error)
    raise kind(Status(status), error.text.decode("utf-8", "replace"))


def call(name: str, *arguments: Any) -> None:
    """Calls the function ocellus_`name`, which returns a status. Raises the library's error."""
    error = CError()
    check(getattr(library(), f"ocellus_{name}")(*arguments, error), error)


def _open() -> ctypes.CDLL:
    named = os.environ.get("OCELLUS_LIBRARY")
    if named:
        tried = [named]
    else:
        here = Path(__file__).resolve().parent
        tried = [str(here / name) for name in _NAMES if (here / name).exists()]
        tried += _NAMES
    reasons = []
    for name in tried:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            reasons.append(str(error))
    where = "OCELLUS_LIBRARY" if named else "the folder of the package and the system's loader"
    raise Error(
        Status.SYSTEM,
        f"the shared library of Ocellus was not found; {where} gave: {'; '.join(reasons)}. "
        "Set OCELLUS_LIBRARY to the path of libocellus_c.so",
    )


@functools.cache
def library() -> ctypes.CDLL:
    """The loaded library. It is looked for at the first call."""
    found = _open()
    for name, (result, arguments) in _FUNCTIONS.items():
        try:
            function = getattr(found, name)
        except AttributeError:
            if name in _DRAWING:  # libocellus.so does not draw
                continue
            raise Error(
                Status.UNSUPPORTED, f"{found._name} has no function {name}; it is not Ocellus {__version__}"
            ) from None
        function.restype = result
        function.argtypes = arguments
    version = found.ocellus_version().decode()
    # Before version 1.0, a minor version may change the structs.
    if version.split(".")[:2] != __version__.split(".")[:2]:
        raise Error(
            Status.UNSUPPORTED,
            f"{found._name} has version {version}; this package needs version {__version__}",
        )
    return found


def library_version() -> str:
    """Version of the shared library."""
    version: str = library().ocellus_version().decode()
    return version


def library_path() -> str:
    """Name or path by which the shared library was loaded.

    The package takes, in this order, the file that the environment variable OCELLUS_LIBRARY names,
    libocellus_c.so in the folder of the package, and libocellus_c.so of the system's loader.
    """
    return library()._name
