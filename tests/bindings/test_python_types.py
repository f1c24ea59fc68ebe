"""The types of the Python package, as mypy finds them: the package, the examples, the program in the documentation,
and options that are right and wrong. Comments say how a test would fail."""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import python_support as support

if importlib.util.find_spec("mypy") is None:
    support.skip("mypy was not found (mypy)")

PACKAGE = pathlib.Path(support.environment("PACKAGE"))
ROOT = PACKAGE.parent.parent
USE = """\
import pathlib
import numpy as np
import ocellus
frame = np.zeros((48, 64), np.uint8)
name = str(input())
options = {"window": 9, "preset": "fast"}
"""
RIGHT = """\
with ocellus.Operator("flow", (64, 48), window=9, preset="fast", backend="cpu") as flow: flow(frame).u.sum()
def use(flow: ocellus.Operator) -> int: return int(flow(frame).record["count"])
use(flow)
ocellus.Operator(name, (64, 48), workers=1)
ocellus.flow(frame, frame, sigma_space=2, roi="0,0,8,8", planes=["u"])
ocellus.apply("restore", frame, filter=pathlib.Path("lens.ocellus"), color="rgb")
"""
WRONG = """\
ocellus.Operator("flow", (64, 48), windw=9)
ocellus.Operator("flow", (64, 48), preset="fst")
ocellus.Operator("digits", (64, 48), window=9)
ocellus.flow(frame, frame, window="9")
ocellus.restore(frame, fliter="lens.ocellus")
ocellus.apply("cnn", frame, templat="edge")
"""


def mypy(*arguments):
    """Status and output."""
    run = subprocess.run(
        [sys.executable, "-B", "-m", "mypy", *arguments],
        env={**os.environ, "MYPYPATH": str(PACKAGE), "MYPY_CACHE_DIR": CACHE.name},
        cwd=CACHE.name,
        capture_output=True,
        text=True,
    )
    return run.returncode, run.stdout + run.stderr


def setUpModule():
    global CACHE
    CACHE = tempfile.TemporaryDirectory()


def tearDownModule():
    CACHE.cleanup()


class Types(unittest.TestCase):
    # Only PyGObject has no types.
    def check(self, *files):
        status, text = mypy("--strict", "--ignore-missing-imports", *map(str, files))
        self.assertEqual(status, 0, text)

    def written(self, name, text):
        path = pathlib.Path(CACHE.name, name)
        path.write_text(text)
        return path

    # Fails when a function of the package, an example or the documentation's program has a wrong type.
    def test_package_examples_and_documentation(self):
        programs = re.findall("```python\n(.*?)```", (ROOT / "docs" / "bindings.md").read_text(), re.DOTALL)
        self.assertTrue(programs)
        examples = sorted((ROOT / "examples").glob("*.py"))
        self.assertTrue(examples)
        self.check(PACKAGE / "ocellus")
        for example in examples:
            self.check(example)
        for number, program in enumerate(programs):
            self.check(self.written(f"program{number}.py", program))

    # Fails when an option that exists is refused, or a wrong name or value is accepted.
    def test_options(self):
        self.check(self.written("right.py", USE + RIGHT))
        _, text = mypy("--strict", str(self.written("wrong.py", USE + WRONG)))
        first = USE.count("\n") + 1
        found = {int(number) for number in re.findall(r"^wrong\.py:(\d+): error", text, re.MULTILINE)}
        self.assertEqual(found, set(range(first, first + WRONG.count("\n"))), text)


if __name__ == "__main__":
    support.main()
