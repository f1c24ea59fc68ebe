"""vcpkg.json and conanfile.py: they can be read, have the version of the project, and name the libraries that CMake looks for."""
import ast
import json
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CMAKE = (ROOT / "CMakeLists.txt").read_text()
VERSION = re.search(r"project\(ocellus VERSION ([0-9.]+)", CMAKE).group(1)
# Packages of find_package and headers, by the names of vcpkg and of Conan.
LIBRARY = {"tl-expected": ("tl-expected", "tl-expected"), "hwy": ("highway", "highway"), "Eigen3": ("eigen3", "eigen")}
PROGRAM = {"CLI11": "cli11", "nlohmann_json": "nlohmann-json", "fmt": "fmt", "PNG": "libpng", "JPEG": "libjpeg-turbo", "ZLIB": "zlib"}


def found_in(folder):
    text = (ROOT / folder / "CMakeLists.txt").read_text()
    return set(re.findall(r"find_package\((\S+)", text))


class Manifests(unittest.TestCase):
    # Fails when vcpkg.json is no JSON, has another version, or lacks a library that a build needs.
    def test_vcpkg(self):
        manifest = json.loads((ROOT / "vcpkg.json").read_text())
        self.assertEqual(manifest["version"], VERSION)
        named = {name for name in manifest["dependencies"] if isinstance(name, str)}
        self.assertLessEqual({LIBRARY[name][0] for name in found_in("lib")}, named)
        self.assertLessEqual({PROGRAM[name] for name in found_in("apps")}, set(manifest["features"]["apps"]["dependencies"]))
        self.assertLessEqual({"flatbuffers", "xxhash"}, named)

    # Fails when conanfile.py has an error of syntax, lacks a library, or sets an option that CMakeLists.txt does not have.
    def test_conan(self):
        text = (ROOT / "conanfile.py").read_text()
        tree = ast.parse(text)
        recipe = next(node for node in tree.body if isinstance(node, ast.ClassDef))
        methods = {node.name for node in recipe.body if isinstance(node, ast.FunctionDef)}
        self.assertLessEqual({"set_version", "requirements", "generate", "build", "package"}, methods)
        named = set(re.findall(r'self\.requires\("([a-z-]+)/', text))
        self.assertLessEqual({LIBRARY[name][1] for name in found_in("lib")} | {"flatbuffers", "xxhash"}, named)
        options = CMAKE + (ROOT / "toolchains/cmake/OcellusGpus.cmake").read_text()
        for option in re.findall(r'"(OCELLUS_[A-Z_]+)"', text):
            self.assertIn(option, options)
        for name in re.findall(r'"([^"*]+)(?:/\*)?"', re.search(r"exports_sources = (.*)", text).group(1)):
            self.assertTrue((ROOT / name).exists(), name)

    # Fails when a Dockerfile copies a file that the tree does not have.
    def test_dockerfiles(self):
        files = list((ROOT / "toolchains/docker").glob("*.Dockerfile"))
        self.assertEqual(len(files), 2)
        for file in files:
            for source in re.findall(r"^COPY (\S+)", file.read_text(), re.MULTILINE):
                if not source.startswith("build/"):  # made by ./run package
                    self.assertTrue((ROOT / source).exists(), f"{file.name}: {source}")


if __name__ == "__main__":
    unittest.main()
