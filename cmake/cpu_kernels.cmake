# How kernels for the CPU are compiled: the instruction set, OpenMP, and which optimisations keep their meaning.

# The instruction set that kernels are compiled for; the program says so when the machine lacks it.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(default_march x86-64-v3)
else()
  set(default_march "")
endif()
set(NADI_CPU_MARCH "${default_march}" CACHE STRING "-march of the CPU kernels; empty: the compiler's default")

find_package(OpenMP COMPONENTS CXX)
find_package(Threads REQUIRED)

# Without -ffast-math: infinities and NaNs mean something (fp16's loss scale looks for them), and sums keep
# their order.
set(nadi_kernel_options -O3 -fno-math-errno -fno-trapping-math -fno-signed-zeros -ffp-contract=fast)
if(NADI_CPU_MARCH)
  list(APPEND nadi_kernel_options -march=${NADI_CPU_MARCH})
endif()

# nadi_has_kernels(nadi_cpu SOURCES gemm.cpp ...): these sources of a library of this folder are kernels.
function(nadi_has_kernels target)
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  if(OpenMP_CXX_FOUND)
    target_link_libraries(${target} PRIVATE OpenMP::OpenMP_CXX)
  endif()
  # The precompiled headers were made without OpenMP and without the options of kernels.
  set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  set_source_files_properties(${ARG_SOURCES} PROPERTIES COMPILE_OPTIONS "${nadi_kernel_options}")
endfunction()

# For tests and benchmarks that include headers of kernels: their pragmas want OpenMP.
function(nadi_includes_kernels target)
  if(TARGET ${target} AND OpenMP_CXX_FOUND)
    target_link_libraries(${target} PRIVATE OpenMP::OpenMP_CXX)
    # The precompiled headers were made without OpenMP, and the compiler does not take them with it.
    set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  endif()
endfunction()
