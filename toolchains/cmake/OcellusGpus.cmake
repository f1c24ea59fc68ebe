# The GPU architectures that get machine code. CMAKE_CUDA_ARCHITECTURES, or CUDAARCHS in the
# environment, overrides OCELLUS_GPUS; `native` is CMake's own word for this machine.
set(OCELLUS_GPUS local CACHE STRING
  "GPUs that get code: local (the GPUs of this machine; one architecture where none answers), all (as in packages)")
set_property(CACHE OCELLUS_GPUS PROPERTY STRINGS local all)
if(NOT OCELLUS_GPUS MATCHES "^(local|all)$")
  message(FATAL_ERROR "OCELLUS_GPUS=${OCELLUS_GPUS}: it is local or all")
endif()

# ocellus_local_gpus(<variable>): compute capabilities of this machine's GPUs. An answer is kept, so that a GPU
# that is away for a while does not cause a build of everything.
function(ocellus_local_gpus variable)
  if(NOT OCELLUS_LOCAL_GPUS AND NOT CMAKE_CROSSCOMPILING)
    try_run(status compiled ${PROJECT_BINARY_DIR}/local_gpus ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/local_gpus.cpp
      LINK_LIBRARIES ${CMAKE_DL_LIBS} RUN_OUTPUT_VARIABLE output)
    unset(status CACHE)
    unset(compiled CACHE)
    if(output MATCHES "^[0-9;]+$")
      set(OCELLUS_LOCAL_GPUS "${output}" CACHE INTERNAL "Compute capabilities of this machine's GPUs")
    endif()
  endif()
  set(${variable} "${OCELLUS_LOCAL_GPUS}" PARENT_SCOPE)
endfunction()

# ocellus_gpu_architectures(<nvcc> <variable> <summary>): the value for CMAKE_CUDA_ARCHITECTURES and a text that tells
# where it comes from.
function(ocellus_gpu_architectures nvcc variable summary)
  if(OCELLUS_GPUS STREQUAL "all")
    # Architectures that the toolkit supports and that are used with cameras: Turing, Ampere (server,
    # desktop, Orin), Ada, Hopper and Blackwell (server, Thor, desktop). PTX of the newest is added
    # for later ones.
    set(found 75-real 80-real 86-real 87-real 89-real)
    if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 13.0)
      list(APPEND found 90-real 100-real 110-real 120)
    elseif(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.8)
      list(APPEND found 90-real 100-real 101-real 120)
    else()
      list(APPEND found 90)
    endif()
    set(${summary} "OCELLUS_GPUS=all" PARENT_SCOPE)
  else()
    execute_process(COMMAND ${nvcc} --list-gpu-arch OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "[0-9]+" known "${output}")
    ocellus_local_gpus(gpus)
    set(found "")
    foreach(gpu IN LISTS gpus)
      if(gpu IN_LIST known)
        list(APPEND found ${gpu}-real)
      elseif(gpu GREATER 75)
        # A GPU that is newer than the toolkit compiles PTX at the start.
        set(best 75)
        foreach(one IN LISTS known)
          if(one LESS gpu AND one GREATER best)
            set(best ${one})
          endif()
        endforeach()
        list(APPEND found ${best})
      endif()
    endforeach()
    list(REMOVE_DUPLICATES found)
    if(found)
      set(${summary} "the GPUs of this machine; all: -D OCELLUS_GPUS=all" PARENT_SCOPE)
    else()
      # Later GPUs compile its PTX at the start.
      set(found 75)
      set(${summary} "no GPU of compute capability 7.5 or later answers here; all: -D OCELLUS_GPUS=all" PARENT_SCOPE)
    endif()
  endif()
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()
