// Stands in for mpi_session.cpp where MPI was not found when Nadi was built.
#include "nadi/base/error.h"
#include "nadi/comm/mpi_session.h"

namespace nadi::inline engines {

struct MpiSession::State {};

MpiSession::MpiSession(const MpiOptions& /*options*/) {
  throw environment_error("this build of Nadi has no MPI, so it cannot run on several ranks",
                          "install libopenmpi-dev and openmpi-bin, then configure and build again");
}

MpiSession::~MpiSession() = default;

Communicator& MpiSession::world() {
  unreachable();
}

void end_all(int /*exit_code*/) {}

}  // namespace nadi::inline engines
