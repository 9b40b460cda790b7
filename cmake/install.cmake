# What `make install` puts where: the program in bin/, the libraries in lib/, the headers in
# include/nadi/<room>/, and a package file, so that another project can write
#   find_package(nadi REQUIRED)
#   target_link_libraries(mine PRIVATE nadi::nadi)      # or single rooms: nadi::graph, nadi::trace
# examples/embed/ is such a project.

include(CMakePackageConfigHelpers)

get_property(nadi_folders GLOBAL PROPERTY NADI_LIBRARIES)
set(nadi_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/nadi)

# All libraries in one. Within the build its name is nadi_all, since the program's is nadi.
add_library(nadi_all INTERFACE)
add_library(nadi::nadi ALIAS nadi_all)
set_target_properties(nadi_all PROPERTIES EXPORT_NAME nadi)
list(TRANSFORM nadi_folders PREPEND nadi:: OUTPUT_VARIABLE nadi_targets)
target_link_libraries(nadi_all INTERFACE ${nadi_targets})

list(TRANSFORM nadi_folders PREPEND nadi_ OUTPUT_VARIABLE nadi_targets)
install(TARGETS nadi_all ${nadi_targets} EXPORT nadiTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT nadiTargets NAMESPACE nadi:: DESTINATION ${nadi_package_dir})
if(TARGET nadi)
  install(TARGETS nadi RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
endif()

# Headers for our own sources only, as <room>/<header>, besides those named *_for_tests.h. They need other libraries' headers, or are the
# inner side of a source file; no installed header may include them (tests/installed_package.sh looks).
set(NADI_INTERNAL_HEADERS
  base/embedded_file.h
  base/format.h
  base/json.h
  base/json_file.h
  base/json_position.h
  base/json_source.h
  chakra/chakra_json_node.h
  chakra/node_link_graph.h
  chakra/node_link_trace.h
  cluster/catalogue_files.h
  cluster/cluster_keys.h
  cluster/cluster_values.h
  cluster/device_reader.h
  cluster/measured_json.h
  download/npm_package.h
  download/run_program.h
  download/url_download.h
  draw/answer_page.h
  draw/collapse.h
  draw/dot_writer.h
  draw/draw_report.h
  draw/drawn_text.h
  draw/graph_boxes.h
  draw/graph_from_node_link.h
  draw/graph_from_trace.h
  draw/graph_members.h
  draw/graph_page.h
  draw/graph_view.h
  draw/graphml_writer.h
  draw/job_timeline.h
  draw/markup_letter.h
  draw/node_link_output.h
  draw/timeline_report.h
  engine/host_threads.h
  input/decompressor.h
  input/json_reading.h
  input/json_record_array.h
  input/json_records.h
  input/json_recovery.h
  input/json_text.h
  input/json_window.h
  job_health/spoken_date.h
  job_report/job_report_json.h
  job_scripts/rank_function.h
  job_scripts/script_text.h
  model/architecture_reader.h
  model/config_keys.h
  model/described_config.h
  model/rotary_keys.h
  model/window_keys.h
  plan/plan_file_keys.h
  pytorch/decimal_time.h
  pytorch/event_args.h
  pytorch/fuzz_reader.h
  pytorch/host_node.h
  pytorch/json_number.h
  pytorch/json_texts.h
  pytorch/json_tokens.h
  pytorch/kineto_event.h
  pytorch/kineto_lanes.h
  pytorch/nsys_profile.h
  pytorch/process_group_texts.h
  pytorch/record_place.h
  reference/collective.h
  reference/interpreter.h
  reference/kernel.h
  reference/meetings.h
  reference/reference_engine.h
  study/distribution_text.h
  study/file_system_kind.h
  study/journal_file.h
  study/journal_lock.h
  study/journal_replay.h
  study/journal_storage.h
  study/postgres_database.h
  study/postgres_library.h
  study/python_json.h
  study/sql_database.h
  study/sql_schema.h
  study/sql_storage.h
  study/sql_trials.h
  study/sqlite_database.h
  study/study_time.h
  study/trial_change.h
  study/worker_identity.h
  train/wandb_run.h)
# nadi_internal(engines/cpu "*" EXCEPT cpu_engine): of the headers of a room, those that match are internal.
function(nadi_internal room pattern)
  cmake_parse_arguments(ARG "" "" "EXCEPT" ${ARGN})
  cmake_path(GET room PARENT_PATH floor)
  file(GLOB headers RELATIVE ${PROJECT_SOURCE_DIR}/src/${floor} ${PROJECT_SOURCE_DIR}/src/${room}/${pattern}.h)
  cmake_path(GET room FILENAME name)
  foreach(header ${ARG_EXCEPT})
    list(REMOVE_ITEM headers ${name}/${header}.h)
  endforeach()
  list(APPEND NADI_INTERNAL_HEADERS ${headers})
  set(NADI_INTERNAL_HEADERS ${NADI_INTERNAL_HEADERS} PARENT_SCOPE)
endfunction()
nadi_internal(engines/cpu "*" EXCEPT cpu_engine)                      # the rest is how kernels are written
nadi_internal(engines/cuda "*" EXCEPT cuda_available device_traits)   # known without CUDA
nadi_internal(engines/comm "mpi_*" EXCEPT mpi_session)
# What prints reports is the program's alone: it gives out JSON.
nadi_internal(show/tables "*")
nadi_internal(show/report "*" EXCEPT answers_json)
nadi_internal(ask/step "step_settings")
set(nadi_internal_patterns)
foreach(header ${NADI_INTERNAL_HEADERS})
  string(REPLACE "." "\\." pattern ${header})
  list(APPEND nadi_internal_patterns REGEX "/src/[a-z]+/${pattern}$" EXCLUDE)
endforeach()
foreach(room ${nadi_folders})
  get_target_property(folder nadi_${room} SOURCE_DIR)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/nadi
    FILES_MATCHING PATTERN "*.h" PATTERN testdata EXCLUDE PATTERN "*_for_tests.h" EXCLUDE ${nadi_internal_patterns})
endforeach()

# A static library leaves its own libraries to whoever links the final program, so the package file must
# find them again. Targets of a namespace that is not in this table stop the configuration.
set(NADI_PACKAGE_OF_fmt fmt)
set(NADI_PACKAGE_OF_MPI MPI)
set(NADI_PACKAGE_OF_OpenMP OpenMP)
set(NADI_PACKAGE_OF_protobuf Protobuf)
set(NADI_PACKAGE_OF_simdjson simdjson)
set(NADI_PACKAGE_OF_SQLite SQLite3)
set(NADI_PACKAGE_OF_Threads Threads)
set(NADI_PACKAGE_OF_ZLIB ZLIB)
set(NADI_PACKAGE_OF_zstd zstd)
set(NADI_DEPENDENCIES "")
foreach(target ${nadi_targets})
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  foreach(link ${links})
    # Behind BUILD_INTERFACE: not exported. Ours: exported with the rest.
    if(link MATCHES "BUILD_INTERFACE:" OR link MATCHES "(^|:)nadi::" OR NOT link MATCHES "([A-Za-z0-9_]+)::")
      continue()
    endif()
    set(namespace ${CMAKE_MATCH_1})
    if(NOT NADI_PACKAGE_OF_${namespace})
      message(FATAL_ERROR "${target} links ${link}: add its package to the table in cmake/install.cmake")
    endif()
    string(APPEND NADI_DEPENDENCIES "find_dependency(${NADI_PACKAGE_OF_${namespace}})\n")
  endforeach()
endforeach()
string(REPLACE "\n" ";" NADI_DEPENDENCIES "${NADI_DEPENDENCIES}")
list(REMOVE_DUPLICATES NADI_DEPENDENCIES)
list(JOIN NADI_DEPENDENCIES "\n" NADI_DEPENDENCIES)

configure_package_config_file(cmake/nadiConfig.cmake.in ${PROJECT_BINARY_DIR}/nadiConfig.cmake
  INSTALL_DESTINATION ${nadi_package_dir})
# Until version 1 a new minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/nadiConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/nadiConfig.cmake ${PROJECT_BINARY_DIR}/nadiConfigVersion.cmake
  DESTINATION ${nadi_package_dir})
install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
