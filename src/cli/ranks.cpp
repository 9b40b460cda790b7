#include "nadi/cli/ranks.h"

#include <optional>
#include <string>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cli/flags.h"
#include "nadi/cli/launched_job.h"
#include "nadi/cli/train_plan.h"
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

bool starts_ranks(const Flags& flags) {
  return ranks_to_start(flags) > 1 && !started_by_mpi();
}

void start_ranks(const Flags& flags, Console& console) {
  constexpr std::int64_t kMostRanks = 1 << 20;
  const std::int64_t ranks = ranks_to_start(flags);
  if (ranks > kMostRanks) throw usage_error(format("--num-gpus is {}, limit {}", ranks, kMostRanks));
  std::vector<std::string> words{"train"};
  words.insert(words.end(), flags.arguments().begin(), flags.arguments().end());
  run_job({.ranks = static_cast<int>(ranks), .words = std::move(words), .prefix = false}, console);
}

}  // namespace nadi
