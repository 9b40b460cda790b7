#include "nadi/job/rank_world.h"

#include <optional>

#include "nadi/engine/comm/launcher_environment.h"
#include "nadi/engine/comm/mpi_session.h"
#include "nadi/engine/comm/single_process.h"

namespace nadi {

struct RankWorld::Parts {
  std::optional<MpiSession> session;
  SingleProcess alone;
};

RankWorld::RankWorld() : parts_(std::make_unique<Parts>()) {
  // One rank needs no MPI, which srun may have started without what MPI asks it for (PMIx).
  if (ranks_started(process_environment()) > 1) parts_->session.emplace();
}

RankWorld::~RankWorld() = default;

Communicator& RankWorld::communicator() {
  return parts_->session ? parts_->session->world() : parts_->alone;
}

}  // namespace nadi
