# Writes a header with the commit of the source tree: cmake -D SOURCE=... -D HEADER=... [-D COMMIT=...] -P commit.cmake
# COMMIT: the commit of a source tree without git, as of an archive. The header changes only if the commit does.
cmake_minimum_required(VERSION 3.25)
set(found "${COMMIT}")
if(NOT found)
  set(found unknown)
  find_program(git git)
  if(git)
    # A source tree inside the repository of another project has a prefix.
    execute_process(COMMAND ${git} -C ${SOURCE} rev-parse --show-prefix
      OUTPUT_VARIABLE prefix ERROR_QUIET RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT failed AND prefix STREQUAL "")
      execute_process(COMMAND ${git} --no-optional-locks -C ${SOURCE} describe --always --dirty --abbrev=40 --exclude=*
        OUTPUT_VARIABLE described ERROR_QUIET RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
      if(NOT failed)
        set(found "${described}")
      endif()
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${HEADER} CONTENT "#define OCELLUS_BUILD_COMMIT \"@found@\"\n" @ONLY)
