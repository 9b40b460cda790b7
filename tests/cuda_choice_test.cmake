# Which GPUs kernels are compiled for (cmake/cuda_choice.cmake), on machines that programs in place of nvidia-smi make up:
#   cmake -DSOURCE=<source folder> -DWORK=<folder> -P cuda_choice_test.cmake
cmake_minimum_required(VERSION 3.25)
include(${SOURCE}/cmake/cuda_choice.cmake)

# driver(answer code): the next choices find a driver that answers so.
macro(driver answer code)
  file(WRITE ${WORK}/nvidia-smi "#!/bin/sh\nprintf '${answer}'\nexit ${code}\n")
  file(CHMOD ${WORK}/nvidia-smi PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  set(NADI_NVIDIA_SMI ${WORK}/nvidia-smi CACHE FILEPATH "" FORCE)
endmacro()

# expect("90-real" "of this machine" WANTED ARCHITECTURES NVCC): the architectures, and a part of the reason.
function(expect architectures words wanted given nvcc)
  nadi_choose_cuda(WANTED "${wanted}" ARCHITECTURES "${given}" NVCC "${nvcc}" RESULT got REASON reason)
  if(NOT "${got}" STREQUAL "${architectures}" OR NOT "${reason}" MATCHES "${words}")
    message(SEND_ERROR "${wanted} [${given}] ${nvcc}: '${got}' (${reason}), not '${architectures}' (${words})")
  endif()
endfunction()

set(all "80-real;86-real;89-real;90-real;100")
driver("9.0\\n9.0\\n" 0)
expect("90-real" "this machine's GPUs; `make build CUDA=all`" auto "" nvcc)
expect("90-real" "this machine's GPUs" on "" nvcc)
expect("${all}" "all kinds" all "" nvcc)
expect("${all}" "all kinds" all "90-real" nvcc)
expect("" "as asked for" off "90-real" nvcc)
expect("80-real;100" "as asked for" auto "80-real;100" nvcc)
expect("" "nvcc. was not found" auto "90-real" "NADI_NVCC-NOTFOUND")
driver("12.0\\n8.6\\n" 0)
expect("120-real;86-real" "this machine's GPUs" auto "" nvcc)
driver("7.5\\n" 0)
expect("" "compute capability 75 and 80 is needed" auto "" nvcc)
# A driver without a GPU, and none: the presets ci and dev go on compiling for the one that they name.
driver("No devices were found\\n" 6)
expect("" "no GPU; `make build CUDA=all`" auto "" nvcc)
expect("${all}" "no GPU to choose by" on "" nvcc)
expect("90-real" "as asked for" auto "90-real" nvcc)
file(READ ${SOURCE}/CMakePresets.json presets)
string(REGEX MATCHALL "\"NADI_CUDA_ARCHITECTURES\": \"90-real\"" named "${presets}")
list(LENGTH named count)
if(NOT count EQUAL 2)
  message(SEND_ERROR "the presets ci and dev compile kernels for one architecture; ${count} presets name one")
endif()

# What cannot be done stops the configuration, and says why.
if(WRONG)
  nadi_choose_cuda(WANTED "${WRONG}" ARCHITECTURES "" NVCC "" RESULT got REASON reason)
endif()
foreach(wrong all on 90)
  if(NOT WRONG)
    execute_process(COMMAND ${CMAKE_COMMAND} -DSOURCE=${SOURCE} -DWORK=${WORK} -DWRONG=${wrong} -P ${CMAKE_CURRENT_LIST_FILE}
      RESULT_VARIABLE code ERROR_VARIABLE said OUTPUT_QUIET)
    if(code EQUAL 0 OR NOT said MATCHES "nvcc was not found; set CUDA_HOME|NADI_CUDA is '90'; it is one of auto, on, all, off")
      message(SEND_ERROR "NADI_CUDA=${wrong} without nvcc: exit code ${code}, ${said}")
    endif()
  endif()
endforeach()
