# Cross-compilation for 64-bit ARM on Debian and Ubuntu. Headers and libraries are those of a root
# folder of ARM packages, which toolchains/aarch64-root makes. OCELLUS_AARCH64_ROOT, a CMake variable
# or one of the environment, names another folder.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES OCELLUS_AARCH64_ROOT)
if(NOT OCELLUS_AARCH64_ROOT)
  set(OCELLUS_AARCH64_ROOT "$ENV{OCELLUS_AARCH64_ROOT}")
endif()
if(NOT OCELLUS_AARCH64_ROOT)
  cmake_path(SET OCELLUS_AARCH64_ROOT NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-root")
endif()
set(OCELLUS_AARCH64_ROOT "${OCELLUS_AARCH64_ROOT}" CACHE PATH "Root folder of ARM packages")
if(NOT EXISTS "${OCELLUS_AARCH64_ROOT}/usr/lib/aarch64-linux-gnu/libc.so")
  message(FATAL_ERROR "The folder \"${OCELLUS_AARCH64_ROOT}\" is no root folder of ARM packages: make it with toolchains/aarch64-root, "
    "or set OCELLUS_AARCH64_ROOT to another one")
endif()

# Programs are those of the build machine; headers and libraries of the build machine are not found.
set(CMAKE_SYSROOT "${OCELLUS_AARCH64_ROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_PATH} "")
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${CMAKE_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR} "${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig")

# The C library of the root folder only: with a second one, programs with threads do not end.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L "${CMAKE_SYSROOT}")
