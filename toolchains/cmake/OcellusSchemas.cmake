# Generates code and data from FlatBuffers schemas at build time. Only the headers of FlatBuffers are
# used; nothing is linked.
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

# ocellus_embed(<target> <function> <file>): the target gets the bytes of the file, at a multiple of 64, and
# std::span<const std::uint8_t> ocellus::detail::<function>() for them. With a schema as the last argument, the file is JSON
# and the bytes are the FlatBuffer of it.
function(ocellus_embed target function file)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/embedded)
  if(ARGC GREATER 3)
    cmake_path(GET file STEM name)
    cmake_path(GET ARGV3 PARENT_PATH schemas)
    file(GLOB schemas CONFIGURE_DEPENDS ${schemas}/*.fbs)  # the schema may include others
    add_custom_command(
      OUTPUT ${folder}/${name}.bin
      COMMAND ${OCELLUS_FLATC} --binary -o ${folder} ${ARGV3} ${file}
      DEPENDS ${schemas} ${file}
      COMMENT "Generating the data of ${name}"
      VERBATIM)
    set(file ${folder}/${name}.bin)
  endif()
  file(CONFIGURE OUTPUT ${folder}/${function}.cpp @ONLY CONTENT [[
#include <cstdint>
#include <span>

// The assembler reads the file: a compiler takes long for an array of millions of numbers.
asm(R"(
    .pushsection .rodata
    .balign 64
ocellus_@function@_begin:
    .incbin "@file@"
ocellus_@function@_end:
    .popsection
)");

extern "C" {
__attribute__((visibility("hidden"))) extern const std::uint8_t ocellus_@function@_begin[];
__attribute__((visibility("hidden"))) extern const std::uint8_t ocellus_@function@_end[];
}

namespace ocellus::detail {
std::span<const std::uint8_t> @function@() noexcept;
std::span<const std::uint8_t> @function@() noexcept {
  return {ocellus_@function@_begin, ocellus_@function@_end};
}
}  // namespace ocellus::detail
]])
  # In a group of files, CMake would not know that it depends on the data.
  set_source_files_properties(${folder}/${function}.cpp PROPERTIES
    OBJECT_DEPENDS ${file} SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE ${folder}/${function}.cpp)
endfunction()
