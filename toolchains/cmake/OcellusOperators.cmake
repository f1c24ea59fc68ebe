# The operators of the build. An operator has a folder with its name in lib, kernels, apps and tests,
# and the files in these folders are built.
#
#   lib/<name>/*.cpp, cpu/*.cpp, *.fbs     the operator and its CPU backend; schemas of its model files
#   kernels/<name>/*.cpp, *.cu             its CUDA backend
#   apps/<name>/*.cpp                      its commands
#   bench/<name>/*.cpp                     what measures it; bench/papers/<name>/: the paper's schedules
#   tests/<name>/CMakeLists.txt            its tests

# ocellus_operator(<name>): declares an operator. The order is that of the documentation.
function(ocellus_operator name)
  if(NOT IS_DIRECTORY ${PROJECT_SOURCE_DIR}/lib/${name})
    message(FATAL_ERROR "ocellus_operator(${name}): the folder lib/${name} does not exist")
  endif()
  set_property(GLOBAL APPEND PROPERTY OCELLUS_OPERATORS ${name})
endfunction()

# ocellus_sources(<variable> <pattern>...): absolute paths of the files in the current folder that
# match a pattern, for core, image and every operator. @ in a pattern stands for the module's folder.
function(ocellus_sources variable)
  get_property(operators GLOBAL PROPERTY OCELLUS_OPERATORS)
  set(patterns "")
  foreach(module core image ${operators})
    foreach(pattern ${ARGN})
      string(REPLACE "@" "${module}" pattern "${CMAKE_CURRENT_SOURCE_DIR}/${pattern}")
      list(APPEND patterns ${pattern})
    endforeach()
  endforeach()
  file(GLOB files CONFIGURE_DEPENDS ${patterns})
  set(${variable} ${files} PARENT_SCOPE)
endfunction()
