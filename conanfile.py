"""Ocellus for Conan 2: the library without the program, the elements and the tests."""
import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout


class Ocellus(ConanFile):
    name = "ocellus"
    description = "Real-time vision operators of known cost for cameras"
    license = "Apache-2.0"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "cuda": [True, False]}
    default_options = {"shared": False, "cuda": False}
    exports_sources = "CMakeLists.txt", "LICENSE", "lib/*", "kernels/*", "toolchains/*"

    def set_version(self):
        text = (Path(self.recipe_folder) / "CMakeLists.txt").read_text()
        self.version = re.search(r"project\(ocellus VERSION ([0-9.]+)", text).group(1)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)

    def requirements(self):
        self.requires("highway/[>=1.0.3 <2]")
        self.requires("tl-expected/[>=1.0 <2]", transitive_headers=True)
        self.requires("flatbuffers/[>=2.0]", visible=False)
        self.requires("xxhash/[>=0.8 <1]", visible=False)
        self.requires("eigen/[>=3.4 <4]", visible=False)

    def build_requirements(self):
        self.tool_requires("flatbuffers/<host_version>")
        self.tool_requires("cmake/[>=3.25]")

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "BUILD_SHARED_LIBS": bool(self.options.shared),
            "OCELLUS_CUDA": "ON" if self.options.cuda else "OFF",
            "OCELLUS_GPUS": "all",
            "OCELLUS_GSTREAMER": "OFF",
            "OCELLUS_OPENCV": "OFF",
            "OCELLUS_APPS": "OFF",
            "OCELLUS_TESTS": "OFF",
            "OCELLUS_INSTALL": "ON",
        })
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # The package of CMake that the build installs.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/ocellus"]
