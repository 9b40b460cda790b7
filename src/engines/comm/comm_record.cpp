#include "nadi/comm/comm_record.h"

#include <algorithm>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/comm/steady_time.h"

namespace nadi::inline engines {

std::string_view to_string(CommOp op) {
  switch (op) {
    case CommOp::kAllReduce:
      return "all-reduce";
    case CommOp::kReduce:
      return "reduce";
    case CommOp::kAllGather:
      return "all-gather";
    case CommOp::kReduceScatter:
      return "reduce-scatter";
    case CommOp::kBroadcast:
      return "broadcast";
    case CommOp::kAllToAll:
      return "all-to-all";
    case CommOp::kBarrier:
      return "barrier";
    case CommOp::kSend:
      return "send";
    case CommOp::kReceive:
      return "receive";
    case CommOp::kNewGroup:
      return "new group";
    case CommOp::kStart:
      return "MPI_Init";
    case CommOp::kEnd:
      return "MPI_Finalize";
    case CommOp::kConnect:
      return "set-up of NCCL";
    case CommOp::kDevice:
      return "its GPU";
  }
  unreachable();
}

CommRecord::Snapshot CommRecord::read() const {
  const std::lock_guard lock(mutex_);
  Snapshot snapshot{.groups = groups_, .last = {}, .waits = waits_, .moves = moves_};
  const std::uint64_t first = started_ > kKept ? started_ - kKept + 1 : 1;
  for (std::uint64_t place = first; place <= started_; ++place)
    snapshot.last.push_back(ring_[place % kKept].request);
  return snapshot;
}

std::uint64_t CommRecord::moves() const {
  const std::lock_guard lock(mutex_);
  return moves_;
}

bool CommRecord::waits() const {
  const std::lock_guard lock(mutex_);
  return waits_.has_value();
}

void CommRecord::moved() {
  const std::lock_guard lock(mutex_);
  ++moves_;
}

void CommRecord::add_group(std::vector<Rank> members) {
  const std::lock_guard lock(mutex_);
  groups_.push_back({.members = std::move(members)});
}

std::uint64_t CommRecord::start(const Start& start) {
  const Nanoseconds now = steady_time();
  const std::lock_guard lock(mutex_);
  Group& group = groups_.at(static_cast<std::size_t>(start.group));
  RecordedRequest request{
      .op = start.op, .group = start.group, .tag = start.tag, .size = start.size, .started = now};
  if (is_message(start.op))
    request.peer = to_number(group.members.at(static_cast<std::size_t>(start.peer)));
  else
    request.number = ++group.started;
  ++started_;
  at(started_) = {.request = request, .place = started_, .name = std::nullopt};
  return started_;
}

void CommRecord::name(std::uint64_t place, CommRequest request) {
  const std::lock_guard lock(mutex_);
  if (at(place).place == place) at(place).name = request;
}

// Requests are waited for soon after they were started: the newest come first.
CommRecord::Entry* CommRecord::find(CommRequest request) {
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(started_, kKept); ++i)
    if (Entry& entry = at(started_ - i); entry.name == request) return &entry;
  return nullptr;
}

void CommRecord::begin_wait(CommRequest request) {
  const Nanoseconds now = steady_time();
  const std::lock_guard lock(mutex_);
  const Entry* const entry = find(request);
  waits_ = Wait{.request = entry != nullptr ? entry->request : RecordedRequest{}, .since = now};
}

void CommRecord::begin_wait(std::uint64_t place) {
  const Nanoseconds now = steady_time();
  const std::lock_guard lock(mutex_);
  waits_ = Wait{.request = at(place).request, .since = now};
}

void CommRecord::begin_wait(const RecordedRequest& request) {
  const Nanoseconds now = steady_time();
  const std::lock_guard lock(mutex_);
  waits_ = Wait{.request = request, .since = now};
  waits_->request.started = now;
}

void CommRecord::end_wait() {
  const std::lock_guard lock(mutex_);
  waits_.reset();
  ++moves_;
}

void CommRecord::finish(Entry& entry) {
  if (entry.request.done) return;
  entry.request.done = steady_time();
  entry.name.reset();  // names are used again
  ++moves_;
}

void CommRecord::finish(CommRequest request) {
  const std::lock_guard lock(mutex_);
  if (Entry* const entry = find(request))
    finish(*entry);
  else
    ++moves_;  // started before all that is kept
}

void CommRecord::finish(std::uint64_t place) {
  const std::lock_guard lock(mutex_);
  if (at(place).place == place)
    finish(at(place));
  else
    ++moves_;
}

}  // namespace nadi::inline engines
