# Fuzz targets: a source file fuzz_<what>.cpp with libFuzzer's entry point, and a folder corpus/fuzz_<what>/ of
# inputs next to it, among them every one that once was a finding.
#
#   nadi_fuzzer(fuzz_kineto_reader LINK pytorch)
#
# With NADI_BUILD_FUZZERS (clang; scripts/fuzz.sh does all of it) it becomes a fuzzer of that name. In any other
# build with tests it becomes the test <name>_corpus, which runs the target once over each file of its corpus.

option(NADI_BUILD_FUZZERS "Build the fuzz targets (needs clang)" OFF)
if(NADI_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "NADI_BUILD_FUZZERS needs clang: configure with -DCMAKE_CXX_COMPILER=clang++")
  endif()
  # All of our libraries are to report which branches an input takes.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

function(nadi_fuzzer name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  nadi_resolve(link ${ARG_LINK})
  if(NADI_BUILD_FUZZERS)
    add_executable(${name} ${name}.cpp)
    target_link_libraries(${name} PRIVATE ${link})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  elseif(NADI_BUILD_TESTS)
    add_executable(${name}_corpus ${name}.cpp ${PROJECT_SOURCE_DIR}/tests/fuzz_corpus.cpp)
    target_compile_options(${name}_corpus PRIVATE ${NADI_TEST_COMPILE_OPTIONS})
    target_link_libraries(${name}_corpus PRIVATE ${link})
    add_test(NAME ${name}_corpus COMMAND ${name}_corpus ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
    set_tests_properties(${name}_corpus PROPERTIES LABELS fast TIMEOUT 120)
  endif()
endfunction()
