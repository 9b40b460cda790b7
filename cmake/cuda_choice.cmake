# Which GPUs the kernels are compiled for. Compiling them for one kind of GPU takes as long as a third of everything
# else, for all kinds as long as everything else; so a machine gets the kernels that it can run.
#
#   nadi_choose_cuda(WANTED auto ARCHITECTURES "" NVCC /usr/local/cuda/bin/nvcc RESULT architectures REASON reason)
#
# WANTED is NADI_CUDA, ARCHITECTURES is NADI_CUDA_ARCHITECTURES, NVCC the compiler or something false. RESULT becomes the
# list of architectures, empty for a build without CUDA, and REASON says why, in words for the user. A wish that cannot be
# met stops the configuration.

# Machine code for A100, A10 and RTX 30, L4 and RTX 40, H100 and H200, B200; and PTX of the last for what comes after.
set(NADI_ALL_CUDA_ARCHITECTURES 80-real 86-real 89-real 90-real 100)
set(NADI_OLDEST_CUDA_ARCHITECTURE 80)

# The compute capabilities of this machine's GPUs as "90;86": empty without a GPU or a driver that answers.
function(nadi_capabilities_of_gpus result)
  set(${result} "" PARENT_SCOPE)
  find_program(NADI_NVIDIA_SMI nvidia-smi HINTS /usr/lib/wsl/lib)
  mark_as_advanced(NADI_NVIDIA_SMI)
  if(NOT NADI_NVIDIA_SMI)
    return()
  endif()
  execute_process(COMMAND ${NADI_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE answer RESULT_VARIABLE code ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT code EQUAL 0)
    return()
  endif()
  string(REGEX MATCHALL "[0-9]+\\.[0-9]" capabilities "${answer}")
  list(TRANSFORM capabilities REPLACE "\\." "")
  list(REMOVE_DUPLICATES capabilities)
  set(${result} "${capabilities}" PARENT_SCOPE)
endfunction()

function(nadi_choose_cuda)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "WANTED;ARCHITECTURES;NVCC;RESULT;REASON" "")
  set(architectures "")
  if(NOT ARG_WANTED MATCHES "^(auto|on|all|off)$")
    message(FATAL_ERROR "NADI_CUDA is '${ARG_WANTED}'; it is one of auto, on, all, off. One kind of GPU is chosen by "
      "NADI_CUDA_ARCHITECTURES, as -DNADI_CUDA_ARCHITECTURES=90-real")
  elseif(ARG_WANTED STREQUAL "off")
    set(reason "none, as asked for")
  elseif(NOT ARG_NVCC)
    if(NOT ARG_WANTED STREQUAL "auto")
      message(FATAL_ERROR "NADI_CUDA=${ARG_WANTED}: nvcc was not found; set CUDA_HOME to where the toolkit is")
    endif()
    set(reason "none: CUDA's compiler (nvcc) was not found")
  elseif(ARG_WANTED STREQUAL "all")
    set(architectures ${NADI_ALL_CUDA_ARCHITECTURES})
    set(reason ": all kinds, as asked for")
  elseif(ARG_ARCHITECTURES)
    set(architectures ${ARG_ARCHITECTURES})
    set(reason ", as asked for")
  else()
    nadi_capabilities_of_gpus(capabilities)
    foreach(capability ${capabilities})
      if(capability GREATER_EQUAL NADI_OLDEST_CUDA_ARCHITECTURE)
        list(APPEND architectures ${capability}-real)
      endif()
    endforeach()
    if(architectures)
      set(reason ", of this machine's GPUs; `make build CUDA=all` compiles for all kinds")
    elseif(ARG_WANTED STREQUAL "on")
      set(architectures ${NADI_ALL_CUDA_ARCHITECTURES})
      set(reason ": all kinds, since this machine has no GPU to choose by")
    elseif(capabilities)
      set(reason "none: the GPU here has compute capability ${capabilities} and ${NADI_OLDEST_CUDA_ARCHITECTURE} is needed; "
        "`make build CUDA=all` compiles for other machines")
      string(CONCAT reason ${reason})
    else()
      set(reason "none: this machine has no GPU; `make build CUDA=all` compiles for machines that have one")
    endif()
  endif()
  set(${ARG_RESULT} "${architectures}" PARENT_SCOPE)
  set(${ARG_REASON} "${reason}" PARENT_SCOPE)
endfunction()
