# Runs one install test, selected by `name`. A failure ends the script with an error.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "the command ended with ${result}")
  endif()
endfunction()

# Configures and builds a project outside the tree.
function(build_project folder)
  file(REMOVE_RECURSE ${build})
  run(${CMAKE_COMMAND} -S ${folder} -B ${build} -G ${generator} -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_BUILD_TYPE=Release
      "-DCMAKE_CXX_FLAGS=${flags}" ${ARGN})
  run(${CMAKE_COMMAND} --build ${build} --parallel 2)
endfunction()

# Runs the embedding example and checks its output: the last frames must have the motion of the
# texture.
function(check_embed program)
  execute_process(COMMAND ${program} TIMEOUT 60 OUTPUT_VARIABLE output RESULT_VARIABLE result)
  message("${output}")
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${program} ended with ${result}")
  endif()
  if(NOT output MATCHES "frame 9: flow \\(1\\.[45][0-9]*, -0\\.[45][0-9]*\\)")
    message(FATAL_ERROR "the flow of frame 9 is not (1.5, -0.5) to 0.1")
  endif()
endfunction()

# Checks that a shared library exports only functions that a public header declares.
function(check_exports library)
  file(GLOB headers ${root}/lib/include/ocellus/*.h ${root}/lib/include/ocellus/*.h.in)
  set(public "")
  foreach(header IN LISTS headers)
    file(READ ${header} text)
    string(APPEND public "${text}")
  endforeach()
  find_program(nm NAMES nm llvm-nm REQUIRED)
  execute_process(COMMAND ${nm} -D -C --defined-only --format=posix ${library} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
  set(count 0)
  foreach(symbol IN LISTS symbols)
    # ocellus::Class::function(...) -> function
    if(NOT symbol MATCHES "^ocellus::([A-Za-z0-9_]+::)*~?([A-Za-z0-9_]+|operator[^A-Za-z0-9_(]+)\\(")
      message(FATAL_ERROR "${library} exports: ${symbol}")
    endif()
    string(FIND "${public}" "${CMAKE_MATCH_2}(" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "${library} exports ${CMAKE_MATCH_2}, which no public header declares: ${symbol}")
    endif()
    math(EXPR count "${count} + 1")
  endforeach()
  if(count LESS 50)
    message(FATAL_ERROR "${library} exports only ${count} functions")
  endif()
  message("${count} exported functions, all declared in public headers")
endfunction()

if(name STREQUAL "tree")
  file(REMOVE_RECURSE ${prefix})
  run(${CMAKE_COMMAND} --install ${tree} --prefix ${prefix} --config "${config}")
  # Installed files must not refer to the source or build tree.
  file(GLOB_RECURSE texts ${prefix}/*.cmake ${prefix}/*.pc ${prefix}/*.h)
  foreach(file IN LISTS texts)
    file(READ ${file} content)
    string(FIND "${content}" "${root}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file} contains ${root}")
    endif()
  endforeach()

elseif(name STREQUAL "embed")
  build_project(${source}/embed -D CMAKE_PREFIX_PATH=${prefix})
  check_embed(${build}/embed)

elseif(name STREQUAL "version")
  string(REPLACE "." ";" parts ${version})
  list(GET parts 0 major)
  list(GET parts 1 minor)
  math(EXPR next_minor "${minor} + 1")
  math(EXPR next_major "${major} + 1")
  # Requested version -> whether it must be found.
  foreach(case "${major}.${minor}=yes" "${version} EXACT=yes" "${major}.${next_minor}=no" "${next_major}.0=no"
               "${version} COMPONENTS cuda=no")
    string(REGEX MATCH "^(.*)=(.*)$" ignored "${case}")
    set(asked "${CMAKE_MATCH_1}")
    set(expected ${CMAKE_MATCH_2})
    file(REMOVE_RECURSE ${build})
    file(WRITE ${build}/CMakeLists.txt
      "cmake_minimum_required(VERSION 3.16)\nproject(version LANGUAGES CXX)\nfind_package(ocellus ${asked} QUIET)\n"
      "message(STATUS \"found: \${ocellus_FOUND}\")\n")
    execute_process(COMMAND ${CMAKE_COMMAND} -S ${build} -B ${build}/build -D CMAKE_PREFIX_PATH=${prefix}
        -D CMAKE_CXX_COMPILER=${compiler} OUTPUT_VARIABLE output RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
      message(FATAL_ERROR "${output}")
    endif()
    set(found no)
    if(output MATCHES "found: (1|TRUE)")
      set(found yes)
    endif()
    message("find_package(ocellus ${asked}): ${found}")
    if(NOT found STREQUAL expected)
      message(FATAL_ERROR "find_package(ocellus ${asked}) of version ${version}: ${found}, expected ${expected}")
    endif()
  endforeach()

elseif(name STREQUAL "pkgconfig")
  # Moved, so that a path of the first prefix would be detected.
  file(REMOVE_RECURSE ${build})
  file(COPY ${prefix}/ DESTINATION ${build}/moved)
  file(COPY ${source}/pkgconfig ${source}/embed DESTINATION ${build})
  find_program(make NAMES gmake make REQUIRED)
  run(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${build}/moved/${libdir}/pkgconfig CXX=${compiler} "CXXFLAGS=-O2 ${flags}"
      ${make} -C ${build}/pkgconfig)
  check_embed(${build}/pkgconfig/embed)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${build}/moved/${libdir}/pkgconfig
      pkg-config --modversion ocellus OUTPUT_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT output STREQUAL version)
    message(FATAL_ERROR "pkg-config reports version \"${output}\" instead of ${version}")
  endif()

elseif(name STREQUAL "subdirectory")
  # The strict warning flags are not used, because they would apply to third-party parts of the
  # outer project.
  string(REGEX MATCH "-fsanitize=[^ ]*" flags "${flags}")
  # The test only checks that it builds and works, so it is not optimized and has one SIMD target.
  string(APPEND flags " -DHWY_COMPILE_ONLY_STATIC")
  build_project(${source}/subdirectory -D CMAKE_BUILD_TYPE=Debug -D BUILD_SHARED_LIBS=ON -D OCELLUS_SOURCE=${root}
    -D CMAKE_CXX_COMPILER_LAUNCHER=${launcher})
  check_embed(${build}/embed)
  check_exports(${build}/ocellus/lib/libocellus.so)

elseif(name STREQUAL "headers")
  file(GLOB_RECURSE headers RELATIVE ${prefix}/include ${prefix}/include/*.h)
  file(GLOB in_tree RELATIVE ${root}/lib/include ${root}/lib/include/ocellus/*.h)
  foreach(header IN LISTS in_tree)
    if(NOT header IN_LIST headers)
      message(FATAL_ERROR "${header} is not installed")
    endif()
  endforeach()
  separate_arguments(flags UNIX_COMMAND "${flags}")
  execute_process(COMMAND pkg-config --cflags gstreamer-video-1.0 OUTPUT_VARIABLE gst_flags OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET)
  separate_arguments(gst_flags UNIX_COMMAND "${gst_flags}")
  file(MAKE_DIRECTORY ${build})
  foreach(header IN LISTS headers)
    set(header_flags)
    if(header MATCHES "/gst/")
      list(TRANSFORM gst_flags REPLACE "^-I" "-isystem" OUTPUT_VARIABLE header_flags)
    else()
      # The library's own headers must work without exceptions and RTTI.
      set(header_flags -fno-exceptions -fno-rtti)
    endif()
    # Included twice, to detect a missing include guard.
    file(WRITE ${build}/header.cpp "#include <${header}>\n#include <${header}>\n")
    run(${compiler} -std=c++20 ${flags} ${header_flags} -I${prefix}/include -fsyntax-only ${build}/header.cpp)
  endforeach()
  list(LENGTH headers count)
  message("${count} headers")

elseif(name STREQUAL "opencv")
  if(NOT have_opencv)
    message("skipped: OpenCV 4 was not found (libopencv-video-dev)")
    return()
  endif()
  # OpenCV's own headers cause warnings with the strict flags.
  string(REGEX MATCH "-fsanitize=[^ ]*" flags "${flags}")
  build_project(${source}/opencv -D CMAKE_PREFIX_PATH=${prefix})
  run(${build}/opencv_frame)

elseif(name STREQUAL "readme")
  file(READ ${source}/embed/main.cpp program)
  file(READ ${root}/README.md readme)
  string(FIND "${readme}" "```cpp\n${program}```" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "README.md does not contain tests/install/embed/main.cpp unchanged")
  endif()

elseif(name STREQUAL "hardening_selftest")
  execute_process(COMMAND ${check} ${planted} OUTPUT_VARIABLE output RESULT_VARIABLE result)
  message("${output}")
  foreach(says "-pie" "GNU_RELRO" "BIND_NOW" "executed" "__stack_chk_fail" "FORTIFY" "libraries in /nowhere" "folder of the machine")
    string(FIND "${output}" "${says}" at)
    if(at EQUAL -1 OR NOT result EQUAL 1)
      message(FATAL_ERROR "the check ended with ${result} and did not report ${says}")
    endif()
  endforeach()

else()
  message(FATAL_ERROR "unknown install test \"${name}\"")
endif()
