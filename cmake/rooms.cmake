# One library target per folder of src/. A folder's headers are reached as "nadi/<folder>/<header>.h" and
# only through the target that owns them: each target exports an include root that holds nothing but a
# link to its own folder. So including a header of a folder that was not linked fails to compile, and the
# order of folders in the design is kept by the build rather than by good will.

set(NADI_COMPILE_OPTIONS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns about std::string::insert (PR 105651) and about vectors in temporaries of aggregates.
  list(APPEND NADI_COMPILE_OPTIONS -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(NADI_WERROR)
  list(APPEND NADI_COMPILE_OPTIONS -Werror)
endif()
if(NADI_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

# nadi_library(graph SOURCES a.cpp b.cpp PUBLIC base PRIVATE fmt::fmt)
# PUBLIC and PRIVATE take folder names of this project or imported targets.
function(nadi_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  set(target nadi_${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(nadi::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE ${NADI_COMPILE_OPTIONS})
  set(root ${PROJECT_BINARY_DIR}/include/${name})
  file(MAKE_DIRECTORY ${root}/nadi)
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/nadi/${name} SYMBOLIC)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${root}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
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

# nadi_test(graph_test SOURCES shape_test.cpp LINK graph [FULL])
# Tests carry the label `fast` unless FULL is given, then `full`.
function(nadi_test name)
  if(NOT NADI_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "FULL" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${NADI_TEST_COMPILE_OPTIONS})
  nadi_resolve(link ${ARG_LINK})
  target_link_libraries(${name} PRIVATE ${link} GTest::gtest_main GTest::gmock)
  target_compile_definitions(${name} PRIVATE NADI_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(ARG_FULL)
    set(label full)
  else()
    set(label fast)
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${label})
endfunction()
