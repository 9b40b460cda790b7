# CUDA, where its compiler is. Without it the build is the same but for engine/cuda/, which then says so when it is
# asked for. Of CUDA's libraries the runtime alone is linked, statically; the others are loaded when they are needed.
set(NADI_CUDA "auto" CACHE STRING
  "the engine for NVIDIA GPUs: auto (for this machine's GPUs, where nvcc is found), on (insists), all (every kind of GPU), off")
set_property(CACHE NADI_CUDA PROPERTY STRINGS auto on all off)
set(NADI_CUDA_ARCHITECTURES "" CACHE STRING
  "compute capabilities that kernels are compiled for, as CMAKE_CUDA_ARCHITECTURES; empty: see NADI_CUDA")
include(cmake/cuda_choice.cmake)

set(NADI_HAS_CUDA OFF)
if(NOT NADI_CUDA STREQUAL "off")
  find_program(NADI_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  mark_as_advanced(NADI_NVCC)
endif()
nadi_choose_cuda(WANTED "${NADI_CUDA}" ARCHITECTURES "${NADI_CUDA_ARCHITECTURES}" NVCC "${NADI_NVCC}"
  RESULT nadi_cuda_architectures REASON nadi_cuda_reason)
if(nadi_cuda_architectures)
  set(CMAKE_CUDA_COMPILER ${NADI_NVCC})
  set(CMAKE_CUDA_ARCHITECTURES ${nadi_cuda_architectures})
  set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
  if(NADI_CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${NADI_CCACHE})
  endif()
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc takes C++20
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  find_package(CUDAToolkit REQUIRED)
  if(CUDAToolkit_VERSION VERSION_LESS 13.0)
    message(FATAL_ERROR "CUDA ${CUDAToolkit_VERSION} is too old, 13.0 is needed; -DNADI_CUDA=off builds without it")
  endif()
  set(NADI_HAS_CUDA ON)
endif()
list(JOIN nadi_cuda_architectures ", " numbers)
message(STATUS "kernels for NVIDIA GPUs: ${numbers}${nadi_cuda_reason}")

# For a target that has sources of CUDA.
function(nadi_links_cuda target)
  # CMake 3.31 and later would join these, too, when they join sources; they are all of one pattern.
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cu$")
  nadi_compile_alone(${sources})
  string(REGEX REPLACE "-real|-virtual" "" numbers "${nadi_cuda_architectures}")
  string(REPLACE ";" "," numbers "${numbers}")
  target_compile_definitions(${target} PRIVATE NADI_HAS_CUDA NADI_CUDA_ARCHITECTURES="${numbers}")
  target_include_directories(${target} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:-O3;--compress-mode=size;--expt-relaxed-constexpr;--expt-extended-lambda;-Xcompiler=-Wall,-Wextra>")
  set_target_properties(${target} PROPERTIES CUDA_RUNTIME_LIBRARY None)
  target_link_libraries(${target} PRIVATE ${CUDA_cudart_static_LIBRARY} ${CMAKE_DL_LIBS} Threads::Threads rt)
endfunction()
