#include "nadi/job/rank_world.h"

#include <optional>

#include "nadi/engine/comm/mpi_session.h"
#include "nadi/engine/comm/single_process.h"

namespace nadi {

struct RankWorld::Parts {
  std::optional<MpiSession> session;
  SingleProcess alone;
};

RankWorld::RankWorld() : parts_(std::make_unique<Parts>()) {
  if (started_by_mpi()) parts_->session.emplace();
}

RankWorld::~RankWorld() = default;

Communicator& RankWorld::communicator() {
  return parts_->session ? parts_->session->world() : parts_->alone;
}

}  // namespace nadi
