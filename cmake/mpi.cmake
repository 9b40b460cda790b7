# MPI, where it is installed: the ranks of a job as processes. Without it Nadi runs one rank, and says so when
# asked for more.
option(NADI_MPI "Use MPI, where it is found" ON)
set(MPI_CXX_SKIP_MPICXX ON)  # the C++ bindings, which nobody has any more
if(NADI_MPI)
  find_package(MPI COMPONENTS CXX)
endif()
if(NOT MPI_CXX_FOUND)
  message(STATUS "no MPI: jobs of several ranks will not run")
endif()

# More processes than the machine has cores, and as root, which containers often are. What Open MPI leaves
# allocated at its end is not ours to find.
set(NADI_MPI_TEST_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none OMP_NUM_THREADS=1
  HWLOC_COMPONENTS=-gl ASAN_OPTIONS=detect_leaks=0)

# nadi_mpi_run(comm_mpi_4ranks RANKS 4 TIMEOUT 60 COMMAND comm_mpi_test)
# A test that starts a command on so many ranks; it fails when one of them does. With EXIT_CODE: unless the
# command ends with that. With UNDER: started by that program.
function(nadi_mpi_run name)
  if(NOT NADI_BUILD_TESTS OR NOT MPI_CXX_FOUND)
    return()
  endif()
  cmake_parse_arguments(ARG "" "RANKS;TIMEOUT;EXIT_CODE;UNDER" "COMMAND" ${ARGN})
  list(POP_FRONT ARG_COMMAND program)
  set(expecting)
  if(ARG_EXIT_CODE)
    set(expecting sh -c "\"$@\" && exit 99 || test $? -eq ${ARG_EXIT_CODE}" sh)
  endif()
  add_test(NAME ${name} COMMAND ${expecting} ${ARG_UNDER}
    ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ARG_RANKS} ${MPIEXEC_PREFLAGS}
    $<TARGET_FILE:${program}> ${MPIEXEC_POSTFLAGS} ${ARG_COMMAND})
  # Two cores, so that tests which run side by side do not starve its processes.
  set_tests_properties(${name} PROPERTIES LABELS fast TIMEOUT ${ARG_TIMEOUT} PROCESSORS 2
    ENVIRONMENT "${NADI_MPI_TEST_ENVIRONMENT}")
endfunction()

# nadi_over_nccl(plan_mpi_test_nccl_4ranks TIMEOUT 300)
# Makes tests of nadi_mpi_run() such on a GPU that the ranks share, over NCCL (cuda/device_sharing.h). NCCL
# takes them for ranks on hosts of their own; a channel and small buffers are enough for them, and are made sooner.
# Nothing runs beside such a test: its kernels wait for each other, and the GPU gives each rank its turn, unless it is
# started under tests/with_mps.sh.
function(nadi_over_nccl)
  cmake_parse_arguments(ARG "" "TIMEOUT" "" ${ARGN})
  foreach(name ${ARG_UNPARSED_ARGUMENTS})
    if(NOT TEST ${name})
      continue()
    endif()
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT NADI_TEST_DEVICE=cuda NADI_TEST_NCCL=shared-gpu
      NCCL_MAX_NCHANNELS=1 NCCL_BUFFSIZE=262144)
    set_tests_properties(${name} PROPERTIES LABELS cuda RUN_SERIAL TRUE)
    if(ARG_TIMEOUT)
      set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
    endif()
  endforeach()
endfunction()

# nadi_mpi_test(comm_mpi_test RANKS 2 4 8 SOURCES a_test.cpp LINK engine [ARGUMENTS --piece-bytes=4096])
# GoogleTest on every rank, once for each number of ranks: comm_mpi_test_2ranks, ... The sources bring their
# own main().
function(nadi_mpi_test name)
  if(NOT NADI_BUILD_TESTS)
    return()
  endif()
  if(NOT MPI_CXX_FOUND)
    message(STATUS "no MPI: ${name} is left out")
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "RANKS;SOURCES;LINK;ARGUMENTS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  target_compile_options(${name} PRIVATE ${NADI_TEST_COMPILE_OPTIONS})
  nadi_resolve(link ${ARG_LINK})
  target_link_libraries(${name} PRIVATE ${link} nadi::testing GTest::gtest GTest::gmock)
  nadi_precompile_tests(${name})
  foreach(ranks ${ARG_RANKS})
    nadi_mpi_run(${name}_${ranks}ranks RANKS ${ranks} TIMEOUT 120 COMMAND ${name} ${ARG_ARGUMENTS})
  endforeach()
endfunction()
