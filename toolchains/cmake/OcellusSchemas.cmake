# Generates code from FlatBuffers schemas at build time. Only the headers of FlatBuffers are used;
# nothing is linked.
find_program(OCELLUS_FLATC flatc DOC "The FlatBuffers compiler")
find_path(OCELLUS_FLATBUFFERS_INCLUDE flatbuffers/flatbuffers.h DOC "Folder of flatbuffers/flatbuffers.h")
find_path(OCELLUS_XXHASH_INCLUDE xxhash.h DOC "Folder of xxhash.h")
mark_as_advanced(OCELLUS_FLATC OCELLUS_FLATBUFFERS_INCLUDE OCELLUS_XXHASH_INCLUDE)
foreach(needed "OCELLUS_FLATC=flatbuffers-compiler" "OCELLUS_FLATBUFFERS_INCLUDE=libflatbuffers-dev"
               "OCELLUS_XXHASH_INCLUDE=libxxhash-dev")
  string(REPLACE "=" ";" needed ${needed})
  list(GET needed 0 variable)
  list(GET needed 1 package)
  if(NOT ${variable})
    message(FATAL_ERROR "${variable} was not found: install the Debian package ${package}, or set the variable")
  endif()
endforeach()

# ocellus_add_schemas(<target> <schema.fbs>...): makes an interface target with the folder of the
# generated headers.
function(ocellus_add_schemas target)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/schemas)
  set(headers)
  foreach(schema ${ARGN})
    cmake_path(GET schema STEM name)
    set(header ${folder}/${name}_generated.h)
    add_custom_command(
      OUTPUT ${header}
      COMMAND ${OCELLUS_FLATC} --cpp --gen-object-api -o ${folder} ${schema}
      DEPENDS ${schema}
      COMMENT "Generating code from the schema ${name}"
      VERBATIM)
    list(APPEND headers ${header})
  endforeach()
  add_custom_target(${target}_headers DEPENDS ${headers})
  add_library(${target} INTERFACE)
  # SYSTEM, because the generated code causes warnings.
  target_include_directories(${target} SYSTEM INTERFACE ${folder} ${OCELLUS_FLATBUFFERS_INCLUDE} ${OCELLUS_XXHASH_INCLUDE})
  add_dependencies(${target} ${target}_headers)
endfunction()
