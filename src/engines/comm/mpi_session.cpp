#include "nadi/comm/mpi_session.h"

#include <mpi.h>

#include <exception>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/comm/launcher_environment.h"
#include "nadi/comm/mpi_communicator.h"
#include "nadi/comm/mpi_error.h"

namespace nadi::inline engines {
namespace {

bool running() {
  int begun = 0, ended = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  return begun != 0 && ended == 0;
}

}  // namespace

struct MpiSession::State {
  int exceptions = std::uncaught_exceptions();
  std::unique_ptr<MpiCommunicator> world;
};

MpiSession::MpiSession(const MpiOptions& options) : state_(std::make_unique<State>()) {
  int begun = 0;
  MPI_Initialized(&begun);
  check(begun == 0, "a process has one MPI session");
  int threads = MPI_THREAD_SINGLE;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &threads), "MPI_Init_thread");
  if (threads < MPI_THREAD_SERIALIZED)
    throw environment_error("this MPI does not support calls from several threads",
                            "Nadi needs MPI_THREAD_SERIALIZED: use Open MPI, or an MPI built with threads");
  state_->world = std::make_unique<MpiCommunicator>(options.piece_bytes);
  const std::int64_t started = ranks_started(process_environment());
  if (started > 1 && state_->world->size() != started)
    throw environment_error(
        format("{} ranks were started, but MPI in this process sees {}", started, state_->world->size()),
        "start them with the mpirun of the MPI that Nadi was built with; with Slurm: srun --mpi=pmix");
}

MpiSession::~MpiSession() {
  const bool failed = std::uncaught_exceptions() > state_->exceptions;
  if (!failed) {
    check(state_->world->idle(), "MPI ends while requests are pending");
    state_->world->free_groups();
  }
  state_->world.reset();
  if (!failed) MPI_Finalize();
}

Communicator& MpiSession::world() {
  return *state_->world;
}

void end_all(int exit_code) {
  if (running()) MPI_Abort(MPI_COMM_WORLD, exit_code);
}

}  // namespace nadi::inline engines
