// What MPI reports, as Error (environment) with MPI's own words.
#pragma once

#include <mpi.h>

#include <string_view>

namespace nadi::inline engines {

[[noreturn]] void throw_mpi_error(int code, std::string_view call);

inline void check_mpi(int code, std::string_view call) {
  if (code != MPI_SUCCESS) [[unlikely]]
    throw_mpi_error(code, call);
}

}  // namespace nadi::inline engines
