#include "nadi/comm/mpi_error.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline engines {

void throw_mpi_error(int code, std::string_view call) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  throw environment_error(
      format("MPI: {} failed: {}", call,
             length > 0 ? std::string(text, text + length) : format("code {}", code)),
      "another rank may have ended, or a host is unreachable: see the output of the other ranks");
}

}  // namespace nadi::inline engines
