# Configures a project with a driver of the tests.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${build})
file(MAKE_DIRECTORY ${build}/driver)
execute_process(COMMAND ${compiler} -shared -fPIC -o ${build}/driver/libcuda.so.1 ${CMAKE_CURRENT_LIST_DIR}/driver.cpp
  COMMAND_ERROR_IS_FATAL ANY)

# check(<folder> <expected> <GPUs or ""> <arguments>...)
function(check folder expected gpus)
  set(environment LD_LIBRARY_PATH=${build}/driver)
  if(gpus)
    list(APPEND environment "OCELLUS_TEST_GPUS=${gpus}")
  endif()
  execute_process(COMMAND ${CMAKE_COMMAND} -E env ${environment} ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${build}/${folder}
      -G ${generator} -D CMAKE_CXX_COMPILER=${compiler} -D tree=${tree} ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  string(FIND "${output}" "${expected}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "GPUs \"${gpus}\" with ${ARGN}: \"${expected}\" was not printed:\n${output}")
  endif()
  message("GPUs \"${gpus}\" with ${ARGN}: ${expected}")
endfunction()

check(none "architectures: 75 (no GPU" "" -D toolkit=13.0)
check(none "architectures: 87-real (the GPUs" "8.7" -D toolkit=13.0)
# The answer is kept.
check(none "architectures: 87-real (the GPUs" "" -D toolkit=13.0)
check(none "architectures: 75-real;80-real;86-real;87-real;89-real;90-real;100-real;110-real;120 (OCELLUS_GPUS=all)" "8.7"
  -D toolkit=13.0 -D OCELLUS_GPUS=all)
check(several "architectures: 75-real;90-real (the GPUs" "9.0 7.5 9.0" -D toolkit=13.0)
# One that is newer than the toolkit gets PTX; one that is too old gets nothing.
check(new "architectures: 110 (the GPUs" "11.9" -D toolkit=13.0)
check(old "architectures: 75 (no GPU" "6.1" -D toolkit=13.0)
check(wrong "OCELLUS_GPUS=some: it is local or all" "" -D toolkit=13.0 -D OCELLUS_GPUS=some)
