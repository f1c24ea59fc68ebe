"""What the tests of the Python package share. A test that cannot run prints "skipped: " and a reason."""
import ctypes
import os
import re
import subprocess
import sys
import unittest


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


try:
    import numpy as np
except ImportError:
    skip("NumPy was not found (python3-numpy)")
if sys.version_info < (3, 10):
    skip(f"the package needs Python 3.10 or later, this is {sys.version.split()[0]}")
# Under an emulator, other processes need its script in place of the interpreter.
sys.executable = os.environ.get("OCELLUS_TEST_PYTHON", sys.executable)


def environment(name):
    """A path that CMake gives to the test."""
    return os.environ["OCELLUS_TEST_" + name]


def moving_frames(width, height, count, u, v):
    """Gray frames of a smooth texture that moves by (u, v) pixels from frame to frame."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    frames = []
    for time in range(count):
        px, py = x - u * time, y - v * time
        wave = np.sin(0.21 * px + 0.07 * py) + np.sin(0.05 * px - 0.17 * py) + np.sin(-0.12 * px + 0.19 * py)
        frames.append(np.round(128 + 40 * wave).astype(np.uint8))
    return frames


def layouts(program):
    """What a program of layouts printed: {struct: (number, {member: (offset, size)})}."""
    found = {}
    for line in subprocess.run([program], check=True, capture_output=True, text=True).stdout.split("\n"):
        if not line:
            continue
        name, number, *members = line.split()
        fields = {}
        for member in members:
            field, offset, size = member.split(":")
            fields[field] = (int(offset), int(size))
        found[name] = (int(number), fields)
    return found


def layout_of(struct):
    """The same of a struct of ctypes, with the members of its bases."""
    members = [member for kind in reversed(struct.__mro__) for member in vars(kind).get("_fields_", ())]
    return {name: (getattr(struct, name).offset, getattr(struct, name).size) for name, *_ in members}


def structs_of(module):
    """The structs of a module by their names in C: CEngineConfig is ocellus_engine_config."""
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, ctypes.Structure)]
    return {
        "ocellus" + re.sub("([A-Z])", r"_\1", kind.__name__[1:]).lower(): kind
        for kind in kinds
        if kind is not ctypes.Structure
    }


def main():
    unittest.main(verbosity=2)
