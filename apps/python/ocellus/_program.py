"""Training and identification, which take seconds to hours: they run the program `ocellus`.

The program tells its progress on the terminal, and Ctrl-C ends it: no file is half written then.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._library import Error, Status, invalid

PathLike = Union[str, "os.PathLike[str]"]


def _run(*arguments: str, options: dict[str, Any]) -> dict[str, Any]:
    """Runs a command with --json. OCELLUS_PROGRAM names the program; default: `ocellus` in PATH."""
    words = [os.environ.get("OCELLUS_PROGRAM", "ocellus"), *arguments, "--json"]
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is not False:
            words += [option] if value is True else [option, str(value)]
    try:
        program = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    except FileNotFoundError:
        raise Error(
            Status.SYSTEM, f"the program {words[0]} was not found; set OCELLUS_PROGRAM to its path"
        ) from None
    with program:
        try:
            text = program.communicate()[0]
        except BaseException:  # KeyboardInterrupt; leaving the block waits until the program has cleaned up
            program.terminate()
            raise
    if program.returncode != 0:
        raise Error(Status.SYSTEM, f"{' '.join(words[:3])} ended with {program.returncode}; it printed why")
    found: dict[str, Any] = json.loads(text)
    return found


def _write_idx(path: Path, array: NDArray[np.uint8]) -> None:
    path.write_bytes(struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes())


def _write_pgm(path: Path, image: ArrayLike) -> None:
    array = np.ascontiguousarray(image)
    if array.ndim != 2 or array.dtype != np.uint8:
        raise invalid(f"an image is {array.dtype}{list(array.shape)}; it must be gray: uint8 [height, width]")
    path.write_bytes(b"P5 %d %d 255\n" % array.shape[::-1] + array.tobytes())


def train_digits(images: ArrayLike, labels: ArrayLike, output: PathLike, **options: Any) -> dict[str, Any]:
    """Learns characters, writes the model file `output` and returns the report.

    images: uint8, [count, height, width], one character each; labels: 0 to 255
    options: those of `ocellus train digits`: from_="digits-small", references=500, kill_losers=True

    For an operator: `Operator("digits", size, model=output)`.
    """
    pixels, classes = np.asarray(images), np.asarray(labels)
    if pixels.ndim != 3 or pixels.dtype != np.uint8 or classes.shape != pixels.shape[:1]:
        raise invalid(
            f"images is {pixels.dtype}{list(pixels.shape)} and labels {list(classes.shape)}; they must be uint8 "
            "[count, height, width] and [count]"
        )
    if classes.size > 0 and not 0 <= classes.min() <= classes.max() <= 255:
        raise invalid(f"labels are {classes.min()} to {classes.max()}; they must be 0 to 255")
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "images"), Path(folder, "labels")
        _write_idx(files[0], pixels)
        _write_idx(files[1], classes.astype(np.uint8))
        options = {name.rstrip("_"): value for name, value in options.items()}
        names = ["--images", str(files[0]), "--labels", str(files[1]), "-o", os.fspath(output)]
        return _run("train", "digits", *names, options=options)


def identify(degraded: ArrayLike, sharp: ArrayLike, output: PathLike, **options: Any) -> dict[str, Any]:
    """Makes the filter that restores one picture to the other, writes the file `output` and returns the report.

    options: those of `ocellus identify`: support=9, fragment="0,0,256,256"

    For an operator: `restore(image, filter=output)`.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "degraded.pgm"), Path(folder, "sharp.pgm")
        _write_pgm(files[0], degraded)
        _write_pgm(files[1], sharp)
        names = ["--degraded", str(files[0]), "--sharp", str(files[1]), "-o", os.fspath(output)]
        return _run("identify", *names, options=options)
