#include "nadi/launch/rank_world.h"

#include <optional>
#include <vector>

#include "nadi/comm/comm_record.h"
#include "nadi/comm/launcher_environment.h"
#include "nadi/comm/mpi_session.h"
#include "nadi/comm/recorded_communicator.h"
#include "nadi/comm/single_process.h"
#include "nadi/launch/rank_watch.h"

namespace nadi::inline jobs {

struct RankWorld::Parts {
  CommRecord record;
  std::optional<RankWatch> watch;
  std::optional<MpiSession> session;
  std::optional<RecordedCommunicator> recorded;
  SingleProcess alone;
};

RankWorld::RankWorld(const RankWatchOptions& watch) : parts_(std::make_unique<Parts>()) {
  const std::int64_t ranks = ranks_started(process_environment());
  std::vector<Rank> all;
  for (std::int64_t rank = 0; rank < ranks; ++rank) all.push_back(Rank{static_cast<std::int32_t>(rank)});
  parts_->record.add_group(std::move(all));
  parts_->watch.emplace(watch, parts_->record);
  // One rank needs no MPI, which srun may have started without what MPI asks it for (PMIx).
  if (ranks <= 1) return;
  const std::uint64_t place = parts_->record.start({.op = CommOp::kStart});
  const CommRecord::Waiting waiting(parts_->record, place);
  parts_->session.emplace();
  parts_->recorded.emplace(parts_->session->world(), parts_->record);
  parts_->record.finish(place);
}

// The ranks wait for each other at the end, too.
RankWorld::~RankWorld() {
  if (!parts_->session) return;
  const CommRecord::Waiting waiting(parts_->record, parts_->record.start({.op = CommOp::kEnd}));
  parts_->recorded.reset();
  parts_->session.reset();
}

Communicator& RankWorld::communicator() {
  if (parts_->recorded) return *parts_->recorded;
  return parts_->alone;
}

RankWatch& RankWorld::watch() {
  return *parts_->watch;
}

}  // namespace nadi::inline jobs
