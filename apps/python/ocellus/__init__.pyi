# toolchains/options-page writes this file from the operators' option tables, and a test checks that it is up to date.
from os import PathLike
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Optional, Union, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ._operator import Operator as _Operator
from ._operator import OptionValue
from ._draw import Picture
from ._library import DeadlineMissed, Error, InvalidArgument, Status, __version__, library_path, library_version
from ._operator import CancelOutcome, FieldInfo, FieldRole, FrameInfo, OperatorInfo, PlaneInfo, Result, Stats, Ticket, operators
from ._program import identify, train_digits
__all__ = ['CancelOutcome', 'DeadlineMissed', 'Error', 'FieldInfo', 'FieldRole', 'FrameInfo', 'InvalidArgument', 'Operator', 'OperatorInfo', 'Picture', 'PlaneInfo', 'Result', 'Stats', 'Status', 'Ticket', '__version__', 'apply', 'digits', 'flow', 'halftone', 'identify', 'library_path', 'library_version', 'operators', 'restore', 'train_digits']

class Operator(_Operator):
    @overload
    def __init__(
        self,
        name: Literal["flow"],
        size: tuple[int, int],
        *,
        dtype: DTypeLike = ...,
        color: Optional[str] = ...,
        planes: Optional[Sequence[str]] = ...,
        gray_range: Optional[tuple[float, float]] = ...,
        backend: str = ...,
        workers: int = ...,
        realtime_priority: int = ...,
        engine_options: Optional[Mapping[str, OptionValue]] = ...,
        method: Literal["pyramid", "kernels"] = ...,
        preset: Literal["fast", "quality", "best"] = ...,
        kernels: Union[str, PathLike[str]] = ...,
        taps: Union[str, PathLike[str]] = ...,
        sigma_space: float = ...,
        sigma_time: float = ...,
        fovea_x: float = ...,
        fovea_y: float = ...,
        fovea_radius: float = ...,
        storage: Literal["float", "half"] = ...,
        solver: Literal["lucas-kanade", "variational"] = ...,
        levels: int = ...,
        warps: int = ...,
        coarse_warps: int = ...,
        ridge: float = ...,
        smoothing_size: int = ...,
        smoothness: float = ...,
        sweeps: int = ...,
        coarse_sweeps: int = ...,
        reweightings: int = ...,
        window: int = ...,
        window_weight: Literal["box", "gaussian"] = ...,
        window_sigma: float = ...,
        roi: Union[str, PathLike[str]] = ...,
        confidence_threshold: float = ...,
        invalid: Literal["nan", "zero"] = ...,
        deviation: bool = ...,
        objects: int = ...,
        min_motion: float = ...,
        min_motion_side: int = ...,
        min_deviations: float = ...,
        min_area: int = ...,
        depth: int = ...,
        priority: Literal["low", "normal", "high"] = ...,
    ) -> None:
        """Dense optical flow by the method of Lucas and Kanade.

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
        method: Method that estimates the motion. Default pyramid
        preset: Balance of speed and accuracy. Default fast. Needs method=pyramid
        kernels: Convolution kernels: uniform, per-pixel, foveated, full or a kernel file (*.ocellus).
            Default uniform. Needs method=kernels
        taps: Number of taps of the kernels in x, y and time, as NXxNYxNT, each 2 to 25. Default
            15x15x20. Needs method=kernels and kernels that are not read from a file
        sigma_space: Sigma of the Gaussian derivatives in space; with kernels=foveated, sigma at the
            center of the fovea. 0.1 to 1000 pixels. Default 1.5. Needs method=kernels and kernels that
            are not read from a file
        sigma_time: Sigma of the Gaussian derivatives in time. 0.1 to 1000 frames. Default 1.5. Needs
            method=kernels and kernels that are not read from a file
        fovea_x: Column of the fovea's center; -1 = center of the image. -1 to 16384 pixels. Default -1.
            Needs method=kernels and kernels=foveated
        fovea_y: Row of the fovea's center; -1 = center of the image. -1 to 16384 pixels. Default -1.
            Needs method=kernels and kernels=foveated
        fovea_radius: Distance from the fovea's center at which sigma is twice as large. 0.001 to
            1000000 pixels. Default 100. Needs method=kernels and kernels=foveated
        storage: Number format in which the kernels are stored. Default float. Needs method=kernels and
            kernels that differ by pixel
        solver: How the flow of a level is determined. Default lucas-kanade. Needs method=pyramid
        levels: Number of levels of the pyramid. 1 to 6. Default 4. Needs method=pyramid
        warps: Number of warps, each with a solution, on the two finest levels; with solver=variational,
            on the finest one. 1 to 10. Default 1. Needs method=pyramid
        coarse_warps: Number of warps, each with a solution, on the coarser levels. 1 to 10. Default 2.
            Needs method=pyramid and 3 levels or more
        ridge: Number that is added to the diagonal of the structure tensor. 0 to 1000000000. Default 1.
            Needs method=pyramid and solver=lucas-kanade
        smoothing_size: Side of the box over which the flow is averaged before each warp. 3 to 31
            pixels. Default 15. Needs method=pyramid and solver=lucas-kanade
        smoothness: Weight of the smoothness term. 0.01 to 100. Default 1.2. Needs method=pyramid and
            solver=variational
        sweeps: Sweeps of the relaxation of a warp on the finest level. 1 to 28. Default 8. Needs
            method=pyramid and solver=variational
        coarse_sweeps: Sweeps of the relaxation of a warp on the coarser levels. 1 to 28. Default 12.
            Needs method=pyramid and solver=variational
        reweightings: Iterations of the median that the image guides. 0 to 10. Default 2. Needs
            method=pyramid and solver=variational
        window: Side of the window in which the motion is assumed to be constant. 3 to 31 pixels.
            Default 11. Needs method=kernels or solver=lucas-kanade
        window_weight: Weights of the pixels in the window. Default box. Needs method=kernels or
            solver=lucas-kanade
        window_sigma: Sigma of the Gaussian weights of the window. 0.1 to 1000 pixels. Default 4. Needs
            window_weight=gaussian
        roi: Region in which flow is computed, as x,y,width,height; empty = the whole image
        confidence_threshold: Flow with a lower confidence is marked invalid. 0 to 1e+30. Default 0
        invalid: Value that is written where flow is invalid. Default nan
        deviation: Add a plane with the standard deviation of the flow in pixels. Default false
        objects: Moving objects that are found in each frame, the largest; 0 = off. 0 to 64. Default 0
        min_motion: Least motion of an object, and least motion that is drawn; more on large frames. 0
            to 1000 pixels per frame. Default 1
        min_motion_side: Shorter side of a frame from which on the least motion grows with the frame; 0
            = it is the same on every frame. 0 to 16384 pixels. Default 480
        min_deviations: Least motion of an object and of what is drawn, as a multiple of its standard
            deviation; 0 = any. 0 to 1000 standard deviations. Default 2
        min_area: Smaller objects are left out; 0 = 16 cells. 0 to 268435456 pixels. Default 0
        depth: Number of frames in flight; more frames give a higher rate and a longer latency. 1 to 8
            frames. Default 1
        priority: Which frames come first while those of several operators wait for one engine, or for
            one CUDA device. Default normal
        """
        ...
    @overload
    def __init__(
        self,
        name: Literal["filter"],
        size: tuple[int, int],
        *,
        dtype: DTypeLike = ...,
        color: Optional[str] = ...,
        planes: Optional[Sequence[str]] = ...,
        gray_range: Optional[tuple[float, float]] = ...,
        backend: str = ...,
        workers: int = ...,
        realtime_priority: int = ...,
        engine_options: Optional[Mapping[str, OptionValue]] = ...,
        kernels: Union[str, PathLike[str]] = ...,
        taps: Union[str, PathLike[str]] = ...,
        sigma_space: float = ...,
        sigma_time: float = ...,
        fovea_x: float = ...,
        fovea_y: float = ...,
        fovea_radius: float = ...,
        storage: Literal["float", "half"] = ...,
        roi: Union[str, PathLike[str]] = ...,
        depth: int = ...,
        priority: Literal["low", "normal", "high"] = ...,
    ) -> None:
        """Convolutions with spatio-temporal kernels.

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
        kernels: Convolution kernels: uniform, per-pixel, foveated, full or a kernel file (*.ocellus).
            Default uniform
        taps: Number of taps of the kernels in x, y and time, as NXxNYxNT, each 2 to 25. Default
            15x15x20. Needs kernels that are not read from a file
        sigma_space: Sigma of the Gaussian derivatives in space; with kernels=foveated, sigma at the
            center of the fovea. 0.1 to 1000 pixels. Default 1.5. Needs kernels that are not read from a
            file
        sigma_time: Sigma of the Gaussian derivatives in time. 0.1 to 1000 frames. Default 1.5. Needs
            kernels that are not read from a file
        fovea_x: Column of the fovea's center; -1 = center of the image. -1 to 16384 pixels. Default -1.
            Needs kernels=foveated
        fovea_y: Row of the fovea's center; -1 = center of the image. -1 to 16384 pixels. Default -1.
            Needs kernels=foveated
        fovea_radius: Distance from the fovea's center at which sigma is twice as large. 0.001 to
            1000000 pixels. Default 100. Needs kernels=foveated
        storage: Number format in which the kernels are stored. Default float. Needs kernels that differ
            by pixel
        roi: Region in which the filters are computed, as x,y,width,height; empty = the whole image
        depth: Number of frames in flight; more frames give a higher rate and a longer latency. 1 to 8
            frames. Default 1
        priority: Which frames come first while those of several operators wait for one engine, or for
            one CUDA device. Default normal
        """
        ...
    @overload
    def __init__(
        self,
        name: Literal["halftone"],
        size: tuple[int, int],
        *,
        dtype: DTypeLike = ...,
        color: Optional[str] = ...,
        planes: Optional[Sequence[str]] = ...,
        gray_range: Optional[tuple[float, float]] = ...,
        backend: str = ...,
        workers: int = ...,
        realtime_priority: int = ...,
        engine_options: Optional[Mapping[str, OptionValue]] = ...,
        template: Union[str, PathLike[str]] = ...,
        preset: Literal["quality", "fast", "gray4", "gray16"] = ...,
        start: Literal["template", "input", "noise", "blue-noise", "error-diffusion"] = ...,
        seed: int = ...,
        warm_start: bool = ...,
        levels: int = ...,
        max_sweeps: int = ...,
        polarity: Literal["black", "white"] = ...,
        chroma: Literal["neutral", "keep"] = ...,
        depth: int = ...,
        priority: Literal["low", "normal", "high"] = ...,
    ) -> None:
        """Black and white halftones of gray images.

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
        template: Template to use in place of the preset: a name such as "hlf5", a template file, or a
            chain of these
        preset: Balance of quality and speed, and gray levels. Default quality. Needs an empty template
        start: Initial state of the first stage. Default template
        seed: Seed of the noise. 0 to 4294967295. Default 1. Needs start=noise
        warm_start: Start each frame from the result of the frame before; for halftones, and for
            templates whose cells follow the frame from any initial state. Default false
        levels: Number of gray levels of the result, at least 2; 0 = as the template defines. 0 to 256.
            Default 0. Needs a template; the presets have levels of their own
        max_sweeps: Maximum number of sweeps of a frame, over all stages and passes; the record of a
            frame that it ends is not finished. 1 to 1000000 sweeps. Default 4096
        polarity: Color that a cell of +1 stands for. Default black
        chroma: Color of the output picture, if its format has color. Default neutral
        depth: Number of frames in flight; more frames give a higher rate and a longer latency. 1 to 8
            frames. Default 1
        priority: Which frames come first while those of several operators wait for one engine, or for
            one CUDA device. Default normal
        """
        ...
    @overload
    def __init__(
        self,
        name: Literal["cnn"],
        size: tuple[int, int],
        *,
        dtype: DTypeLike = ...,
        color: Optional[str] = ...,
        planes: Optional[Sequence[str]] = ...,
        gray_range: Optional[tuple[float, float]] = ...,
        backend: str = ...,
        workers: int = ...,
        realtime_priority: int = ...,
        engine_options: Optional[Mapping[str, OptionValue]] = ...,
        template: Union[str, PathLike[str]] = ...,
        initial: Union[str, PathLike[str]] = ...,
        start: Literal["template", "input", "noise", "blue-noise", "error-diffusion"] = ...,
        seed: int = ...,
        warm_start: bool = ...,
        levels: int = ...,
        max_sweeps: int = ...,
        polarity: Literal["black", "white"] = ...,
        chroma: Literal["neutral", "keep"] = ...,
        boundary: Union[str, PathLike[str]] = ...,
        update: Literal["template", "colors", "raster", "synchronous"] = ...,
        color_spacing: int = ...,
        depth: int = ...,
        priority: Literal["low", "normal", "high"] = ...,
    ) -> None:
        """Templates of a cellular neural network.

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
        template: Name of a template, a template file, or a chain of these such as "erosion | edge".
            Default edge
        initial: Binary PGM file with the size of the frames that sets the initial state of the first
            stage; empty = none
        start: Initial state of the first stage. Default template. Needs an empty initial
        seed: Seed of the noise. 0 to 4294967295. Default 1. Needs start=noise
        warm_start: Start each frame from the result of the frame before; for halftones, and for
            templates whose cells follow the frame from any initial state. Default false
        levels: Number of gray levels of the result, at least 2; 0 = as the template defines. 0 to 256.
            Default 0
        max_sweeps: Maximum number of sweeps of a frame, over all stages and passes; the record of a
            frame that it ends is not finished. 1 to 1000000 sweeps. Default 4096
        polarity: Color that a cell of +1 stands for. Default black
        chroma: Color of the output picture, if its format has color. Default neutral
        boundary: State of the cells beyond the image: zero-flux, periodic or a number, -1 to 1; empty =
            as the template defines
        update: Order of the updates. Default template
        color_spacing: Distance of cells of the same color, at least the radius + 1; 0 = as the template
            defines. 0 to 9 cells. Default 0. Needs update=template or update=colors
        depth: Number of frames in flight; more frames give a higher rate and a longer latency. 1 to 8
            frames. Default 1
        priority: Which frames come first while those of several operators wait for one engine, or for
            one CUDA device. Default normal
        """
        ...
    @overload
    def __init__(
        self,
        name: Literal["restore"],
        size: tuple[int, int],
        *,
        dtype: DTypeLike = ...,
        color: Optional[str] = ...,
        planes: Optional[Sequence[str]] = ...,
        gray_range: Optional[tuple[float, float]] = ...,
        backend: str = ...,
        workers: int = ...,
        realtime_priority: int = ...,
        engine_options: Optional[Mapping[str, OptionValue]] = ...,
        filter: Union[str, PathLike[str]] = ...,
        border: Literal["reflect", "replicate", "zero"] = ...,
        schedule: Literal["auto", "recursion", "frequency"] = ...,
        depth: int = ...,
        priority: Literal["low", "normal", "high"] = ...,
    ) -> None:
        """Restoration of blurred images by recursive filters.

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
        filter: Filter file (*.ocellus), or a filter of the library: gaussian-1, gaussian-1.5,
            gaussian-2. Default gaussian-1
        border: What lies beyond the image. Default reflect
        schedule: How the result is computed. Default auto
        depth: Number of frames in flight; more frames give a higher rate and a longer latency. 1 to 8
            frames. Default 1
        priority: Which frames come first while those of several operators wait for one engine, or for
            one CUDA device. Default normal
        """
        ...
    @overload
    def __init__(
        self,
        name: Literal["digits"],
        size: tuple[int, int],
        *,
        dtype: DTypeLike = ...,
        color: Optional[str] = ...,
        planes: Optional[Sequence[str]] = ...,
        gray_range: Optional[tuple[float, float]] = ...,
        backend: str = ...,
        workers: int = ...,
        realtime_priority: int = ...,
        engine_options: Optional[Mapping[str, OptionValue]] = ...,
        model: Union[str, PathLike[str]] = ...,
        layout: Literal["find", "boxes", "tiles"] = ...,
        fields: Union[str, PathLike[str]] = ...,
        tile_width: int = ...,
        tile_height: int = ...,
        ink: Literal["auto", "dark", "light"] = ...,
        min_height: int = ...,
        max_height: int = ...,
        max_characters: int = ...,
        min_confidence: float = ...,
        max_active: float = ...,
        depth: int = ...,
        priority: Literal["low", "normal", "high"] = ...,
    ) -> None:
        """Finds and reads handwritten digits.

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
        model: Model file (*.ocellus), or a model of the library: digits-small or digits. Default
            digits-small
        layout: Where the characters are. Default find
        fields: Fields with text or boxes of characters, x,y,width,height in pixels with ; between them;
            @FILE: a file with one on each line, and comments after #; empty: the whole frame. Needs
            layout=find or boxes
        tile_width: Width of a tile. 8 to 1024 pixels. Default 28. Needs layout=tiles
        tile_height: Height of a tile. 8 to 1024 pixels. Default 28. Needs layout=tiles
        ink: Gray levels of the ink. Default auto
        min_height: Smallest height of a character; 0: 1/48 of the shorter side of the field, at least
            8. 0 to 16384 pixels. Default 0. Needs layout=find or boxes
        max_height: Largest height of a character; 0: the height of the field. 0 to 16384 pixels.
            Default 0. Needs layout=find or boxes
        max_characters: Characters of a frame that are read, with layout=tiles at most 64; 0: 64 for
            each field, in all at most 512. 0 to 512. Default 0
        min_confidence: Characters of less confidence are rejected. 0 to 1. Default 0.5
        max_active: Cells of a layer that may be active, as a share of all: bounds the time of a
            character. 0.01 to 1. Default 0.25
        depth: Number of frames in flight; more frames give a higher rate and a longer latency. 1 to 8
            frames. Default 1
        priority: Which frames come first while those of several operators wait for one engine, or for
            one CUDA device. Default normal
        """
        ...
    @overload
    def __init__(
        self,
        name: Literal["cortex"],
        size: tuple[int, int],
        *,
        dtype: DTypeLike = ...,
        color: Optional[str] = ...,
        planes: Optional[Sequence[str]] = ...,
        gray_range: Optional[tuple[float, float]] = ...,
        backend: str = ...,
        workers: int = ...,
        realtime_priority: int = ...,
        engine_options: Optional[Mapping[str, OptionValue]] = ...,
        model: Union[str, PathLike[str]] = ...,
        layout: Literal["frame", "tiles"] = ...,
        tile_width: int = ...,
        tile_height: int = ...,
        ink: Literal["auto", "dark", "light"] = ...,
        learn: bool = ...,
        learn_rate: float = ...,
        depth: int = ...,
        priority: Literal["low", "normal", "high"] = ...,
    ) -> None:
        """Classifies frames by a cortical network.

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
        model: Model file (*.ocellus), or a model of the library: digits. Default digits
        layout: What is classified. Default frame
        tile_width: Width of a tile. 1 to 16384 pixels. Default 28. Needs layout=tiles
        tile_height: Height of a tile. 1 to 16384 pixels. Default 28. Needs layout=tiles
        ink: Gray levels of the ink. Default auto
        learn: The features learn from each frame; the read-out stays. Default false
        learn_rate: Step of an input probability towards an input. 0.0001 to 1. Default 0.002. Needs
            learn=true
        depth: Number of frames in flight; more frames give a higher rate and a longer latency. 1 to 8
            frames. Default 1
        priority: Which frames come first while those of several operators wait for one engine, or for
            one CUDA device. Default normal
        """
        ...
    @overload
    def __init__(
        self,
        name: Literal["network"],
        size: tuple[int, int],
        *,
        dtype: DTypeLike = ...,
        color: Optional[str] = ...,
        planes: Optional[Sequence[str]] = ...,
        gray_range: Optional[tuple[float, float]] = ...,
        backend: str = ...,
        workers: int = ...,
        realtime_priority: int = ...,
        engine_options: Optional[Mapping[str, OptionValue]] = ...,
        model: Union[str, PathLike[str]] = ...,
        layout: Literal["frame", "tiles"] = ...,
        tile_width: int = ...,
        tile_height: int = ...,
        learn: bool = ...,
        width: int = ...,
        height: int = ...,
        lgn: Literal["level", "contrast"] = ...,
        lgn_threshold: int = ...,
        levels: Union[str, PathLike[str]] = ...,
        threshold: float = ...,
        potentiation: float = ...,
        depression: float = ...,
        initial_weight: float = ...,
        random_firing: float = ...,
        firing_decay: float = ...,
        stable_wins: int = ...,
        seed: int = ...,
        feedback_rounds: int = ...,
        feedback_tolerance: int = ...,
        depth: int = ...,
        priority: Literal["low", "normal", "high"] = ...,
    ) -> None:
        """A cortical network of the paper, which learns from frames.

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
        model: File of a network (*.ocellus); empty: a new network
        layout: What is classified. Default frame
        tile_width: Width of a tile. 1 to 16384 pixels. Default 28. Needs layout=tiles
        tile_height: Height of a tile. 1 to 16384 pixels. Default 28. Needs layout=tiles
        learn: The network learns from each patch; the read-out stays. Default false
        width: Width of the image that the network sees. 1 to 16384 pixels. Default 28. Needs no model
        height: Height of the image that the network sees. 1 to 16384 pixels. Default 28. Needs no model
        lgn: Cells of the LGN. Default level. Needs no model
        lgn_threshold: Threshold of the cells of the LGN. 1 to 255 gray levels. Default 128. Needs no
            model
        levels: Levels, the lowest first, with commas between them: window/stride:minicolumns, such as
            3x3/1x1:64. Default 3x3/1x1:64. Needs no model
        threshold: T, which the inputs of a minicolumn must exceed. 0 to 1. Default 0.95. Needs no model
        potentiation: Rate of the weights of active inputs. 0 to 1. Default 0.6. Needs no model
        depression: Rate of the weights of other inputs. 0 to 1. Default 0.1. Needs no model
        initial_weight: Largest weight at the begin. 0 to 0.2. Default 0.01. Needs no model
        random_firing: Probability that a minicolumn without a win fires at random. 0 to 1. Default 0.1.
            Needs no model
        firing_decay: Factor of this probability for each win. 0 to 1. Default 0.5. Needs no model
        stable_wins: Wins after which a minicolumn does not fire at random. 1 to 64. Default 10. Needs
            no model
        seed: Seed of the random numbers. 0 to 2147483647. Default 1. Needs no model
        feedback_rounds: Rounds of feedback from higher levels. 0 to 100. Default 0. Needs learn=false
        feedback_tolerance: Active inputs with weak weights that an expectation excuses. 1 to 1000.
            Default 1. Needs feedback_rounds above 0
        depth: Number of frames in flight; more frames give a higher rate and a longer latency. 1 to 8
            frames. Default 1
        priority: Which frames come first while those of several operators wait for one engine, or for
            one CUDA device. Default normal
        """
        ...
    @overload
    def __init__(
        self,
        name: str,
        size: tuple[int, int],
        *,
        dtype: DTypeLike = ...,
        color: Optional[str] = ...,
        planes: Optional[Sequence[str]] = ...,
        gray_range: Optional[tuple[float, float]] = ...,
        backend: str = ...,
        workers: int = ...,
        realtime_priority: int = ...,
        engine_options: Optional[Mapping[str, OptionValue]] = ...,
    ) -> None:
        """An operator whose name is known only when the program runs.

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
        ...
    def __enter__(self) -> Operator: ...

@overload
def apply(
    name: Literal["flow"],
    *images: ArrayLike,
    color: Optional[str] = ...,
    planes: Optional[Sequence[str]] = ...,
    gray_range: Optional[tuple[float, float]] = ...,
    backend: str = ...,
    workers: int = ...,
    realtime_priority: int = ...,
    engine_options: Optional[Mapping[str, OptionValue]] = ...,
    method: Literal["pyramid", "kernels"] = ...,
    preset: Literal["fast", "quality", "best"] = ...,
    kernels: Union[str, PathLike[str]] = ...,
    taps: Union[str, PathLike[str]] = ...,
    sigma_space: float = ...,
    sigma_time: float = ...,
    fovea_x: float = ...,
    fovea_y: float = ...,
    fovea_radius: float = ...,
    storage: Literal["float", "half"] = ...,
    solver: Literal["lucas-kanade", "variational"] = ...,
    levels: int = ...,
    warps: int = ...,
    coarse_warps: int = ...,
    ridge: float = ...,
    smoothing_size: int = ...,
    smoothness: float = ...,
    sweeps: int = ...,
    coarse_sweeps: int = ...,
    reweightings: int = ...,
    window: int = ...,
    window_weight: Literal["box", "gaussian"] = ...,
    window_sigma: float = ...,
    roi: Union[str, PathLike[str]] = ...,
    confidence_threshold: float = ...,
    invalid: Literal["nan", "zero"] = ...,
    deviation: bool = ...,
    objects: int = ...,
    min_motion: float = ...,
    min_motion_side: int = ...,
    min_deviations: float = ...,
    min_area: int = ...,
    depth: int = ...,
    priority: Literal["low", "normal", "high"] = ...,
) -> Result:
    """Dense optical flow by the method of Lucas and Kanade.

    method: Method that estimates the motion. Default pyramid
    preset: Balance of speed and accuracy. Default fast. Needs method=pyramid
    kernels: Convolution kernels: uniform, per-pixel, foveated, full or a kernel file (*.ocellus).
        Default uniform. Needs method=kernels
    taps: Number of taps of the kernels in x, y and time, as NXxNYxNT, each 2 to 25. Default
        15x15x20. Needs method=kernels and kernels that are not read from a file
    sigma_space: Sigma of the Gaussian derivatives in space; with kernels=foveated, sigma at the
        center of the fovea. 0.1 to 1000 pixels. Default 1.5. Needs method=kernels and kernels that
        are not read from a file
    sigma_time: Sigma of the Gaussian derivatives in time. 0.1 to 1000 frames. Default 1.5. Needs
        method=kernels and kernels that are not read from a file
    fovea_x: Column of the fovea's center; -1 = center of the image. -1 to 16384 pixels. Default -1.
        Needs method=kernels and kernels=foveated
    fovea_y: Row of the fovea's center; -1 = center of the image. -1 to 16384 pixels. Default -1.
        Needs method=kernels and kernels=foveated
    fovea_radius: Distance from the fovea's center at which sigma is twice as large. 0.001 to
        1000000 pixels. Default 100. Needs method=kernels and kernels=foveated
    storage: Number format in which the kernels are stored. Default float. Needs method=kernels and
        kernels that differ by pixel
    solver: How the flow of a level is determined. Default lucas-kanade. Needs method=pyramid
    levels: Number of levels of the pyramid. 1 to 6. Default 4. Needs method=pyramid
    warps: Number of warps, each with a solution, on the two finest levels; with solver=variational,
        on the finest one. 1 to 10. Default 1. Needs method=pyramid
    coarse_warps: Number of warps, each with a solution, on the coarser levels. 1 to 10. Default 2.
        Needs method=pyramid and 3 levels or more
    ridge: Number that is added to the diagonal of the structure tensor. 0 to 1000000000. Default 1.
        Needs method=pyramid and solver=lucas-kanade
    smoothing_size: Side of the box over which the flow is averaged before each warp. 3 to 31
        pixels. Default 15. Needs method=pyramid and solver=lucas-kanade
    smoothness: Weight of the smoothness term. 0.01 to 100. Default 1.2. Needs method=pyramid and
        solver=variational
    sweeps: Sweeps of the relaxation of a warp on the finest level. 1 to 28. Default 8. Needs
        method=pyramid and solver=variational
    coarse_sweeps: Sweeps of the relaxation of a warp on the coarser levels. 1 to 28. Default 12.
        Needs method=pyramid and solver=variational
    reweightings: Iterations of the median that the image guides. 0 to 10. Default 2. Needs
        method=pyramid and solver=variational
    window: Side of the window in which the motion is assumed to be constant. 3 to 31 pixels.
        Default 11. Needs method=kernels or solver=lucas-kanade
    window_weight: Weights of the pixels in the window. Default box. Needs method=kernels or
        solver=lucas-kanade
    window_sigma: Sigma of the Gaussian weights of the window. 0.1 to 1000 pixels. Default 4. Needs
        window_weight=gaussian
    roi: Region in which flow is computed, as x,y,width,height; empty = the whole image
    confidence_threshold: Flow with a lower confidence is marked invalid. 0 to 1e+30. Default 0
    invalid: Value that is written where flow is invalid. Default nan
    deviation: Add a plane with the standard deviation of the flow in pixels. Default false
    objects: Moving objects that are found in each frame, the largest; 0 = off. 0 to 64. Default 0
    min_motion: Least motion of an object, and least motion that is drawn; more on large frames. 0
        to 1000 pixels per frame. Default 1
    min_motion_side: Shorter side of a frame from which on the least motion grows with the frame; 0
        = it is the same on every frame. 0 to 16384 pixels. Default 480
    min_deviations: Least motion of an object and of what is drawn, as a multiple of its standard
        deviation; 0 = any. 0 to 1000 standard deviations. Default 2
    min_area: Smaller objects are left out; 0 = 16 cells. 0 to 268435456 pixels. Default 0
    depth: Number of frames in flight; more frames give a higher rate and a longer latency. 1 to 8
        frames. Default 1
    priority: Which frames come first while those of several operators wait for one engine, or for
        one CUDA device. Default normal
    """
    ...
@overload
def apply(
    name: Literal["filter"],
    *images: ArrayLike,
    color: Optional[str] = ...,
    planes: Optional[Sequence[str]] = ...,
    gray_range: Optional[tuple[float, float]] = ...,
    backend: str = ...,
    workers: int = ...,
    realtime_priority: int = ...,
    engine_options: Optional[Mapping[str, OptionValue]] = ...,
    kernels: Union[str, PathLike[str]] = ...,
    taps: Union[str, PathLike[str]] = ...,
    sigma_space: float = ...,
    sigma_time: float = ...,
    fovea_x: float = ...,
    fovea_y: float = ...,
    fovea_radius: float = ...,
    storage: Literal["float", "half"] = ...,
    roi: Union[str, PathLike[str]] = ...,
    depth: int = ...,
    priority: Literal["low", "normal", "high"] = ...,
) -> Result:
    """Convolutions with spatio-temporal kernels.

    kernels: Convolution kernels: uniform, per-pixel, foveated, full or a kernel file (*.ocellus).
        Default uniform
    taps: Number of taps of the kernels in x, y and time, as NXxNYxNT, each 2 to 25. Default
        15x15x20. Needs kernels that are not read from a file
    sigma_space: Sigma of the Gaussian derivatives in space; with kernels=foveated, sigma at the
        center of the fovea. 0.1 to 1000 pixels. Default 1.5. Needs kernels that are not read from a
        file
    sigma_time: Sigma of the Gaussian derivatives in time. 0.1 to 1000 frames. Default 1.5. Needs
        kernels that are not read from a file
    fovea_x: Column of the fovea's center; -1 = center of the image. -1 to 16384 pixels. Default -1.
        Needs kernels=foveated
    fovea_y: Row of the fovea's center; -1 = center of the image. -1 to 16384 pixels. Default -1.
        Needs kernels=foveated
    fovea_radius: Distance from the fovea's center at which sigma is twice as large. 0.001 to
        1000000 pixels. Default 100. Needs kernels=foveated
    storage: Number format in which the kernels are stored. Default float. Needs kernels that differ
        by pixel
    roi: Region in which the filters are computed, as x,y,width,height; empty = the whole image
    depth: Number of frames in flight; more frames give a higher rate and a longer latency. 1 to 8
        frames. Default 1
    priority: Which frames come first while those of several operators wait for one engine, or for
        one CUDA device. Default normal
    """
    ...
@overload
def apply(
    name: Literal["halftone"],
    *images: ArrayLike,
    color: Optional[str] = ...,
    planes: Optional[Sequence[str]] = ...,
    gray_range: Optional[tuple[float, float]] = ...,
    backend: str = ...,
    workers: int = ...,
    realtime_priority: int = ...,
    engine_options: Optional[Mapping[str, OptionValue]] = ...,
    template: Union[str, PathLike[str]] = ...,
    preset: Literal["quality", "fast", "gray4", "gray16"] = ...,
    start: Literal["template", "input", "noise", "blue-noise", "error-diffusion"] = ...,
    seed: int = ...,
    warm_start: bool = ...,
    levels: int = ...,
    max_sweeps: int = ...,
    polarity: Literal["black", "white"] = ...,
    chroma: Literal["neutral", "keep"] = ...,
    depth: int = ...,
    priority: Literal["low", "normal", "high"] = ...,
) -> Result:
    """Black and white halftones of gray images.

    template: Template to use in place of the preset: a name such as "hlf5", a template file, or a
        chain of these
    preset: Balance of quality and speed, and gray levels. Default quality. Needs an empty template
    start: Initial state of the first stage. Default template
    seed: Seed of the noise. 0 to 4294967295. Default 1. Needs start=noise
    warm_start: Start each frame from the result of the frame before; for halftones, and for
        templates whose cells follow the frame from any initial state. Default false
    levels: Number of gray levels of the result, at least 2; 0 = as the template defines. 0 to 256.
        Default 0. Needs a template; the presets have levels of their own
    max_sweeps: Maximum number of sweeps of a frame, over all stages and passes; the record of a
        frame that it ends is not finished. 1 to 1000000 sweeps. Default 4096
    polarity: Color that a cell of +1 stands for. Default black
    chroma: Color of the output picture, if its format has color. Default neutral
    depth: Number of frames in flight; more frames give a higher rate and a longer latency. 1 to 8
        frames. Default 1
    priority: Which frames come first while those of several operators wait for one engine, or for
        one CUDA device. Default normal
    """
    ...
@overload
def apply(
    name: Literal["cnn"],
    *images: ArrayLike,
    color: Optional[str] = ...,
    planes: Optional[Sequence[str]] = ...,
    gray_range: Optional[tuple[float, float]] = ...,
    backend: str = ...,
    workers: int = ...,
    realtime_priority: int = ...,
    engine_options: Optional[Mapping[str, OptionValue]] = ...,
    template: Union[str, PathLike[str]] = ...,
    initial: Union[str, PathLike[str]] = ...,
    start: Literal["template", "input", "noise", "blue-noise", "error-diffusion"] = ...,
    seed: int = ...,
    warm_start: bool = ...,
    levels: int = ...,
    max_sweeps: int = ...,
    polarity: Literal["black", "white"] = ...,
    chroma: Literal["neutral", "keep"] = ...,
    boundary: Union[str, PathLike[str]] = ...,
    update: Literal["template", "colors", "raster", "synchronous"] = ...,
    color_spacing: int = ...,
    depth: int = ...,
    priority: Literal["low", "normal", "high"] = ...,
) -> Result:
    """Templates of a cellular neural network.

    template: Name of a template, a template file, or a chain of these such as "erosion | edge".
        Default edge
    initial: Binary PGM file with the size of the frames that sets the initial state of the first
        stage; empty = none
    start: Initial state of the first stage. Default template. Needs an empty initial
    seed: Seed of the noise. 0 to 4294967295. Default 1. Needs start=noise
    warm_start: Start each frame from the result of the frame before; for halftones, and for
        templates whose cells follow the frame from any initial state. Default false
    levels: Number of gray levels of the result, at least 2; 0 = as the template defines. 0 to 256.
        Default 0
    max_sweeps: Maximum number of sweeps of a frame, over all stages and passes; the record of a
        frame that it ends is not finished. 1 to 1000000 sweeps. Default 4096
    polarity: Color that a cell of +1 stands for. Default black
    chroma: Color of the output picture, if its format has color. Default neutral
    boundary: State of the cells beyond the image: zero-flux, periodic or a number, -1 to 1; empty =
        as the template defines
    update: Order of the updates. Default template
    color_spacing: Distance of cells of the same color, at least the radius + 1; 0 = as the template
        defines. 0 to 9 cells. Default 0. Needs update=template or update=colors
    depth: Number of frames in flight; more frames give a higher rate and a longer latency. 1 to 8
        frames. Default 1
    priority: Which frames come first while those of several operators wait for one engine, or for
        one CUDA device. Default normal
    """
    ...
@overload
def apply(
    name: Literal["restore"],
    *images: ArrayLike,
    color: Optional[str] = ...,
    planes: Optional[Sequence[str]] = ...,
    gray_range: Optional[tuple[float, float]] = ...,
    backend: str = ...,
    workers: int = ...,
    realtime_priority: int = ...,
    engine_options: Optional[Mapping[str, OptionValue]] = ...,
    filter: Union[str, PathLike[str]] = ...,
    border: Literal["reflect", "replicate", "zero"] = ...,
    schedule: Literal["auto", "recursion", "frequency"] = ...,
    depth: int = ...,
    priority: Literal["low", "normal", "high"] = ...,
) -> Result:
    """Restoration of blurred images by recursive filters.

    filter: Filter file (*.ocellus), or a filter of the library: gaussian-1, gaussian-1.5,
        gaussian-2. Default gaussian-1
    border: What lies beyond the image. Default reflect
    schedule: How the result is computed. Default auto
    depth: Number of frames in flight; more frames give a higher rate and a longer latency. 1 to 8
        frames. Default 1
    priority: Which frames come first while those of several operators wait for one engine, or for
        one CUDA device. Default normal
    """
    ...
@overload
def apply(
    name: Literal["digits"],
    *images: ArrayLike,
    color: Optional[str] = ...,
    planes: Optional[Sequence[str]] = ...,
    gray_range: Optional[tuple[float, float]] = ...,
    backend: str = ...,
    workers: int = ...,
    realtime_priority: int = ...,
    engine_options: Optional[Mapping[str, OptionValue]] = ...,
    model: Union[str, PathLike[str]] = ...,
    layout: Literal["find", "boxes", "tiles"] = ...,
    fields: Union[str, PathLike[str]] = ...,
    tile_width: int = ...,
    tile_height: int = ...,
    ink: Literal["auto", "dark", "light"] = ...,
    min_height: int = ...,
    max_height: int = ...,
    max_characters: int = ...,
    min_confidence: float = ...,
    max_active: float = ...,
    depth: int = ...,
    priority: Literal["low", "normal", "high"] = ...,
) -> Result:
    """Finds and reads handwritten digits.

    model: Model file (*.ocellus), or a model of the library: digits-small or digits. Default
        digits-small
    layout: Where the characters are. Default find
    fields: Fields with text or boxes of characters, x,y,width,height in pixels with ; between them;
        @FILE: a file with one on each line, and comments after #; empty: the whole frame. Needs
        layout=find or boxes
    tile_width: Width of a tile. 8 to 1024 pixels. Default 28. Needs layout=tiles
    tile_height: Height of a tile. 8 to 1024 pixels. Default 28. Needs layout=tiles
    ink: Gray levels of the ink. Default auto
    min_height: Smallest height of a character; 0: 1/48 of the shorter side of the field, at least
        8. 0 to 16384 pixels. Default 0. Needs layout=find or boxes
    max_height: Largest height of a character; 0: the height of the field. 0 to 16384 pixels.
        Default 0. Needs layout=find or boxes
    max_characters: Characters of a frame that are read, with layout=tiles at most 64; 0: 64 for
        each field, in all at most 512. 0 to 512. Default 0
    min_confidence: Characters of less confidence are rejected. 0 to 1. Default 0.5
    max_active: Cells of a layer that may be active, as a share of all: bounds the time of a
        character. 0.01 to 1. Default 0.25
    depth: Number of frames in flight; more frames give a higher rate and a longer latency. 1 to 8
        frames. Default 1
    priority: Which frames come first while those of several operators wait for one engine, or for
        one CUDA device. Default normal
    """
    ...
@overload
def apply(
    name: Literal["cortex"],
    *images: ArrayLike,
    color: Optional[str] = ...,
    planes: Optional[Sequence[str]] = ...,
    gray_range: Optional[tuple[float, float]] = ...,
    backend: str = ...,
    workers: int = ...,
    realtime_priority: int = ...,
    engine_options: Optional[Mapping[str, OptionValue]] = ...,
    model: Union[str, PathLike[str]] = ...,
    layout: Literal["frame", "tiles"] = ...,
    tile_width: int = ...,
    tile_height: int = ...,
    ink: Literal["auto", "dark", "light"] = ...,
    learn: bool = ...,
    learn_rate: float = ...,
    depth: int = ...,
    priority: Literal["low", "normal", "high"] = ...,
) -> Result:
    """Classifies frames by a cortical network.

    model: Model file (*.ocellus), or a model of the library: digits. Default digits
    layout: What is classified. Default frame
    tile_width: Width of a tile. 1 to 16384 pixels. Default 28. Needs layout=tiles
    tile_height: Height of a tile. 1 to 16384 pixels. Default 28. Needs layout=tiles
    ink: Gray levels of the ink. Default auto
    learn: The features learn from each frame; the read-out stays. Default false
    learn_rate: Step of an input probability towards an input. 0.0001 to 1. Default 0.002. Needs
        learn=true
    depth: Number of frames in flight; more frames give a higher rate and a longer latency. 1 to 8
        frames. Default 1
    priority: Which frames come first while those of several operators wait for one engine, or for
        one CUDA device. Default normal
    """
    ...
@overload
def apply(
    name: Literal["network"],
    *images: ArrayLike,
    color: Optional[str] = ...,
    planes: Optional[Sequence[str]] = ...,
    gray_range: Optional[tuple[float, float]] = ...,
    backend: str = ...,
    workers: int = ...,
    realtime_priority: int = ...,
    engine_options: Optional[Mapping[str, OptionValue]] = ...,
    model: Union[str, PathLike[str]] = ...,
    layout: Literal["frame", "tiles"] = ...,
    tile_width: int = ...,
    tile_height: int = ...,
    learn: bool = ...,
    width: int = ...,
    height: int = ...,
    lgn: Literal["level", "contrast"] = ...,
    lgn_threshold: int = ...,
    levels: Union[str, PathLike[str]] = ...,
    threshold: float = ...,
    potentiation: float = ...,
    depression: float = ...,
    initial_weight: float = ...,
    random_firing: float = ...,
    firing_decay: float = ...,
    stable_wins: int = ...,
    seed: int = ...,
    feedback_rounds: int = ...,
    feedback_tolerance: int = ...,
    depth: int = ...,
    priority: Literal["low", "normal", "high"] = ...,
) -> Result:
    """A cortical network of the paper, which learns from frames.

    model: File of a network (*.ocellus); empty: a new network
    layout: What is classified. Default frame
    tile_width: Width of a tile. 1 to 16384 pixels. Default 28. Needs layout=tiles
    tile_height: Height of a tile. 1 to 16384 pixels. Default 28. Needs layout=tiles
    learn: The network learns from each patch; the read-out stays. Default false
    width: Width of the image that the network sees. 1 to 16384 pixels. Default 28. Needs no model
    height: Height of the image that the network sees. 1 to 16384 pixels. Default 28. Needs no model
    lgn: Cells of the LGN. Default level. Needs no model
    lgn_threshold: Threshold of the cells of the LGN. 1 to 255 gray levels. Default 128. Needs no
        model
    levels: Levels, the lowest first, with commas between them: window/stride:minicolumns, such as
        3x3/1x1:64. Default 3x3/1x1:64. Needs no model
    threshold: T, which the inputs of a minicolumn must exceed. 0 to 1. Default 0.95. Needs no model
    potentiation: Rate of the weights of active inputs. 0 to 1. Default 0.6. Needs no model
    depression: Rate of the weights of other inputs. 0 to 1. Default 0.1. Needs no model
    initial_weight: Largest weight at the begin. 0 to 0.2. Default 0.01. Needs no model
    random_firing: Probability that a minicolumn without a win fires at random. 0 to 1. Default 0.1.
        Needs no model
    firing_decay: Factor of this probability for each win. 0 to 1. Default 0.5. Needs no model
    stable_wins: Wins after which a minicolumn does not fire at random. 1 to 64. Default 10. Needs
        no model
    seed: Seed of the random numbers. 0 to 2147483647. Default 1. Needs no model
    feedback_rounds: Rounds of feedback from higher levels. 0 to 100. Default 0. Needs learn=false
    feedback_tolerance: Active inputs with weak weights that an expectation excuses. 1 to 1000.
        Default 1. Needs feedback_rounds above 0
    depth: Number of frames in flight; more frames give a higher rate and a longer latency. 1 to 8
        frames. Default 1
    priority: Which frames come first while those of several operators wait for one engine, or for
        one CUDA device. Default normal
    """
    ...
@overload
def apply(
    name: str,
    *images: ArrayLike,
    color: Optional[str] = ...,
    planes: Optional[Sequence[str]] = ...,
    gray_range: Optional[tuple[float, float]] = ...,
    backend: str = ...,
    workers: int = ...,
    realtime_priority: int = ...,
    engine_options: Optional[Mapping[str, OptionValue]] = ...,
) -> Result:
    """An operator whose name is known only when the program runs.

    """
    ...
def flow(
    first: ArrayLike,
    second: ArrayLike,
    *,
    color: Optional[str] = ...,
    planes: Optional[Sequence[str]] = ...,
    gray_range: Optional[tuple[float, float]] = ...,
    backend: str = ...,
    workers: int = ...,
    realtime_priority: int = ...,
    engine_options: Optional[Mapping[str, OptionValue]] = ...,
    method: Literal["pyramid", "kernels"] = ...,
    preset: Literal["fast", "quality", "best"] = ...,
    kernels: Union[str, PathLike[str]] = ...,
    taps: Union[str, PathLike[str]] = ...,
    sigma_space: float = ...,
    sigma_time: float = ...,
    fovea_x: float = ...,
    fovea_y: float = ...,
    fovea_radius: float = ...,
    storage: Literal["float", "half"] = ...,
    solver: Literal["lucas-kanade", "variational"] = ...,
    levels: int = ...,
    warps: int = ...,
    coarse_warps: int = ...,
    ridge: float = ...,
    smoothing_size: int = ...,
    smoothness: float = ...,
    sweeps: int = ...,
    coarse_sweeps: int = ...,
    reweightings: int = ...,
    window: int = ...,
    window_weight: Literal["box", "gaussian"] = ...,
    window_sigma: float = ...,
    roi: Union[str, PathLike[str]] = ...,
    confidence_threshold: float = ...,
    invalid: Literal["nan", "zero"] = ...,
    deviation: bool = ...,
    objects: int = ...,
    min_motion: float = ...,
    min_motion_side: int = ...,
    min_deviations: float = ...,
    min_area: int = ...,
    depth: int = ...,
    priority: Literal["low", "normal", "high"] = ...,
) -> Result:
    """The motion from the first image to the second: planes `u` (to the right), `v` (down), `confidence`.

    method: Method that estimates the motion. Default pyramid
    preset: Balance of speed and accuracy. Default fast. Needs method=pyramid
    kernels: Convolution kernels: uniform, per-pixel, foveated, full or a kernel file (*.ocellus).
        Default uniform. Needs method=kernels
    taps: Number of taps of the kernels in x, y and time, as NXxNYxNT, each 2 to 25. Default
        15x15x20. Needs method=kernels and kernels that are not read from a file
    sigma_space: Sigma of the Gaussian derivatives in space; with kernels=foveated, sigma at the
        center of the fovea. 0.1 to 1000 pixels. Default 1.5. Needs method=kernels and kernels that
        are not read from a file
    sigma_time: Sigma of the Gaussian derivatives in time. 0.1 to 1000 frames. Default 1.5. Needs
        method=kernels and kernels that are not read from a file
    fovea_x: Column of the fovea's center; -1 = center of the image. -1 to 16384 pixels. Default -1.
        Needs method=kernels and kernels=foveated
    fovea_y: Row of the fovea's center; -1 = center of the image. -1 to 16384 pixels. Default -1.
        Needs method=kernels and kernels=foveated
    fovea_radius: Distance from the fovea's center at which sigma is twice as large. 0.001 to
        1000000 pixels. Default 100. Needs method=kernels and kernels=foveated
    storage: Number format in which the kernels are stored. Default float. Needs method=kernels and
        kernels that differ by pixel
    solver: How the flow of a level is determined. Default lucas-kanade. Needs method=pyramid
    levels: Number of levels of the pyramid. 1 to 6. Default 4. Needs method=pyramid
    warps: Number of warps, each with a solution, on the two finest levels; with solver=variational,
        on the finest one. 1 to 10. Default 1. Needs method=pyramid
    coarse_warps: Number of warps, each with a solution, on the coarser levels. 1 to 10. Default 2.
        Needs method=pyramid and 3 levels or more
    ridge: Number that is added to the diagonal of the structure tensor. 0 to 1000000000. Default 1.
        Needs method=pyramid and solver=lucas-kanade
    smoothing_size: Side of the box over which the flow is averaged before each warp. 3 to 31
        pixels. Default 15. Needs method=pyramid and solver=lucas-kanade
    smoothness: Weight of the smoothness term. 0.01 to 100. Default 1.2. Needs method=pyramid and
        solver=variational
    sweeps: Sweeps of the relaxation of a warp on the finest level. 1 to 28. Default 8. Needs
        method=pyramid and solver=variational
    coarse_sweeps: Sweeps of the relaxation of a warp on the coarser levels. 1 to 28. Default 12.
        Needs method=pyramid and solver=variational
    reweightings: Iterations of the median that the image guides. 0 to 10. Default 2. Needs
        method=pyramid and solver=variational
    window: Side of the window in which the motion is assumed to be constant. 3 to 31 pixels.
        Default 11. Needs method=kernels or solver=lucas-kanade
    window_weight: Weights of the pixels in the window. Default box. Needs method=kernels or
        solver=lucas-kanade
    window_sigma: Sigma of the Gaussian weights of the window. 0.1 to 1000 pixels. Default 4. Needs
        window_weight=gaussian
    roi: Region in which flow is computed, as x,y,width,height; empty = the whole image
    confidence_threshold: Flow with a lower confidence is marked invalid. 0 to 1e+30. Default 0
    invalid: Value that is written where flow is invalid. Default nan
    deviation: Add a plane with the standard deviation of the flow in pixels. Default false
    objects: Moving objects that are found in each frame, the largest; 0 = off. 0 to 64. Default 0
    min_motion: Least motion of an object, and least motion that is drawn; more on large frames. 0
        to 1000 pixels per frame. Default 1
    min_motion_side: Shorter side of a frame from which on the least motion grows with the frame; 0
        = it is the same on every frame. 0 to 16384 pixels. Default 480
    min_deviations: Least motion of an object and of what is drawn, as a multiple of its standard
        deviation; 0 = any. 0 to 1000 standard deviations. Default 2
    min_area: Smaller objects are left out; 0 = 16 cells. 0 to 268435456 pixels. Default 0
    depth: Number of frames in flight; more frames give a higher rate and a longer latency. 1 to 8
        frames. Default 1
    priority: Which frames come first while those of several operators wait for one engine, or for
        one CUDA device. Default normal
    """
    ...
def halftone(
    image: ArrayLike,
    *,
    color: Optional[str] = ...,
    planes: Optional[Sequence[str]] = ...,
    gray_range: Optional[tuple[float, float]] = ...,
    backend: str = ...,
    workers: int = ...,
    realtime_priority: int = ...,
    engine_options: Optional[Mapping[str, OptionValue]] = ...,
    template: Union[str, PathLike[str]] = ...,
    preset: Literal["quality", "fast", "gray4", "gray16"] = ...,
    start: Literal["template", "input", "noise", "blue-noise", "error-diffusion"] = ...,
    seed: int = ...,
    warm_start: bool = ...,
    levels: int = ...,
    max_sweeps: int = ...,
    polarity: Literal["black", "white"] = ...,
    chroma: Literal["neutral", "keep"] = ...,
    depth: int = ...,
    priority: Literal["low", "normal", "high"] = ...,
) -> Picture:
    """An image of a few gray levels that looks like the given one: halftone(image, preset="gray16").

    template: Template to use in place of the preset: a name such as "hlf5", a template file, or a
        chain of these
    preset: Balance of quality and speed, and gray levels. Default quality. Needs an empty template
    start: Initial state of the first stage. Default template
    seed: Seed of the noise. 0 to 4294967295. Default 1. Needs start=noise
    warm_start: Start each frame from the result of the frame before; for halftones, and for
        templates whose cells follow the frame from any initial state. Default false
    levels: Number of gray levels of the result, at least 2; 0 = as the template defines. 0 to 256.
        Default 0. Needs a template; the presets have levels of their own
    max_sweeps: Maximum number of sweeps of a frame, over all stages and passes; the record of a
        frame that it ends is not finished. 1 to 1000000 sweeps. Default 4096
    polarity: Color that a cell of +1 stands for. Default black
    chroma: Color of the output picture, if its format has color. Default neutral
    depth: Number of frames in flight; more frames give a higher rate and a longer latency. 1 to 8
        frames. Default 1
    priority: Which frames come first while those of several operators wait for one engine, or for
        one CUDA device. Default normal
    """
    ...
def restore(
    image: ArrayLike,
    *,
    color: Optional[str] = ...,
    planes: Optional[Sequence[str]] = ...,
    gray_range: Optional[tuple[float, float]] = ...,
    backend: str = ...,
    workers: int = ...,
    realtime_priority: int = ...,
    engine_options: Optional[Mapping[str, OptionValue]] = ...,
    filter: Union[str, PathLike[str]] = ...,
    border: Literal["reflect", "replicate", "zero"] = ...,
    schedule: Literal["auto", "recursion", "frequency"] = ...,
    depth: int = ...,
    priority: Literal["low", "normal", "high"] = ...,
) -> Picture:
    """An image without its blur: restore(image, filter="lens.ocellus"). Of an image of shape (height, width, 3),
    in RGB or as `color` says, the luma is restored and the color kept.

    filter: Filter file (*.ocellus), or a filter of the library: gaussian-1, gaussian-1.5,
        gaussian-2. Default gaussian-1
    border: What lies beyond the image. Default reflect
    schedule: How the result is computed. Default auto
    depth: Number of frames in flight; more frames give a higher rate and a longer latency. 1 to 8
        frames. Default 1
    priority: Which frames come first while those of several operators wait for one engine, or for
        one CUDA device. Default normal
    """
    ...
def digits(
    image: ArrayLike,
    *,
    color: Optional[str] = ...,
    planes: Optional[Sequence[str]] = ...,
    gray_range: Optional[tuple[float, float]] = ...,
    backend: str = ...,
    workers: int = ...,
    realtime_priority: int = ...,
    engine_options: Optional[Mapping[str, OptionValue]] = ...,
    model: Union[str, PathLike[str]] = ...,
    layout: Literal["find", "boxes", "tiles"] = ...,
    fields: Union[str, PathLike[str]] = ...,
    tile_width: int = ...,
    tile_height: int = ...,
    ink: Literal["auto", "dark", "light"] = ...,
    min_height: int = ...,
    max_height: int = ...,
    max_characters: int = ...,
    min_confidence: float = ...,
    max_active: float = ...,
    depth: int = ...,
    priority: Literal["low", "normal", "high"] = ...,
) -> Result:
    """The digits in an image: `text` is what was read, and `record` has boxes and confidences.

    model: Model file (*.ocellus), or a model of the library: digits-small or digits. Default
        digits-small
    layout: Where the characters are. Default find
    fields: Fields with text or boxes of characters, x,y,width,height in pixels with ; between them;
        @FILE: a file with one on each line, and comments after #; empty: the whole frame. Needs
        layout=find or boxes
    tile_width: Width of a tile. 8 to 1024 pixels. Default 28. Needs layout=tiles
    tile_height: Height of a tile. 8 to 1024 pixels. Default 28. Needs layout=tiles
    ink: Gray levels of the ink. Default auto
    min_height: Smallest height of a character; 0: 1/48 of the shorter side of the field, at least
        8. 0 to 16384 pixels. Default 0. Needs layout=find or boxes
    max_height: Largest height of a character; 0: the height of the field. 0 to 16384 pixels.
        Default 0. Needs layout=find or boxes
    max_characters: Characters of a frame that are read, with layout=tiles at most 64; 0: 64 for
        each field, in all at most 512. 0 to 512. Default 0
    min_confidence: Characters of less confidence are rejected. 0 to 1. Default 0.5
    max_active: Cells of a layer that may be active, as a share of all: bounds the time of a
        character. 0.01 to 1. Default 0.25
    depth: Number of frames in flight; more frames give a higher rate and a longer latency. 1 to 8
        frames. Default 1
    priority: Which frames come first while those of several operators wait for one engine, or for
        one CUDA device. Default normal
    """
    ...
