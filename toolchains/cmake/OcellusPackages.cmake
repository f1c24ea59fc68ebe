# Debian packages, made by `cpack` from the install components (preset `package`).
set(version ${OCELLUS_SOVERSION})
set(OCELLUS_PACKAGE_MAINTAINER "Ocellus maintainers <maintainers@ocellus.invalid>" CACHE STRING "Who makes the packages: NAME <ADDRESS>")
set(CPACK_PACKAGE_NAME ocellus)
set(CPACK_PACKAGE_VENDOR Ocellus)
set(CPACK_PACKAGE_CONTACT "${OCELLUS_PACKAGE_MAINTAINER}")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL "")
set(own "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")

# The files that every package has.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${PROJECT_BINARY_DIR}/packages/changelog
  "ocellus (${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n  * Version ${PROJECT_VERSION}.\n\n -- ${OCELLUS_PACKAGE_MAINTAINER}  ${date}\n")
file(WRITE ${PROJECT_BINARY_DIR}/packages/copyright
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Ocellus

Files: *
Copyright: (C) the authors of Ocellus
License: Apache-2.0
 On Debian systems, the text of the license is in /usr/share/common-licenses/Apache-2.0.
Comment:
 Code of other libraries is compiled in. Their licenses are in the file third-party of this folder.
")
set(third_party "")
foreach(library libcli11-dev libeigen3-dev libexpected-dev libflatbuffers-dev libxxhash-dev nlohmann-json3-dev)
  file(READ /usr/share/doc/${library}/copyright license)
  string(APPEND third_party "Code of the headers of ${library}\n\n${license}\n\n")
endforeach()
if(OCELLUS_CUDA_FOUND)
  string(APPEND third_party "The CUDA runtime library (cudart_static), (C) NVIDIA Corporation, under the license agreement of the CUDA toolkit, "
    "which lists it as redistributable: https://docs.nvidia.com/cuda/eula/\n")
endif()
file(WRITE ${PROJECT_BINARY_DIR}/packages/third-party "${third_party}")
execute_process(COMMAND gzip -9nkf ${PROJECT_BINARY_DIR}/packages/changelog COMMAND_ERROR_IS_FATAL ANY)

# The loader's cache is updated once, at the end of an installation.
file(WRITE ${PROJECT_BINARY_DIR}/packages/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/packages/triggers)
set(CPACK_DEBIAN_C_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/packages/triggers)

# ocellus_package(<component> <package> <section> <summary> <text> [DEPENDS <package>...] [RECOMMENDS <package>...] [ALL])
# ALL: for every processor, without compiled files.
function(ocellus_package component package section summary text)
  cmake_parse_arguments(PARSE_ARGV 5 argument "ALL" "" "DEPENDS;RECOMMENDS")
  string(TOUPPER ${component} COMPONENT)
  list(JOIN argument_DEPENDS ", " depends)
  list(JOIN argument_RECOMMENDS ", " recommends)
  install(FILES ${PROJECT_BINARY_DIR}/packages/copyright ${PROJECT_BINARY_DIR}/packages/third-party ${PROJECT_BINARY_DIR}/ocellus.spdx.json
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package} COMPONENT ${component})
  install(FILES ${PROJECT_BINARY_DIR}/packages/changelog.gz RENAME changelog.Debian.gz
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package} COMPONENT ${component})
  set(prefix CPACK_DEBIAN_${COMPONENT})
  set(${prefix}_PACKAGE_NAME ${package} PARENT_SCOPE)
  set(${prefix}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(${prefix}_DESCRIPTION "${summary}\n${text}" PARENT_SCOPE)
  set(${prefix}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
  set(${prefix}_PACKAGE_RECOMMENDS "${recommends}" PARENT_SCOPE)
  if(argument_ALL)
    set(${prefix}_PACKAGE_ARCHITECTURE all PARENT_SCOPE)
  else()
    set(${prefix}_PACKAGE_SHLIBDEPS ON PARENT_SCOPE)
  endif()
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)
endfunction()

set(operators "Ocellus computes optical flow, halftones, restorations of blurred images,
handwritten digits and classes of images, frame by frame, on the CPU or on a
CUDA device. It takes its memory before the first frame.")
ocellus_package(library libocellus${version} libs "real-time vision operators for cameras" "${operators}

This package has the shared library and its models.")
ocellus_package(c libocellus-c${version} libs "real-time vision operators for cameras, C interface" "${operators}

This package has the shared library with the C interface, and its models.")
ocellus_package(dev libocellus-dev libdevel "real-time vision operators for cameras, development files" "${operators}

This package has the headers, the CMake package and the pkg-config files.
It also has the static libraries for drawing, training and identification."
  DEPENDS "libocellus${version} ${own}" "libocellus-c${version} ${own}" libhwy-dev libexpected-dev)
if(TARGET gstocellus)
  ocellus_package(gst-plugins gstreamer1.0-ocellus libs "real-time vision operators for cameras, GStreamer elements" "${operators}

This package has the elements ocellusflow, ocellusfilter, ocellushalftone,
ocelluscnn, ocellusrestore, ocellusdigits, ocelluscortex and ocellusnetwork."
    DEPENDS "libocellus${version} ${own}" RECOMMENDS gstreamer1.0-plugins-base)
endif()
if(TARGET ocellus-program)
  ocellus_package(tools ocellus-tools graphics "real-time vision operators for cameras, program" "${operators}

This package has the program ocellus. It runs the operators on images, videos
and cameras, measures their latency, and trains models. The program
ocellus-bench, which ocellus bench starts, compares their speed with the
limits of the machine."
    DEPENDS "libocellus${version} ${own}" RECOMMENDS gstreamer1.0-plugins-good)
endif()
if(OCELLUS_PYTHON_DIR)
  ocellus_package(python python3-ocellus python "real-time vision operators for cameras, Python package" "${operators}

This package has the Python package, which needs the C interface."
    ALL DEPENDS "libocellus-c${version} (>= ${PROJECT_VERSION})" python3:any python3-numpy)
  # Python's own tools compile the modules, and remove what they wrote.
  set(scripts ${PROJECT_BINARY_DIR}/packages/python)
  file(WRITE ${scripts}/postinst "#!/bin/sh\nset -e\nif [ \"$1\" = configure ] && command -v py3compile >/dev/null; then py3compile -p python3-ocellus; fi\n")
  file(WRITE ${scripts}/prerm "#!/bin/sh\nset -e\nif command -v py3clean >/dev/null; then py3clean -p python3-ocellus; fi\n")
  file(CHMOD ${scripts}/postinst ${scripts}/prerm PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA "${scripts}/postinst;${scripts}/prerm")
endif()
include(CPack)
