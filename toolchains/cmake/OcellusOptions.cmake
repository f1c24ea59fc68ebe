# Compiler flags, optional dependencies, and the summary of the configuration.
find_package(Threads REQUIRED GLOBAL)

# Flags of all targets of this project. They are an interface target, so that a parent project does
# not inherit them.
add_library(ocellus_options INTERFACE)
target_compile_options(ocellus_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wundef -Wformat-security -Wdate-time>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
# A product and a sum are one operation only where the code says so. By default, compilers fuse some of them and not others, also
# in two copies of one inlined function. Then a result depends on the compiler, on the instruction set and on the number of workers.
target_compile_options(ocellus_options INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 reports false warnings in inlined code of the standard library: an overlap in "text" +
  # std::string() (GCC bug 105651), and a read of an empty std::optional.
  target_compile_options(ocellus_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict -Wno-maybe-uninitialized>)
endif()
if(OCELLUS_WERROR)
  target_compile_options(ocellus_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror> $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
endif()
if(OCELLUS_SANITIZE)
  # Converting a number, such as NaN, to an integer type that cannot represent it is undefined, too.
  # `undefined` does not include this check.
  set(sanitizers ${OCELLUS_SANITIZE})
  if(sanitizers MATCHES "(^|,)undefined(,|$)")
    string(APPEND sanitizers ",float-cast-overflow")
  endif()
  target_compile_options(ocellus_options INTERFACE
    # The vptr check needs run-time type information, which the library does not have.
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${sanitizers} -fno-sanitize=vptr -fno-sanitize-recover=all -fno-omit-frame-pointer>)
  target_link_options(ocellus_options INTERFACE -fsanitize=${sanitizers})
endif()

# ocellus_sanitize_unoptimized([<target>]): for a target, or all targets of a folder, that compute
# little. Optimizing the code that sanitizers add triples the compile time.
macro(ocellus_sanitize_unoptimized)
  if(OCELLUS_SANITIZE AND NOT OCELLUS_SANITIZE MATCHES "fuzzer")
    if(${ARGC} GREATER 0)
      target_compile_options(${ARGV0} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-O0>)
    else()
      add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-O0>)
    endif()
  endif()
endmacro()

# ocellus_precompile(<target> [REUSE_FROM <target>] | <header>...): precompiles headers that most
# files of a target include. With GCC, -fpch-preprocess keeps the #pragma of the precompiled header
# in the preprocessed output, which ccache needs.
function(ocellus_precompile target)
  if(ARGV1 STREQUAL "REUSE_FROM")
    target_precompile_headers(${target} REUSE_FROM ${ARGV2})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endfunction()

# ocellus_optimize_less(<target>): for code that is not time-critical. -O3 would increase its
# compile time by half.
function(ocellus_optimize_less target)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # At this level, GCC 12 assumes that a std::string has only its internal buffer.
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds -Wno-stringop-overflow>)
    endif()
  endif()
endfunction()

# ocellus_compile_together(<target>): compiles the files of a target in groups. Most of their compile
# time is the instances of the same templates (JSON, command line), which a group makes once. GCC takes
# each file of a group for a header: a class with external linkage must have no member whose type is in
# an unnamed namespace. Two files of a target must not define the same name in it, because groups change;
# toolchains/compile-sources makes one group of all files.
function(ocellus_compile_together target)
  set(size 6)
  if(DEFINED CMAKE_UNITY_BUILD_BATCH_SIZE)
    set(size ${CMAKE_UNITY_BUILD_BATCH_SIZE})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
endfunction()

# ocellus_compile_folders_together(<target>): the same with one group for each folder, so that only the files of a folder must not
# define the same names. Files with code for several instruction sets stay alone, because they include themselves, and so do users
# of FlatBuffers, because tests/realtime/check_symbols.sh looks at their objects in another way. A shared library that exports no
# internals stays as it is, because other targets take single objects of it.
function(ocellus_compile_folders_together target)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "SHARED_LIBRARY" AND NOT OCELLUS_EXPORT_INTERNALS)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  get_target_property(base ${target} SOURCE_DIR)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${base})
    if(NOT source MATCHES "[.]cpp$" OR NOT EXISTS ${source})
      continue()
    endif()
    file(STRINGS ${source} alone REGEX "foreach_target[.]h|_generated[.]h|core/model_writer[.]h" LIMIT_COUNT 1)
    if(NOT alone)
      cmake_path(GET source PARENT_PATH folder)
      cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
      string(MAKE_C_IDENTIFIER "${folder}" group)
      set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${group})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# Hardening of installed files. Calls of the C library check the size of their target (FORTIFY), and
# a stack overflow ends the program. Relocation tables are read-only, jumps reach only starts of
# functions, and the program has a random address. Sanitizers detect more and are incompatible with
# some of these.
if(OCELLUS_HARDENING AND NOT OCELLUS_SANITIZE)
  include(CheckCXXCompilerFlag)
  include(CheckPIESupported)
  check_pie_supported()
  # without optimization, the C library warns about FORTIFY
  set(optimized "$<CONFIG:Release,RelWithDebInfo,MinSizeRel>")
  # Level 3 of FORTIFY also uses sizes that are known only at run time.
  set(fortify 2)
  if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12) OR
     (CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12))
    set(fortify 3)
  endif()
  target_compile_options(ocellus_options INTERFACE
    "$<$<AND:$<COMPILE_LANGUAGE:C,CXX>,${optimized}>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=${fortify}>")
  set(hardening -fstack-protector-strong -fstack-clash-protection)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|i[3-6]86)$")
    list(APPEND hardening -fcf-protection=full)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    list(APPEND hardening -mbranch-protection=standard)
  endif()
  foreach(flag IN LISTS hardening)
    string(MAKE_C_IDENTIFIER "OCELLUS_HAVE${flag}" variable)
    check_cxx_compiler_flag(${flag} ${variable})
    if(${variable})
      target_compile_options(ocellus_options INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:${flag}> $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${flag}>)
    endif()
  endforeach()
  target_link_options(ocellus_options INTERFACE LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
endif()

# Release builds are reproducible and contain no path of this machine. Builds with debugging
# information keep the paths, by which a debugger finds the sources.
set(nowhere "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=." "-ffile-prefix-map=${PROJECT_BINARY_DIR}=./build")
foreach(flag IN LISTS nowhere)
  target_compile_options(ocellus_options INTERFACE "$<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<CONFIG:Release,MinSizeRel>>:${flag}>"
    "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<CONFIG:Release,MinSizeRel>>:-Xcompiler=${flag}>")
endforeach()

# Flags for the self-contained folder. The library is shared by all programs. The C++ library and
# the compiler's library are linked statically. Other shared libraries are found by relative paths.
# --disable-new-dtags makes the search path apply to indirect dependencies, too.
set(OCELLUS_FMT fmt::fmt)
if(OCELLUS_PACKAGES)
  # The shared library of fmt has another name in each release of a distribution.
  set(OCELLUS_FMT fmt::fmt-header-only)
endif()
if(OCELLUS_FOLDER)
  set(BUILD_SHARED_LIBS ON)
  set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")
  set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
  add_link_options(-static-libstdc++ -static-libgcc "LINKER:--disable-new-dtags,--gc-sections,--exclude-libs,ALL")
  # Exceptions must not pass between two copies of the C++ library.
  set(OCELLUS_FMT fmt::fmt-header-only)
endif()

# ocellus_optional(<option> <found?> <what is missing>): sets <option>_FOUND. With ON, it is an
# error if the dependency is missing.
function(ocellus_optional option found what)
  if(${option} STREQUAL "OFF")
    set(${option}_FOUND FALSE PARENT_SCOPE)
  elseif(found)
    set(${option}_FOUND TRUE PARENT_SCOPE)
  elseif(${option} STREQUAL "ON")
    message(FATAL_ERROR "${option}=ON, but ${what} was not found")
  else()
    set(${option}_FOUND FALSE PARENT_SCOPE)
  endif()
endfunction()

set(gst_found FALSE)
if(NOT OCELLUS_GSTREAMER STREQUAL "OFF")
  find_package(PkgConfig)
  if(PkgConfig_FOUND)
    pkg_check_modules(GST IMPORTED_TARGET gstreamer-1.0>=1.20 gstreamer-base-1.0>=1.20 gstreamer-video-1.0>=1.20
                      gstreamer-app-1.0>=1.20)
  endif()
  if(GST_FOUND)
    set(gst_found TRUE)
  endif()
endif()
ocellus_optional(OCELLUS_GSTREAMER "${gst_found}"
  "GStreamer 1.20 with pkg-config (libgstreamer1.0-dev, libgstreamer-plugins-base1.0-dev, pkg-config)")

# OpenCV's package for CMake is part of libopencv-dev, which depends on 150 packages. Three modules
# are enough here.
set(opencv_found FALSE)
if(NOT OCELLUS_OPENCV STREQUAL "OFF")
  find_path(OCELLUS_OPENCV_INCLUDE opencv2/video/tracking.hpp PATH_SUFFIXES opencv4)
  foreach(module core imgproc video)
    find_library(OCELLUS_OPENCV_${module} opencv_${module})
  endforeach()
  mark_as_advanced(OCELLUS_OPENCV_INCLUDE OCELLUS_OPENCV_core OCELLUS_OPENCV_imgproc OCELLUS_OPENCV_video)
  if(OCELLUS_OPENCV_INCLUDE AND OCELLUS_OPENCV_core AND OCELLUS_OPENCV_imgproc AND OCELLUS_OPENCV_video)
    set(opencv_found TRUE)
    add_library(ocellus_opencv INTERFACE)
    target_include_directories(ocellus_opencv SYSTEM INTERFACE ${OCELLUS_OPENCV_INCLUDE})
    target_link_libraries(ocellus_opencv INTERFACE ${OCELLUS_OPENCV_core} ${OCELLUS_OPENCV_imgproc} ${OCELLUS_OPENCV_video})
  endif()
endif()
ocellus_optional(OCELLUS_OPENCV "${opencv_found}" "OpenCV 4 (libopencv-video-dev)")

# The CUDA toolkit may be outside the search path.
set(cuda_found FALSE)
if(NOT OCELLUS_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(OCELLUS_NVCC nvcc HINTS /usr/local/cuda/bin)
    mark_as_advanced(OCELLUS_NVCC)
    if(OCELLUS_NVCC)
      set(CMAKE_CUDA_COMPILER ${OCELLUS_NVCC})
    endif()
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # CMake 3.25 fails without the target of this library, which CUDA 13 no longer has.
    if(NOT TARGET CUDA::nvToolsExt)
      add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
    endif()
    find_package(CUDAToolkit QUIET GLOBAL)
    if(CUDAToolkit_FOUND AND CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.2)
      set(cuda_found TRUE)
    endif()
  endif()
endif()
ocellus_optional(OCELLUS_CUDA "${cuda_found}" "the CUDA toolkit 12.2 or later (nvcc)")
if(OCELLUS_CUDA_FOUND)
  # CMake itself reads CUDAARCHS only when it configures a folder for the first time.
  set(ocellus_gpus_summary "CMAKE_CUDA_ARCHITECTURES or CUDAARCHS")
  if(NOT CMAKE_CUDA_ARCHITECTURES AND NOT "$ENV{CUDAARCHS}" STREQUAL "")
    set(CMAKE_CUDA_ARCHITECTURES "$ENV{CUDAARCHS}" CACHE STRING "GPU architectures")
  endif()
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    include(OcellusGpus)
    ocellus_gpu_architectures(${CMAKE_CUDA_COMPILER} CMAKE_CUDA_ARCHITECTURES ocellus_gpus_summary)
  endif()
  enable_language(CUDA)
  # CMake 3.25 has no C++20 flag for nvcc.
  if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
endif()

# GStreamer's CUDA library loads the driver at run time, and only its headers need the toolkit. Of
# the libraries in its pkg-config file, only this one is linked. The others are OpenGL, which is not
# used here.
set(gst_cuda_found FALSE)
if(OCELLUS_CUDA_FOUND AND OCELLUS_GSTREAMER_FOUND AND NOT OCELLUS_GST_CUDA STREQUAL "OFF")
  pkg_check_modules(GST_CUDA gstreamer-cuda-1.0>=1.22)
  find_library(OCELLUS_GSTCUDA gstcuda-1.0 HINTS ${GST_CUDA_LIBRARY_DIRS})
  mark_as_advanced(OCELLUS_GSTCUDA)
  if(GST_CUDA_FOUND AND OCELLUS_GSTCUDA)
    set(gst_cuda_found TRUE)
    add_library(ocellus_gstcuda INTERFACE)
    target_include_directories(ocellus_gstcuda SYSTEM INTERFACE ${GST_CUDA_INCLUDE_DIRS} ${CUDAToolkit_INCLUDE_DIRS})
    target_compile_definitions(ocellus_gstcuda INTERFACE GST_USE_UNSTABLE_API)
    target_link_libraries(ocellus_gstcuda INTERFACE ${OCELLUS_GSTCUDA} ${CMAKE_DL_LIBS})
  endif()
endif()
ocellus_optional(OCELLUS_GST_CUDA "${gst_cuda_found}"
  "one of its dependencies (gstreamer-cuda-1.0 of libgstreamer-plugins-bad1.0-dev, OCELLUS_CUDA, OCELLUS_GSTREAMER)")

set(gst_analytics_found FALSE)
if(OCELLUS_GSTREAMER_FOUND AND NOT OCELLUS_GST_ANALYTICS STREQUAL "OFF")
  pkg_check_modules(GST_ANALYTICS IMPORTED_TARGET gstreamer-analytics-1.0>=1.24)
  if(GST_ANALYTICS_FOUND)
    set(gst_analytics_found TRUE)
  endif()
endif()
ocellus_optional(OCELLUS_GST_ANALYTICS "${gst_analytics_found}"
  "one of its dependencies (gstreamer-analytics-1.0 1.24 of libgstreamer-plugins-bad1.0-dev, OCELLUS_GSTREAMER)")

if(OCELLUS_MPI)
  set(MPI_CXX_SKIP_MPICXX ON)  # the C interface is used
  find_package(MPI 3.1 REQUIRED COMPONENTS CXX)
endif()

function(ocellus_print_summary)
  if(NOT PROJECT_IS_TOP_LEVEL)
    return()
  endif()
  message(STATUS "")
  message(STATUS "ocellus ${PROJECT_VERSION} (${CMAKE_BUILD_TYPE})")
  foreach(part OCELLUS_CUDA OCELLUS_GSTREAMER OCELLUS_GST_CUDA OCELLUS_GST_ANALYTICS OCELLUS_OPENCV)
    message(STATUS "  ${part}: ${${part}} -> ${${part}_FOUND}")
  endforeach()
  if(OCELLUS_CUDA_FOUND)
    message(STATUS "  GPU code: ${CMAKE_CUDA_ARCHITECTURES} (${ocellus_gpus_summary})")
  endif()
  foreach(part OCELLUS_MPI OCELLUS_APPS OCELLUS_TESTS OCELLUS_BENCH OCELLUS_WERROR OCELLUS_HARDENING OCELLUS_SANITIZE)
    message(STATUS "  ${part}: ${${part}}")
  endforeach()
  message(STATUS "")
endfunction()
