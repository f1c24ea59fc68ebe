# The software bill of materials (SPDX 2.3, JSON): Ocellus and the libraries that this build compiles in or links.
# It is ocellus.spdx.json of the build folder, and is installed with the headers and in each Debian package.

# The numbers of #define lines in a header, joined by dots: for libraries of headers only, whose packages tell no version.
function(ocellus_version_in header result)
  set(numbers "")
  foreach(name IN LISTS ARGN)
    file(STRINGS ${header} line REGEX "#define +${name} +[0-9]+" LIMIT_COUNT 1)
    if(line MATCHES "${name} +([0-9]+)")
      list(APPEND numbers ${CMAKE_MATCH_1})
    endif()
  endforeach()
  list(JOIN numbers . version)
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

# Versions that other folders have found are not known in this one.
foreach(package tl-expected hwy Eigen3 CLI11 fmt PNG JPEG ZLIB nlohmann_json)
  find_package(${package} QUIET)
endforeach()

set(packages "")
set(relations "")
# ocellus_material(<name> <version> <license> <home> <relation>): STATIC_LINK compiles it in, DYNAMIC_LINK needs it at run time.
function(ocellus_material name version license home relation)
  if(version STREQUAL "")
    set(version NOASSERTION)
  endif()
  string(APPEND packages ",
    {\"SPDXID\": \"SPDXRef-${name}\", \"name\": \"${name}\", \"versionInfo\": \"${version}\", \"downloadLocation\": \"${home}\",
     \"filesAnalyzed\": false, \"licenseConcluded\": \"NOASSERTION\", \"licenseDeclared\": \"${license}\", \"copyrightText\": \"NOASSERTION\"}")
  string(APPEND relations ",
    {\"spdxElementId\": \"SPDXRef-ocellus\", \"relationshipType\": \"${relation}\", \"relatedSpdxElement\": \"SPDXRef-${name}\"}")
  set(packages "${packages}" PARENT_SCOPE)
  set(relations "${relations}" PARENT_SCOPE)
endfunction()

ocellus_version_in(${OCELLUS_FLATBUFFERS_INCLUDE}/flatbuffers/base.h version FLATBUFFERS_VERSION_MAJOR FLATBUFFERS_VERSION_MINOR FLATBUFFERS_VERSION_REVISION)
ocellus_material(flatbuffers "${version}" Apache-2.0 https://github.com/google/flatbuffers STATIC_LINK)
ocellus_version_in(${OCELLUS_XXHASH_INCLUDE}/xxhash.h version XXH_VERSION_MAJOR XXH_VERSION_MINOR XXH_VERSION_RELEASE)
ocellus_material(xxhash "${version}" BSD-2-Clause https://github.com/Cyan4973/xxHash STATIC_LINK)
ocellus_material(tl-expected "${tl-expected_VERSION}" CC0-1.0 https://github.com/TartanLlama/expected STATIC_LINK)
ocellus_material(eigen "${Eigen3_VERSION}" MPL-2.0 https://gitlab.com/libeigen/eigen STATIC_LINK)
ocellus_material(highway "${hwy_VERSION}" "Apache-2.0 OR BSD-3-Clause" https://github.com/google/highway DYNAMIC_LINK)
if(OCELLUS_APPS)
  ocellus_material(cli11 "${CLI11_VERSION}" BSD-3-Clause https://github.com/CLIUtils/CLI11 STATIC_LINK)
  ocellus_material(fmt "${fmt_VERSION}" MIT https://github.com/fmtlib/fmt DYNAMIC_LINK)
  ocellus_material(libpng "${PNG_VERSION_STRING}" libpng-2.0 http://www.libpng.org/pub/png/libpng.html DYNAMIC_LINK)
  ocellus_material(libjpeg "${JPEG_VERSION}" IJG https://libjpeg-turbo.org DYNAMIC_LINK)
  ocellus_material(zlib "${ZLIB_VERSION_STRING}" Zlib https://zlib.net DYNAMIC_LINK)
endif()
if(OCELLUS_APPS OR OCELLUS_GSTREAMER_FOUND)
  ocellus_material(nlohmann-json "${nlohmann_json_VERSION}" MIT https://github.com/nlohmann/json STATIC_LINK)
endif()
if(OCELLUS_GSTREAMER_FOUND)
  ocellus_material(gstreamer "${GST_gstreamer-1.0_VERSION}" LGPL-2.1-or-later https://gstreamer.freedesktop.org DYNAMIC_LINK)
endif()
if(OCELLUS_CUDA_FOUND)
  ocellus_material(cuda-runtime "${CUDAToolkit_VERSION}" NOASSERTION https://docs.nvidia.com/cuda/eula STATIC_LINK)
endif()
if(OCELLUS_OPENCV_FOUND)  # the benchmarks
  ocellus_version_in(${OCELLUS_OPENCV_INCLUDE}/opencv2/core/version.hpp version CV_VERSION_MAJOR CV_VERSION_MINOR CV_VERSION_REVISION)
  ocellus_material(opencv "${version}" Apache-2.0 https://opencv.org DYNAMIC_LINK)
endif()
if(OCELLUS_MPI)
  ocellus_material(mpi "${MPI_CXX_VERSION}" NOASSERTION https://www.mpi-forum.org DYNAMIC_LINK)
endif()

string(TIMESTAMP created "%Y-%m-%dT%H:%M:%SZ" UTC)  # SOURCE_DATE_EPOCH sets it
string(SHA256 digest "${PROJECT_VERSION}${packages}${relations}")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/ocellus.spdx.json @ONLY CONTENT [[{
  "spdxVersion": "SPDX-2.3",
  "dataLicense": "CC0-1.0",
  "SPDXID": "SPDXRef-DOCUMENT",
  "name": "ocellus-@PROJECT_VERSION@",
  "documentNamespace": "https://ocellus.invalid/spdx/@PROJECT_VERSION@/@digest@",
  "creationInfo": {"created": "@created@", "creators": ["Tool: ocellus-build"]},
  "packages": [
    {"SPDXID": "SPDXRef-ocellus", "name": "ocellus", "versionInfo": "@PROJECT_VERSION@", "downloadLocation": "NOASSERTION",
     "filesAnalyzed": false, "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0", "copyrightText": "the authors of Ocellus"}@packages@
  ],
  "relationships": [
    {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-ocellus"}@relations@
  ]
}
]])
install(FILES ${PROJECT_BINARY_DIR}/ocellus.spdx.json DESTINATION ${CMAKE_INSTALL_DATADIR}/ocellus COMPONENT dev)
