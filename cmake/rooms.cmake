# Rooms stand on floors: src/<floor>/<room>, one library target per room. A room's headers are reached as
# "nadi/<room>/<header>.h" and only through the target that owns them: each target exports an include root that holds
# nothing but a link to its own folder. So including a header of a room that was not linked fails to compile, and the
# order of rooms in the design is kept by the build rather than by good will. tests/room_links_test.py compares what a
# room links with what it includes.

# nadi_floor(ground base input): the rooms of a floor, in order. What is built does not know of floors: build/.../src/base.
function(nadi_floor floor)
  foreach(room ${ARGN})
    add_subdirectory(src/${floor}/${room} src/${room})
  endforeach()
endfunction()

set(NADI_COMPILE_OPTIONS "")
if(NADI_WERROR)
  # A user's build has no warnings, errors or not: looking for them takes a twentieth of its time.
  list(APPEND NADI_COMPILE_OPTIONS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
    -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Werror)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC 12 warns about std::string::insert and operator+ (PR 105651), with few optimisations takes long strings for short
    # ones, and warns about vectors in temporaries of aggregates.
    list(APPEND NADI_COMPILE_OPTIONS -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread
      -Wno-maybe-uninitialized)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    # GCC 13 takes a handle to a document (JsonValue) for the owner of the texts that it gives references to.
    list(APPEND NADI_COMPILE_OPTIONS -Wno-dangling-reference)
  endif()
  if(CMAKE_UNITY_BUILD)
    # Several sources in one are no reason for these; the preset `dev` compiles each alone and has them.
    list(APPEND NADI_COMPILE_OPTIONS -Wno-shadow -Wno-subobject-linkage)
  endif()
else()
  list(APPEND NADI_COMPILE_OPTIONS -w)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC collects its garbage from 128 MiB on and then over and over: a tenth of the time. Objects take up to 1.3 GiB so
  # (JOBS in the Makefile).
  list(APPEND NADI_COMPILE_OPTIONS --param=ggc-min-heapsize=524288)
endif()
if(NADI_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(NADI_SANITIZE STREQUAL "thread")
  # GCC's OpenMP synchronises in ways that the sanitizer does not see; LLVM's tells it (libomp with Archer).
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "NADI_SANITIZE=thread needs clang and libomp: configure with the preset tsan")
  endif()
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(NADI_SANITIZE)
  message(FATAL_ERROR "NADI_SANITIZE=${NADI_SANITIZE}: there are address, thread and OFF")
endif()

# Lets a target, and whoever links it, include its folder's headers as "nadi/<folder>/<header>.h".
function(nadi_include_root target folder)
  set(root ${PROJECT_BINARY_DIR}/include/${folder})
  file(MAKE_DIRECTORY ${root}/nadi)
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/nadi/${folder} SYMBOLIC)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${root}>)
endfunction()

# How much is optimised. CMake's -O3 is for the kernels of the engine, which ask for it. Code that runs often is as fast with
# -O2 and -O3's vectors, and takes a tenth less time to compile. Code that runs once in a command, as parsing of flags, reading
# of small files and printing do, is compiled with few optimisations: a third less time.
set(NADI_RUNS_OFTEN_OPTIONS $<$<CONFIG:Release>:-O2>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND NADI_RUNS_OFTEN_OPTIONS $<$<CONFIG:Release>:-fvect-cost-model=dynamic>)
endif()
set(NADI_RUNS_ONCE_OPTIONS $<$<CONFIG:Release>:-Og>)

# In the builds of users and CI the sources of a target are compiled several at a time, as one: most of what a
# compiler reads is headers. Sources after ALONE have local names that others of the target have, too (files of one
# pattern, as ops and kernels are), and are compiled one by one, as all are with the preset `dev`.
function(nadi_compile_alone)
  if(ARGN)
    set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# Of the folders of src/ in NADI_ALONE (-DNADI_ALONE="plan;job") every source is compiled alone in any build: for work on
# a few folders, where one object for each source makes the next build short and the rest is there already.
set(NADI_ALONE "" CACHE STRING "folders of src/ that are compiled one object for each source")
function(nadi_compile_folder_alone target)
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
  if(folder IN_LIST NADI_ALONE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  endif()
endfunction()

# What nearly every source includes, parsed once: it takes a second for each object otherwise. Only headers of the
# standard library and of third parties: ours change too often.
set(NADI_PRECOMPILED_HEADERS <algorithm> <array> <charconv> <chrono> <cmath> <cstdint> <cstring> <filesystem> <fstream>
  <functional> <map> <memory> <numeric> <optional> <set> <span> <sstream> <string> <string_view> <tuple> <unordered_map>
  <utility> <vector> <fmt/format.h> <fmt/ranges.h>)

# All libraries share two sets of precompiled headers, one for each of the two optimisations ("often", "once"): the
# compiler takes them only with the flags that they were made with. Where each source is compiled alone (the preset `dev`),
# there are none, so that a source that misses an include is found.
function(nadi_precompile target how)
  if(NOT CMAKE_UNITY_BUILD OR NADI_BUILD_FUZZERS)
    return()
  endif()
  set(headers nadi_headers_${how})
  if(NOT TARGET ${headers})
    set(source ${PROJECT_BINARY_DIR}/${headers}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "// The object that the precompiled headers of libraries belong to.\n")
    string(TOUPPER ${how} upper)
    add_library(${headers} OBJECT ${source})
    set_target_properties(${headers} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_features(${headers} PUBLIC cxx_std_20)
    target_compile_options(${headers} PRIVATE ${NADI_COMPILE_OPTIONS} ${NADI_RUNS_${upper}_OPTIONS})
    target_link_libraries(${headers} PRIVATE fmt::fmt)
    target_precompile_headers(${headers} PRIVATE ${NADI_PRECOMPILED_HEADERS})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()

# nadi_library(graph SOURCES a.cpp b.cpp ALONE ops/c.cpp PUBLIC base PRIVATE fmt::fmt [RUNS_ONCE])
# PUBLIC and PRIVATE take folder names of this project or imported targets.
function(nadi_library name)
  cmake_parse_arguments(ARG "RUNS_ONCE" "" "SOURCES;ALONE;PUBLIC;PRIVATE" ${ARGN})
  set(target nadi_${name})
  nadi_compile_alone(${ARG_ALONE})
  list(APPEND ARG_SOURCES ${ARG_ALONE})
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(nadi::${name} ALIAS ${target})
  nadi_compile_folder_alone(${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${NADI_COMPILE_OPTIONS}>")
  if(ARG_RUNS_ONCE)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${NADI_RUNS_ONCE_OPTIONS}>")
    nadi_precompile(${target} once)
  else()
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${NADI_RUNS_OFTEN_OPTIONS}>")
    nadi_precompile(${target} often)
  endif()
  nadi_include_root(${target} ${name})
  target_include_directories(${target} PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  nadi_resolve(public ${ARG_PUBLIC})
  nadi_resolve(private ${ARG_PRIVATE})
  target_link_libraries(${target} PUBLIC ${public} PRIVATE ${private})
  set_property(GLOBAL APPEND PROPERTY NADI_LIBRARIES ${name})
endfunction()

# Folder names become nadi::<name>; imported targets stay as they are.
function(nadi_resolve result)
  set(resolved)
  foreach(item ${ARGN})
    if(item MATCHES "::")
      list(APPEND resolved ${item})
    else()
      list(APPEND resolved nadi::${item})
    endif()
  endforeach()
  set(${result} ${resolved} PARENT_SCOPE)
endfunction()

# Tests are compiled once and run once: optimising them as much as what they test would take a third longer.
set(NADI_TEST_COMPILE_OPTIONS ${NADI_COMPILE_OPTIONS} -O1)
# All tests share one set of precompiled headers: GoogleTest's are the largest that a test reads. CMake writes it
# for one target, and the others use it; flags must be the same.
function(nadi_precompile_tests name)
  if(NOT TARGET nadi_test_headers)
    set(source ${PROJECT_BINARY_DIR}/test_headers.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "// The object that the precompiled headers of tests belong to.\n")
    add_library(nadi_test_headers OBJECT ${source})
    target_compile_features(nadi_test_headers PUBLIC cxx_std_20)
    target_compile_options(nadi_test_headers PRIVATE ${NADI_TEST_COMPILE_OPTIONS})
    target_link_libraries(nadi_test_headers PRIVATE GTest::gtest_main GTest::gmock fmt::fmt)
    target_precompile_headers(nadi_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h> ${NADI_PRECOMPILED_HEADERS})
  endif()
  target_precompile_headers(${name} REUSE_FROM nadi_test_headers)
endfunction()

# Threads of OpenMP that wait spin for a short time only, as in the program (cli/main.cpp). With its default, tests that
# train side by side on two cores took up to 30 times as long.
set(NADI_TEST_ENVIRONMENT GOMP_SPINCOUNT=1000)

# nadi_is_missing("this build has no tokenizers")
# A library was not found, and what needs it says so in these words (a regular expression). Tests that end with them are
# skipped by ctest, which names them at its end: they can only run where the library is.
function(nadi_is_missing words)
  set_property(GLOBAL APPEND PROPERTY NADI_MISSING "${words}")
endfunction()
# The properties of tests that follow from that.
function(nadi_skipping result)
  get_property(missing GLOBAL PROPERTY NADI_MISSING)
  set(${result} "" PARENT_SCOPE)
  if(missing)
    list(JOIN missing "|" words)
    set(${result} SKIP_REGULAR_EXPRESSION "${words}" PARENT_SCOPE)
  endif()
endfunction()

# nadi_test(graph_test SOURCES shape_test.cpp ALONE op_test.cpp LINK graph [FULL | LABEL cuda] [MEASURING pattern ...])
# Tests carry the label `fast` unless FULL is given, then `full`, or another label, which is part of their names, too:
# the same test may be there without it. Those that match a pattern of GoogleTest's under MEASURING time this machine
# themselves: they are `full`, and have it for themselves, since they measure again as long as others disturb them.
function(nadi_test name)
  if(NOT NADI_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "FULL" "LABEL" "SOURCES;ALONE;LINK;MEASURING" ${ARGN})
  nadi_compile_alone(${ARG_ALONE})
  add_executable(${name} ${ARG_SOURCES} ${ARG_ALONE})
  nadi_compile_folder_alone(${name})
  target_compile_options(${name} PRIVATE ${NADI_TEST_COMPILE_OPTIONS})
  nadi_resolve(link ${ARG_LINK})
  target_link_libraries(${name} PRIVATE ${link} nadi::testing GTest::gtest_main GTest::gmock)
  nadi_precompile_tests(${name})
  set(prefix)
  if(ARG_LABEL)
    set(label ${ARG_LABEL})
    set(prefix TEST_PREFIX ${label}.)
  elseif(ARG_FULL)
    set(label full)
  else()
    set(label fast)
  endif()
  # Values of parameters are no part of names: of those without a printer they are addresses, which change.
  set(discovery ${prefix} NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60)
  nadi_skipping(skipping)
  set(properties ENVIRONMENT ${NADI_TEST_ENVIRONMENT} ${skipping})
  if(NOT ARG_MEASURING)
    gtest_discover_tests(${name} ${discovery} PROPERTIES LABELS ${label} ${properties})
    return()
  endif()
  list(JOIN ARG_MEASURING ":" measuring)
  gtest_discover_tests(${name} ${discovery} TEST_FILTER "-${measuring}" PROPERTIES LABELS ${label} ${properties})
  gtest_discover_tests(${name} ${discovery} TEST_FILTER "${measuring}" TEST_LIST ${name}_MEASURING
    PROPERTIES LABELS full PROCESSORS 2 ${properties})
endfunction()

# nadi_sanitized_test(sanitized_reader TESTS reader_test.cpp SOURCES reader.cpp ../base/error.cpp FOLDERS trace base)
# Tests of damaged files under AddressSanitizer and UndefinedBehaviorSanitizer, in every test run: the sources
# that they need are compiled a second time with them. (The preset `asan` does so with everything.)
function(nadi_sanitized_test name)
  if(NOT NADI_BUILD_TESTS OR NADI_SANITIZE)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "TESTS;SOURCES;FOLDERS" ${ARGN})
  add_executable(${name}_test ${ARG_TESTS} ${ARG_SOURCES})
  target_compile_options(${name}_test PRIVATE ${NADI_COMPILE_OPTIONS}
    -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(${name}_test PRIVATE -fsanitize=address,undefined)
  list(TRANSFORM ARG_FOLDERS PREPEND ${PROJECT_BINARY_DIR}/include/ OUTPUT_VARIABLE roots)
  target_include_directories(${name}_test PRIVATE ${roots})
  target_link_libraries(${name}_test PRIVATE
    nadi::testing fmt::fmt nlohmann_json::nlohmann_json GTest::gtest_main GTest::gmock)
  add_test(NAME ${name} COMMAND ${name}_test)
  set_tests_properties(${name} PROPERTIES LABELS full TIMEOUT 300)
endfunction()
