"""pip installs the package without a network and a compiler, and the installed package finds a library that
lies in its folder."""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import python_support as support

for module, package in (("pip", "python3-pip"), ("setuptools", "python3-setuptools"), ("wheel", "python3-wheel")):
    if importlib.util.find_spec(module) is None:
        support.skip(f"the Python module {module} was not found ({package})")


class Install(unittest.TestCase):
    # Fails when a file of the package is not installed, or when installing needs something from the network.
    def test_pip(self):
        with tempfile.TemporaryDirectory() as folder:
            source, target = pathlib.Path(folder, "source"), pathlib.Path(folder, "target")
            shutil.copytree(
                support.environment("PACKAGE"), source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
            )
            shutil.copy(os.environ["OCELLUS_LIBRARY"], source / "ocellus" / "libocellus_c.so")
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation"]
            clean = {"PATH": "/usr/bin:/bin", "HOME": folder, "CC": "false", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
            subprocess.run([*pip, "--no-deps", "--target", target, source], env=clean, check=True)
            self.assertTrue((target / "ocellus" / "py.typed").exists())
            self.assertTrue((target / "ocellus" / "gst.py").exists())
            code = (
                "import ocellus, numpy\n"
                "u, v, confidence = ocellus.Operator('flow', size=(64, 48))(numpy.zeros((48, 64), numpy.uint8))\n"
                "print(u.shape, ocellus.library_path())"
            )
            run = subprocess.run(
                [sys.executable, "-c", code],
                env={**clean, "PYTHONPATH": str(target)},
                cwd=folder,
                check=True,
                capture_output=True,
                text=True,
            )
            self.assertEqual(run.stdout.strip(), f"(48, 64) {target / 'ocellus' / 'libocellus_c.so'}")


if __name__ == "__main__":
    support.main()
