"""toolchains/wheel makes a wheel without a network and a compiler, pip installs it, and the installed package
finds the library that lies in its folder."""
import importlib.util
import os
import pathlib
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
            target = pathlib.Path(folder, "target")
            clean = {"PATH": "/usr/bin:/bin", "HOME": folder, "CC": "false", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
            script = pathlib.Path(support.environment("PACKAGE")).parent.parent / "toolchains" / "wheel"
            subprocess.run([script, os.environ["OCELLUS_LIBRARY"], folder], env={**clean, "PYTHON": sys.executable}, check=True)
            wheels = [path.name for path in pathlib.Path(folder).glob("*.whl")]
            self.assertEqual(len(wheels), 1, wheels)
            self.assertRegex(wheels[0], r"^ocellus-[0-9.]+-py3-none-linux_\w+\.whl$")
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
            subprocess.run([*pip, "--target", target, pathlib.Path(folder, wheels[0])], env=clean, check=True)
            self.assertTrue((target / "ocellus" / "py.typed").exists())
            self.assertTrue((target / "ocellus" / "__init__.pyi").exists())
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
