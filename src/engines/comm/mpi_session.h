// MPI's life in this process, from start to end.
//
//   int main() {
//     try {
//       if (started_by_mpi()) {
//         MpiSession session;
//         run(session.world());
//       }
//     } catch (const Error& error) {
//       print(error);
//       end_all(exit_code(error.kind()));
//     }
//   }
//
// One in a process, and only once. Where MPI was not found when Nadi was built, constructing it is Error
// (environment).
//
// A rank that fails must end the others: they would wait for it for ever. So a session that is left by an
// exception does not finalize MPI, which would wait for the others; the message is printed, and then
// end_all() ends all ranks. A process that just exits in this state is noticed by mpirun, too, which
// then ends the rest.
#pragma once

#include <cstdint>
#include <memory>

#include "nadi/comm/communicator.h"

namespace nadi::inline engines {

// Whether mpirun or srun started this process: from its environment, without calling MPI.
bool started_by_mpi();

struct MpiOptions {
  // Messages are moved in pieces of this size, a multiple of 8; all ranks have the same. Measured by
  // bench/comm_bench: smaller ones cost more calls, larger ones leave the cache before they are summed.
  std::int64_t piece_bytes = 256 * 1024;
};

class MpiSession {
 public:
  // Error (environment) also when MPI does not find the other ranks that were started together with this one.
  explicit MpiSession(const MpiOptions& options = {});
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  Communicator& world();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Ends all ranks of the job, this one included, with this exit code. Returns where MPI is not running.
void end_all(int exit_code);

}  // namespace nadi::inline engines
