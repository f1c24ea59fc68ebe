# Makes a folder that contains the program, the tests and their dependencies, for a machine with a
# GPU but without a toolkit.
#
#   cmake --preset gpu-folder && cmake --build --preset gpu-folder      leaves build/gpu/
#
# bin/ has the program and the test programs. lib/ has all shared libraries except the C library and
# the driver; the programs find them by relative paths. licenses/ has the license texts of these
# libraries and of libraries that are linked statically. data/ has input of the tests. tests.txt is
# the list for run-tests.
set(folder ${OCELLUS_FOLDER})
set(list "")
get_property(programs GLOBAL PROPERTY OCELLUS_FOLDER_PROGRAMS)
list(APPEND programs ocellus-program)
if(TARGET ocellus-bench)
  list(APPEND programs ocellus-bench)
endif()
list(REMOVE_DUPLICATES programs)
get_property(tests GLOBAL PROPERTY OCELLUS_FOLDER_TESTS)
foreach(test IN LISTS tests)
  string(APPEND list "${test}\n")
endforeach()
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/folder/tests.txt CONTENT "${list}")
get_property(scripts GLOBAL PROPERTY OCELLUS_FOLDER_SCRIPTS)
get_property(data GLOBAL PROPERTY OCELLUS_FOLDER_DATA)

set(files "")
foreach(program IN LISTS programs)
  list(APPEND files $<TARGET_FILE:${program}>)
endforeach()
get_target_property(ocellus_type ocellus TYPE)
if(ocellus_type STREQUAL "SHARED_LIBRARY")
  list(APPEND files $<TARGET_FILE:ocellus>)
endif()
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/folder/files.txt CONTENT "$<JOIN:${files},\n>\n")
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/folder/scripts.txt CONTENT "$<JOIN:${scripts},\n>\n")
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/folder/data.txt CONTENT "$<JOIN:${data},\n>\n")

# Libraries that are compiled or linked into the programs, each represented by one file from which
# its license is found.
set(OCELLUS_FOLDER_LICENSES "" CACHE PATH "Folder with <file>.txt for libraries whose license text is not in a package of the system")
set(parts "")
foreach(header CLI/CLI.hpp nlohmann/json.hpp fmt/format.h tl/expected.hpp flatbuffers/flatbuffers.h xxhash.h gtest/gtest.h
        hwy/highway.h Eigen/Core)
  string(MAKE_C_IDENTIFIER "ocellus_part_${header}" variable)
  find_file(${variable} ${header} PATH_SUFFIXES eigen3 REQUIRED)
  mark_as_advanced(${variable})
  list(APPEND parts ${${variable}})
endforeach()
foreach(archive libstdc++.a libgcc.a)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${archive} OUTPUT_VARIABLE path
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  list(APPEND parts ${path})
endforeach()
if(OCELLUS_CUDA_FOUND)
  get_target_property(path CUDA::cudart_static IMPORTED_LOCATION)
  list(APPEND parts ${path})
endif()
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/folder/parts.txt CONTENT "$<JOIN:${parts},\n>\n")

add_custom_command(
  OUTPUT ${PROJECT_BINARY_DIR}/folder/made
  COMMAND ${CMAKE_COMMAND} -D folder=${folder} -D lists=${PROJECT_BINARY_DIR}/folder -D source=${PROJECT_SOURCE_DIR}
          -D strip=${CMAKE_STRIP} -D objdump=${CMAKE_OBJDUMP} -D "architectures=${CMAKE_CUDA_ARCHITECTURES}"
          -D version=${PROJECT_VERSION} -D "licenses=${OCELLUS_FOLDER_LICENSES}" -P ${PROJECT_SOURCE_DIR}/toolchains/folder/make.cmake
  COMMAND ${CMAKE_COMMAND} -E touch ${PROJECT_BINARY_DIR}/folder/made
  DEPENDS ${programs} ${PROJECT_BINARY_DIR}/folder/tests.txt ${PROJECT_BINARY_DIR}/folder/files.txt
          ${PROJECT_BINARY_DIR}/folder/data.txt ${PROJECT_BINARY_DIR}/folder/scripts.txt ${PROJECT_BINARY_DIR}/folder/parts.txt ${scripts}
          ${PROJECT_SOURCE_DIR}/toolchains/folder/make.cmake ${PROJECT_SOURCE_DIR}/toolchains/folder/licenses.cmake
          ${PROJECT_SOURCE_DIR}/toolchains/folder/run-tests ${PROJECT_SOURCE_DIR}/toolchains/folder/measure
          ${PROJECT_SOURCE_DIR}/toolchains/folder/README
  COMMENT "Making the folder ${folder}"
  VERBATIM)
add_custom_target(ocellus_folder ALL DEPENDS ${PROJECT_BINARY_DIR}/folder/made)
