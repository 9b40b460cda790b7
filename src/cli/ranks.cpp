#include "nadi/cli/ranks.h"

#include <optional>
#include <string>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cli/launched_job.h"
#include "nadi/command_line/flags.h"
#include "nadi/engine/comm/launcher_environment.h"
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

bool starts_ranks(std::int64_t ranks) {
  if (const auto foreign = started_by_torchrun(process_environment()))
    throw usage_error(
        format("this process is rank {} of {} by RANK, WORLD_SIZE and MASTER_ADDR, as torchrun sets them; "
               "Nadi's "
               "ranks are those of MPI",
               foreign->rank, foreign->ranks),
        format("start them with 'nadi launch -n {}' or 'mpirun -n {}' in place of torchrun; with Slurm: srun "
               "--mpi=pmix",
               foreign->ranks, foreign->ranks));
  return ranks > 1 && !started_by_mpi();
}

void start_ranks(std::string_view command, std::int64_t ranks, const Flags& flags, Console& console) {
  constexpr std::int64_t kMostRanks = 1 << 20;
  if (ranks > kMostRanks) throw usage_error(format("{} ranks, limit {}", ranks, kMostRanks));
  std::vector<std::string> words{std::string(command)};
  words.insert(words.end(), flags.arguments().begin(), flags.arguments().end());
  run_job({.ranks = static_cast<int>(ranks), .words = std::move(words), .prefix = false}, console);
}

}  // namespace nadi
