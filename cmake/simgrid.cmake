# SimGrid, against which tests check the flow model of networks. Debian's package has no CMake file.
find_path(SIMGRID_INCLUDE_DIR simgrid/s4u.hpp)
find_library(SIMGRID_LIBRARY simgrid)
mark_as_advanced(SIMGRID_INCLUDE_DIR SIMGRID_LIBRARY)
if(SIMGRID_INCLUDE_DIR AND SIMGRID_LIBRARY AND NOT TARGET SimGrid::simgrid)
  add_library(SimGrid::simgrid UNKNOWN IMPORTED)
  set_target_properties(SimGrid::simgrid PROPERTIES
    IMPORTED_LOCATION ${SIMGRID_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${SIMGRID_INCLUDE_DIR})
endif()
