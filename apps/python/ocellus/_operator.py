"""Operators: creation, frames in flight and results as NumPy arrays."""

from __future__ import annotations

import base64
import contextlib
import ctypes
import enum
import html
import math
import operator
import os
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from types import TracebackType
from typing import Any, NamedTuple, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ._arrays import Array, CudaArray, array_of, place_of
from ._draw import draw_flow, draw_items, png, rgb_of
from ._library import (
    NEVER,
    CEngineConfig,
    CEngineInfo,
    CError,
    CFieldInfo,
    CFrame,
    CFrameInfo,
    COperatorConfig,
    COperatorInfo,
    COption,
    CPlane,
    CStats,
    CTicket,
    Error,
    Handle,
    NotCopied,
    Status,
    call,
    check,
    invalid,
    library,
    whole,
    width_and_height,
)

# The values of ocellus_format: first those of gray pixels, then those of pixels with color.
_DTYPES = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.float32))
_FORMATS = {dtype: number for number, dtype in enumerate(_DTYPES)}
_COLOR_CHANNELS = {"yuy2": 2, "uyvy": 2, "bgr": 3, "rgb": 3, "bgrx": 4, "rgbx": 4}
_FORMAT_NAMES = ("gray8", "gray16", "float32", *_COLOR_CHANNELS)
# The values of ocellus_field_type.
_FIELD_DTYPES = (np.dtype(np.int32), np.dtype(np.uint32), np.dtype(np.float32), np.dtype(np.bool_))

_PENDING = 2**32 - 1  #: flags of a frame that the library has not reported as done

OptionValue = Union[str, bool, int, float, "os.PathLike[str]"]


class PlaneInfo(NamedTuple):
    """A plane of a result."""

    name: str
    size: tuple[int, int]  #: width, height
    dtype: np.dtype[Any]
    optional: bool
    levels: int  #: number of different values; 0: any
    channels: int  #: bytes of a pixel, of a picture with the color of the frames; 0: one value


class FieldRole(enum.IntEnum):
    """What a field of a record means, see ocellus/record.h."""

    VALUE = 0
    COUNT = 1
    LABEL = 2
    CONFIDENCE = 3
    BOX = 4
    TEXT = 5
    FLAG = 6


class FieldInfo(NamedTuple):
    """A field of the record of a result."""

    name: str
    dtype: np.dtype[Any]
    capacity: int  #: number of values
    help: str
    role: FieldRole


class OperatorInfo(NamedTuple):
    """What an operator takes and produces."""

    name: str
    size: tuple[int, int]  #: width, height of the frames
    dtype: np.dtype[Any]  #: of the frames
    planes: tuple[PlaneInfo, ...]
    fields: tuple[FieldInfo, ...]  #: of the record; empty if the operator has none
    class_names: tuple[str, ...]  #: of the labels in the record
    text_parts: int  #: parts of the text, such as the fields of a form; 0: it is not divided
    depth: int  #: frames in flight
    support_frames: int  #: number of frames that a result is computed from
    delay_frames: float  #: age of the moment that a result describes
    keeps_state: bool
    learns: bool
    summary: str
    backend: str  #: "cpu" or "cuda"
    workers: int
    device_name: str
    pixel_format: str  #: "gray8", "gray16", "float32", or the color of the frames
    zero_copy: bool  #: the CUDA device uses pinned memory where it lies


class FrameInfo(NamedTuple):
    """Description of a finished frame. Times are in nanoseconds."""

    sequence: int
    timestamp_ns: int
    described_sequence: int  #: the frame that the result describes
    described_timestamp_ns: int
    delay_frames: float
    flags: int
    queue_ns: int
    copy_ns: int
    compute_ns: int

    @property
    def warming_up(self) -> bool:
        """Fewer frames have come than the operator's support."""
        return bool(self.flags & 1)

    @property
    def bad_pixels(self) -> bool:
        """The frame contains NaN or infinity; the planes are marked invalid, the record is zero."""
        return bool(self.flags & 2)


#: The members of FrameInfo in a CFrameInfo, whose members have the same names.
_frame_values = operator.attrgetter(*FrameInfo._fields)


class CancelOutcome(enum.Enum):
    """What cancel found."""

    CANCELED = 0  #: the frame had not begun; it is dropped with its ticket
    BEGUN = 1  #: it is being computed; wait for it as usual
    DONE = 2  #: it is done; wait returns its result


class Stats(NamedTuple):
    """Statistics since creation. Times are from submit to the return of wait, in nanoseconds."""

    frames: int
    bad_frames: int
    #: frames of which wait raised DeadlineMissed with a timeout above 0; each one counts once
    missed_deadlines: int
    p50_ns: int  #: 17179869184: longer than 17179869183; the same for p99_ns
    p99_ns: int
    max_ns: int
    canceled_frames: int  #: frames that cancel dropped; no other number counts them
    overflow: int  #: of frames, those that took longer than 17179869183 ns


class _Memory:
    """Memory for one result, and the structs that describe it."""

    def __init__(
        self,
        planes: Sequence[tuple[bool, PlaneInfo]],
        record_bytes: int,
        frame_format: int,
        backend: str,
        given: Mapping[str, Any],
    ) -> None:
        self.planes = (CPlane * len(planes))()
        self.arrays: list[Array] = []
        for number, (wanted, plane) in enumerate(planes):
            if not wanted:
                continue
            colors = (plane.channels,) if plane.channels > 0 else ()
            shape = (plane.size[1], plane.size[0], *colors)
            array: Array
            if plane.name in given:
                array = _output_of(f"out[{plane.name!r}]", given[plane.name], shape, plane.dtype)
            else:
                array = np.empty(shape, plane.dtype)
            self.arrays.append(array)
            address, memory, stream = place_of(f"out[{plane.name!r}]", array, backend)
            number_of_format = frame_format if colors else _FORMATS[plane.dtype]
            self.planes[number] = CPlane(address, *plane.size, array.strides[0], number_of_format, memory, stream)
        self.record = np.zeros(record_bytes, np.uint8)
        self.record_address = self.record.ctypes.data if record_bytes > 0 else None
        #: Of each array how NumPy makes another one of its memory, or what the caller gave.
        self.interfaces = [
            given[name] if name in given else array.__array_interface__  # type: ignore[union-attr]
            for name, array in zip([plane.name for wanted, plane in planes if wanted], self.arrays)
        ]
        self.record_interface = self.record.__array_interface__


def _output_of(name: str, given: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array of the caller's that a plane is written to."""
    array = array_of(name, given)
    dense = [dtype.itemsize * math.prod(shape[axis + 1 :]) for axis in range(1, len(shape))]
    read_only = array.read_only if isinstance(array, CudaArray) else not array.flags.writeable
    if array.shape != shape or array.dtype != dtype or list(array.strides[1:]) != dense or read_only:
        raise invalid(
            f"{name} is {array.dtype}{list(array.shape)}{' and read-only' if read_only else ''}; it must be an array of "
            f"{dtype}{list(shape)} that can be written, with elements side by side in a row"
        )
    return array


class _Lease(NotCopied):
    """Memory in use by a result. When the last array of the result is gone, the memory returns to the
    operator, which so neither allocates nor touches new pages for each frame."""

    __slots__ = ("memory", "pool")

    def __init__(self, memory: _Memory, pool: list[_Memory]) -> None:
        self.memory = memory
        self.pool = pool

    def __del__(self) -> None:
        if hasattr(self, "pool"):  # __init__ may have been interrupted
            self.pool.append(self.memory)


class View:
    """What NumPy needs to make an array of memory of the library. The array keeps this object, and so the
    owner of the memory."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, interface: dict[str, Any], owner: Any) -> None:
        self.__array_interface__ = interface
        self.owner = owner


class Result(tuple[NDArray[Any], ...]):
    """The planes of a frame in the order of the operator's info, also by name: `result.u`.

    They are NumPy arrays, or what `out` gave. The arrays lie in memory that the operator wrote. They stay
    unchanged as long as they exist. A result can be pickled; the copy has memory of its own. A notebook
    shows a result as `draw` draws it.
    """

    frame: FrameInfo  #: which frame it is, and its times
    #: what was read, of a result of `apply` and `digits` with classes; else see Operator.text
    text: Optional[str] = None
    _names: tuple[str, ...]
    _fields: tuple[tuple[FieldInfo, int], ...]
    _record: Optional[NDArray[np.uint8]]
    _info: OperatorInfo
    _operator: Optional[Handle] = None  # a copy has none
    _drawing: Optional[NDArray[np.uint8]] = None

    def __getattr__(self, name: str) -> NDArray[Any]:
        names: tuple[str, ...] = self.__dict__.get("_names", ())
        if name in names:
            return self[names.index(name)]
        raise AttributeError(f"the result has no plane {name!r}; there are {', '.join(names)}")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_operator"}

    def __repr__(self) -> str:
        """The planes, and the numbers of the record: Result(u=float32[480, 640] -1.5 to 2, count=3)."""
        parts = []
        for name, plane in zip(self.__dict__.get("_names", ()), self):
            if not isinstance(plane, np.ndarray):
                parts.append(f"{name}={type(plane).__name__}{list(plane.shape)}")
            elif plane.size > 0 and not np.isnan(plane).all():
                parts.append(f"{name}={plane.dtype}{list(plane.shape)} {np.nanmin(plane):.4g} to {np.nanmax(plane):.4g}")
            else:
                parts.append(f"{name}={plane.dtype}{list(plane.shape)} without a value")
        if self.__dict__.get("_record") is not None:
            parts += [f"{name}={value}" for name, value in (self.record or {}).items() if np.ndim(value) == 0]
        if self.text is not None:
            parts.append(f"text={self.text!r}")
        return f"Result({', '.join(parts)})"

    @property
    def _has_items(self) -> bool:
        return any(field.role == FieldRole.COUNT for field, _ in self._fields)

    def draw(self, frame: Optional[ArrayLike] = None) -> NDArray[np.uint8]:
        """The result as an RGB image of shape (height, width, 3), drawn by the library.

        Flow is drawn in colors, or as arrows over `frame`. Other results are their picture, or `frame` or white,
        with the boxes and names of their items. Items need the operator, which must not be closed.

        frame: the image that the result was computed from
        """
        if self._drawing is not None and frame is None:
            return self._drawing
        size = self._info.size[::-1]
        under = None if frame is None else rgb_of(np.asarray(frame), self._info.pixel_format)
        if "u" in self._names and "v" in self._names:
            u, v = np.asarray(self.u), np.asarray(self.v)
            over = under is not None and under.shape[:2] == u.shape
            image = under if under is not None and over else np.empty((*u.shape, 3), np.uint8)
            draw_flow(u, v, image, over)
        elif "image" in self._names:
            image = rgb_of(np.asarray(self.image), self._info.pixel_format)
        elif under is not None:
            image = under
        elif self._has_items:
            image = np.full((*size, 3), 255, np.uint8)
        else:
            raise invalid(f"a result of {self._info.name} has no picture and no items that can be drawn")
        if self._has_items and self._record is not None and image.shape[:2] == size:
            if not self._operator:
                raise invalid("the operator is closed, or the result is a copy; draw it before")
            draw_items(self._operator.pointer, self._record, image)
        return image

    def _repr_png_(self) -> Optional[bytes]:
        try:
            return png(self.draw())
        except (Error, AttributeError, TypeError):  # of memory on a device, too
            return None

    def _repr_html_(self) -> str:
        image = self._repr_png_()
        source = "" if image is None else f'<img src="data:image/png;base64,{base64.b64encode(image).decode()}"><br>'
        return f"{source}<code>{html.escape(repr(self))}</code>"

    @property
    def record(self) -> Union[dict[str, Any], Any]:  # Any: no check for None where the operator has a record
        """The values of the record's fields by name: a number, or a copy of an array of numbers. None
        if the operator has no record."""
        if self._record is None:
            return None
        values: dict[str, Any] = {}
        for field, offset in self._fields:
            array = np.frombuffer(self._record, field.dtype, field.capacity, offset)
            values[field.name] = array[0].item() if field.capacity == 1 else array.copy()
        return values


class Ticket(NotCopied):
    """A frame in flight. It keeps the frame and the memory of the result."""

    __slots__ = ("_ticket", "_info", "_frame", "_lease")

    def __init__(self, frame: Array, lease: _Lease) -> None:
        # The library fills in these two. So they tell how far a call came that an exception interrupted.
        self._ticket = CTicket()
        self._info = CFrameInfo(flags=_PENDING)
        self._frame = frame
        self._lease = lease

    @property
    def number(self) -> int:
        """Counts the operator's submissions from 1."""
        number: int = self._ticket.number
        return number


def _deadline(timeout: Optional[float]) -> int:
    """The library's deadline that is so many seconds from now."""
    if timeout is None:
        return NEVER
    try:
        seconds = float(timeout)
    except OverflowError:  # of a whole number
        seconds = math.inf if timeout > 0 else 0.0
    if math.isnan(seconds):
        raise invalid("timeout is nan; it must be a number of seconds, or None")
    if seconds <= 0.0:
        return 0
    wait = seconds * 1e9
    now = time.monotonic_ns()
    return NEVER if wait >= float(NEVER - now) else now + int(wait)


def _encoded(name: str, text: str) -> bytes:
    if "\0" in text:
        raise invalid(f"{name}: the text holds a NUL; none is allowed")
    return os.fsencode(text)


def _text_of(name: str, value: OptionValue) -> str:
    """The text of a value as the library reads it."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return repr(float(value))
    raise TypeError(f"{name} is {value!r}; an option is a str, a bool, an int or a float")


def _pairs_of(options: Mapping[str, OptionValue]) -> "ctypes.Array[COption]":
    pairs = (COption * len(options))()
    for pair, (option, value) in zip(pairs, options.items()):
        pair.name = _encoded("the name of an option", option)
        pair.value = _encoded(option, _text_of(option, value))
    return pairs


def _config_of(
    name: str,
    size: tuple[int, int],
    dtype: DTypeLike,
    color: Optional[str],
    gray_range: Optional[tuple[float, float]],
    options: Mapping[str, OptionValue],
) -> COperatorConfig:
    kind = np.dtype(dtype)
    if kind not in _FORMATS:
        raise invalid(f"dtype is {kind}; it must be uint8, uint16 or float32")
    pixel_format = _FORMATS[kind]
    if color is not None:
        if color not in _COLOR_CHANNELS:
            names = ", ".join(_COLOR_CHANNELS)
            raise invalid(f"color is {color!r}; it must be None or one of {names}")
        if kind != np.uint8:
            raise invalid(f"dtype is {kind}; with a color it must be uint8")
        pixel_format = _FORMAT_NAMES.index(color)
    width, height = width_and_height(size)
    black, white = (0.0, 0.0) if gray_range is None else gray_range
    return COperatorConfig(
        _encoded("the operator's name", name),
        width,
        height,
        pixel_format,
        black,
        white,
        _pairs_of(options),
        len(options),
    )


def operators() -> dict[str, str]:
    """The operators of the library: their names, and one sentence about each."""
    lib = library()
    found: dict[str, str] = {}
    while (name := lib.ocellus_operator_name(len(found))) is not None:
        found[name.decode()] = lib.ocellus_operator_summary(len(found)).decode()
    return found


class Operator(NotCopied):
    """An operator for frames of one size, on an engine of its own.

    The calls for one operator must not run at the same time, except wait with submit. The package
    releases Python's lock while the library works.
    """

    def __init__(
        self,
        name: str,
        size: tuple[int, int],
        *,
        dtype: DTypeLike = np.uint8,
        color: Optional[str] = None,
        planes: Optional[Sequence[str]] = None,
        gray_range: Optional[tuple[float, float]] = None,
        backend: str = "auto",
        workers: int = 0,
        realtime_priority: int = 0,
        engine_options: Optional[Mapping[str, OptionValue]] = None,
        **options: OptionValue,
    ) -> None:
        """Creates the operator.

        name: one of `operators()`
        size: width and height of the frames in pixels
        dtype: type of the pixels: uint8, uint16 or float32
        color: order of the bytes of frames with color: "bgr" (OpenCV), "rgb", "bgrx", "rgbx", "yuy2"
            or "uyvy"; the operator computes from their luma, and a picture that keeps their color has
            their shape. None: frames are gray
        planes: names of the planes to compute, those of `info.planes` that are not optional among
            them; None: all
        gray_range: gray values of black and white, in units of 8-bit gray; None: 0 and 255
        backend: "auto", "cpu", "cuda" or "cuda:N"
        workers: threads that compute; 0: as many as CPUs that the affinity mask and the limit of the
            container allow
        realtime_priority: 1 to 99: SCHED_FIFO for these threads; 0: none
        engine_options: options of the engine by name: {"zero_copy": "on"}
        options: the operator's options, with underscores: window=9, preset="fast"
        """
        if "_handle" in self.__dict__:
            raise TypeError("the operator exists already; make another one")
        self._lib = lib = library()
        # Frames in flight by the ids of their tickets. The engine reads and writes their memory.
        self._in_flight: dict[int, Ticket] = {}
        self._engine_handle = Handle(lib.ocellus_engine_destroy)
        self._handle = Handle(lib.ocellus_operator_destroy, self._in_flight)
        self._engine, self._operator = self._engine_handle.pointer, self._handle.pointer
        self._pool: list[_Memory] = []
        self._count = 0
        config = _config_of(name, size, dtype, color, gray_range, options)
        engine = CEngineConfig()
        engine.backend = _encoded("backend", backend)
        engine.workers = whole(ctypes.c_int32, "workers", workers)
        engine.realtime_priority = whole(ctypes.c_int32, "realtime_priority", realtime_priority)
        engine.options = _pairs_of(engine_options or {})
        engine.option_count = len(engine_options or {})
        call("engine_create", engine, config, 1, self._engine)
        call("operator_create", self._engine, config, self._operator)
        self._read_info(planes)

    def _read_info(self, planes: Optional[Sequence[str]]) -> None:
        raw, engine = COperatorInfo(), CEngineInfo()
        call("operator_get_info", self._operator, raw)
        call("engine_get_info", self._engine, engine)
        self._format = raw.format
        self._channels = _COLOR_CHANNELS.get(_FORMAT_NAMES[raw.format])
        all_planes = tuple(
            PlaneInfo(
                plane.name.decode(),
                (plane.width, plane.height),
                _DTYPES[plane.format],
                bool(plane.optional),
                plane.levels,
                self._channels or 0 if plane.follows_frame and plane.keeps_color else 0,
            )
            for plane in raw.planes[: raw.plane_count]
        )
        fields = []
        for number in range(raw.field_count):
            field = CFieldInfo()
            call("operator_get_field", self._operator, number, field)
            info = FieldInfo(
                field.name.decode(),
                _FIELD_DTYPES[field.type],
                field.capacity,
                field.help.decode(),
                FieldRole(field.role),
            )
            fields.append((info, field.offset))
        self.info = OperatorInfo(
            raw.name.decode(),
            (raw.width, raw.height),
            _DTYPES[raw.format] if raw.format < len(_DTYPES) else _DTYPES[0],
            all_planes,
            tuple(info for info, _ in fields),
            tuple(self._lib.ocellus_operator_class_name(self._operator, n).decode() for n in range(raw.classes)),
            raw.text_parts,
            raw.depth,
            raw.support_frames,
            raw.delay_frames,
            bool(raw.keeps_state),
            bool(raw.learns),
            raw.summary.decode(),
            engine.backend.decode(),
            engine.workers,
            engine.device_name.decode("utf-8", "replace"),
            _FORMAT_NAMES[raw.format],
            bool(engine.zero_copy),
        )
        names = [plane.name for plane in all_planes]
        for name in planes or ():
            if name not in names:
                raise invalid(f"there is no plane {name!r}; there are {', '.join(names)}")
        self._planes = [(planes is None or plane.name in planes, plane) for plane in all_planes]
        self._names = tuple(plane.name for wanted, plane in self._planes if wanted)
        self._fields = tuple(fields)
        self._record_bytes = raw.record_bytes
        self._shape: tuple[int, ...] = (raw.height, raw.width)
        if self._channels is not None:
            self._shape += (self._channels,)

    def __call__(
        self,
        frame: Any,
        *,
        sequence: Optional[int] = None,
        timestamp_ns: int = 0,
        out: Optional[Mapping[str, Any]] = None,
    ) -> Result:
        """Processes a frame: submit, then wait without a deadline."""
        return self.wait(self.submit(frame, sequence=sequence, timestamp_ns=timestamp_ns, out=out))

    def map(self, frames: Iterable[ArrayLike]) -> Iterator[Result]:
        """Processes frames and yields the result of each in their order, with `info.depth` frames in flight.

        With a depth of 1, a result comes before the next frame is asked for; with 2, after the next one.

        frames: an array of shape (frames, height, width) or with a fourth number for color, a list, or a
            generator. With a depth above 1, a generator must not write the next frame over the last one.
        """
        tickets: deque[Ticket] = deque()
        try:
            for frame in frames:
                tickets.append(self.submit(frame))
                if len(tickets) == self.info.depth:
                    result = self.wait(tickets[0])
                    tickets.popleft()
                    yield result
            while tickets:
                result = self.wait(tickets[0])
                tickets.popleft()
                yield result
        finally:  # after an exception, and where the caller asks for no more
            for ticket in tickets:
                if id(ticket) in self._in_flight:
                    with contextlib.suppress(Error):
                        self.wait(ticket)

    def submit(
        self,
        frame: Any,
        *,
        sequence: Optional[int] = None,
        timestamp_ns: int = 0,
        out: Optional[Mapping[str, Any]] = None,
    ) -> Ticket:
        """Queues a frame and returns a ticket for `wait`. At most `info.depth` frames are in flight.

        frame: gray image of shape (height, width). With `color`, the shape has a third number, the
            bytes of a pixel. It is not copied: do not change it until wait has returned its result.
            Also an array of another library: by DLPack in memory of the host, or in device memory by
            `__cuda_array_interface__`, whose stream the device waits for.
        sequence: number of the frame, returned in FrameInfo; None: counts from 0
        timestamp_ns: time of the frame, returned in FrameInfo
        out: arrays that planes are written to, by their names, in memory of the host or all in device
            memory. The result has them in place of arrays of its own. None: the result has its own.
        """
        self._check_open()
        pixels = array_of("frame", frame)
        channels = self._channels
        if pixels.ndim != len(self._shape) or (channels is not None and pixels.shape[2] != channels):
            what = "a gray image" if channels is None else f"an image in {self.info.pixel_format}"
            stack = "; map takes frames in a stack" if pixels.shape[1:] == self._shape else ""
            raise invalid(f"frame has the shape {pixels.shape}; it must be {what} of shape {self._shape}{stack}")
        kind = _FORMATS.get(pixels.dtype)
        if channels is not None:
            kind = self._format if kind == 0 else None
        if kind is None:
            raise invalid(f"frame has the type {pixels.dtype}; it must be {self.info.dtype}")
        apart = pixels.itemsize if channels is None else channels
        if pixels.strides[1] != apart or (channels is not None and pixels.strides[2] != 1):
            raise invalid("the pixels of a row of frame do not lie side by side; pass numpy.ascontiguousarray(frame)")
        number = self._count if sequence is None else whole(ctypes.c_uint64, "sequence", sequence)
        address, memory_kind, stream = place_of("frame", pixels, self.info.backend)
        raw = CFrame(
            address,
            whole(ctypes.c_int32, "the width of frame", pixels.shape[1]),
            whole(ctypes.c_int32, "the height of frame", pixels.shape[0]),
            pixels.strides[0],
            kind,
            memory_kind,
            stream,
            number,
            whole(ctypes.c_int64, "timestamp_ns", timestamp_ns),
        )
        pool = self._pool if not out else []
        for name in out or ():
            if name not in self._names:
                raise invalid(f"out has the plane {name!r}; there are {', '.join(self._names)}")
        memory = pool.pop() if pool else self._new_memory(out or {})
        ticket, error = Ticket(pixels, _Lease(memory, pool)), CError()
        key = id(ticket)
        try:
            # Before the library has it, because a signal handler's exception may follow that at once.
            self._in_flight[key] = ticket
            status = self._lib.ocellus_operator_submit(
                self._operator, raw, memory.planes, len(memory.planes), memory.record_address, ticket._ticket, error
            )
            if status != 0:
                check(status, error)
            self._count = (number + 1) % 2**64
            return ticket
        except BaseException:
            # No call comes before the entry is gone, because the next signal could follow it.
            if ticket._ticket.number == 0:  # the library has not taken the frame
                self._in_flight.pop(key, None)
            raise

    def _new_memory(self, given: Mapping[str, Any]) -> _Memory:
        return _Memory(self._planes, self._record_bytes, self._format, self.info.backend, given)

    def wait(self, ticket: Ticket, timeout: Optional[float] = None) -> Result:
        """Waits until the frame is done and returns its result.

        timeout: seconds; 0 and less look and do not block; None and infinity wait until the frame is done.
            When it is over, wait raises DeadlineMissed, and the frame stays in flight.
        """
        self._check_open()
        deadline = _deadline(timeout)
        raw, error = ticket._info, CError()
        key = id(ticket)
        in_flight = key in self._in_flight
        try:
            # An earlier call, which a signal handler's exception interrupted, may have found it done.
            if raw.flags == _PENDING or not in_flight:
                status = self._lib.ocellus_operator_wait(self._operator, ticket._ticket, deadline, raw, error)
                if status != 0:
                    if status in (Status.INVALID_TICKET, Status.STOPPED):
                        self._in_flight.pop(key, None)
                    check(status, error)
            result = self._result_of(ticket)
            self._in_flight.pop(key, None)
            return result
        except BaseException:
            # A signal handler's: the frame is done, and the caller does not have its result.
            if in_flight and raw.flags != _PENDING:
                self._in_flight[key] = ticket
            raise

    def _result_of(self, ticket: Ticket) -> Result:
        lease = ticket._lease
        memory = lease.memory
        result = Result(
            [np.asarray(View(one, lease)) if isinstance(one, dict) else one for one in memory.interfaces]
        )
        result.frame = FrameInfo._make(_frame_values(ticket._info))
        result._names = self._names
        result._fields = self._fields
        result._info = self.info
        result._operator = self._handle
        result._record = np.asarray(View(memory.record_interface, lease)) if self._fields else None
        return result

    def text(self, result: Result, part: Optional[int] = None) -> str:
        """The names of the classes of a result's items as one text, such as the digits that were read, with
        a line end between lines. Empty if the operator has no classes.

        part: a part of the text, such as a field of a form: 0 to info.text_parts - 1; None: all
        """
        self._check_open()
        record = result._record
        if record is None:
            return ""
        if result._fields != self._fields or record.nbytes != self._record_bytes:
            raise invalid(f"the result is not one of the operator {self.info.name}")
        length, address = ctypes.c_size_t(), record.ctypes.data
        number = -1 if part is None else whole(ctypes.c_int32, "part", part)
        if part is not None and number < 0:
            raise invalid(f"part is {part}; it must not be negative")

        def write(text: Any, capacity: int) -> None:
            call("operator_write_text", self._operator, address, number, text, capacity, length)

        write(None, 0)
        text = ctypes.create_string_buffer(length.value + 1)
        write(text, len(text))
        return text.value.decode()

    @property
    def in_flight(self) -> tuple[Ticket, ...]:
        """The frames that were submitted and not waited for, the oldest first.

        An exception of a signal handler, such as KeyboardInterrupt, may leave submit or wait after the
        library took the frame. The frame is in this list then, and wait returns its result.
        """
        tickets = [ticket for ticket in tuple(self._in_flight.values()) if ticket.number != 0]
        return tuple(sorted(tickets, key=lambda ticket: ticket.number))

    def cancel(self, ticket: Ticket) -> CancelOutcome:
        """Gives a frame back that has not begun, so that a newer one can take its place. It leaves no
        trace. Does not wait. If the frame has begun or is done, it stays in flight, and the outcome
        says so. On CUDA every submitted frame has begun."""
        self._check_open()
        raw, error = ctypes.c_int32(), CError()
        status = self._lib.ocellus_operator_cancel(self._operator, ticket._ticket, raw, error)
        outcome = CancelOutcome(raw.value)
        # A ticket that is not valid may be that of a call that was interrupted.
        if status == Status.INVALID_TICKET or (status == 0 and outcome is CancelOutcome.CANCELED):
            self._in_flight.pop(id(ticket), None)
        check(status, error)
        return outcome

    def fileno(self) -> int:
        """File descriptor for event loops, so that an operator can be passed to select and selectors.

        It is readable while a frame is done that was not waited for, or while wait would raise an error
        other than DeadlineMissed. Do not read, write or close it: wait resets it. The first call creates
        it, and on CUDA starts a thread.
        """
        self._check_open()
        fd = ctypes.c_int32()
        call("operator_create_event_fd", self._operator, fd)
        value: int = fd.value
        return value

    def stop(self) -> None:
        """Makes the frames in flight end early. Their wait and every submit until reset raise an error
        with Status.STOPPED. Another thread may call it while this one waits."""
        self._check_open()
        self._lib.ocellus_operator_stop(self._operator)

    def reset(self) -> None:
        """Drops the frames in flight and their tickets, and forgets all previous frames. A frame that
        runs ends early."""
        self._check_open()
        call("operator_reset", self._operator)
        self._in_flight.clear()

    def save_model(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes what the operator has learned to a model file."""
        self._check_open()
        call("operator_save_model", self._operator, _encoded("path", os.fspath(path)))

    def take_learned(self, other: Operator) -> None:
        """Takes over what another operator has learned, such as one for frames of another size."""
        self._check_open()
        other._check_open()
        call("operator_take_learned", self._operator, other._operator)

    @property
    def stats(self) -> Stats:
        """Statistics since creation."""
        self._check_open()
        raw = CStats()
        call("operator_get_stats", self._operator, raw)
        return Stats._make(getattr(raw, name) for name in Stats._fields)

    def close(self) -> None:
        """Ends the frames in flight early and gives the memory back. Results stay valid."""
        self._handle.destroy()
        self._engine_handle.destroy()
        self._in_flight.clear()  # until now the library wrote to their memory

    def _check_open(self) -> None:
        if not self._handle:
            raise invalid("the operator is closed")

    def __enter__(self) -> Operator:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # Without a library there are no handles.
        if "_handle" in self.__dict__:
            self.close()
