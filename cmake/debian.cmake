# `make deb`: two packages, nadi (the program, manual pages, completion) and libnadi-dev (static libraries, headers,
# CMake's package file). dpkg-shlibdeps finds the packages of the shared libraries that the program is linked with.

if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME nadi)
set(CPACK_PACKAGE_CONTACT "The Nadi authors <maintainers@nadi.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "runs, traces, simulates, plans and tunes LLM training and inference")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program library)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME nadi)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "openmpi-bin, graphviz")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libnadi-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
string(JOIN ", " CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS
  libfmt-dev libdnnl-dev libutf8proc-dev libsentencepiece-dev libopenmpi-dev libsimdjson-dev zlib1g-dev libzstd-dev
  libsqlite3-dev libpq-dev)

include(CPack)
