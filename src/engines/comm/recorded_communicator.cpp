#include "nadi/comm/recorded_communicator.h"

namespace nadi::inline engines {
namespace {

Bytes size_in(std::span<const std::byte> bytes) {
  return Bytes{static_cast<std::int64_t>(bytes.size())};
}

}  // namespace

RecordedCommunicator::RecordedCommunicator(Communicator& inner, CommRecord& record)
    : inner_(inner), record_(record) {}

// The members meet for it: it is recorded as a collective of the group that it makes.
CommGroup RecordedCommunicator::add_group(std::span<const Rank> members) {
  const auto group = CommGroup{static_cast<std::uint32_t>(record_.read().groups.size())};
  record_.add_group({members.begin(), members.end()});
  const std::uint64_t place = record_.start({.op = CommOp::kNewGroup, .group = group});
  const CommRecord::Waiting waiting(record_, place);
  const CommGroup added = inner_.add_group(members);
  record_.finish(place);
  return added;
}

template <class Call>
CommRequest RecordedCommunicator::started(const CommRecord::Start& start, const Call& call) {
  const std::uint64_t place = record_.start(start);
  const CommRequest request = call();
  record_.name(place, request);
  return request;
}

CommRequest RecordedCommunicator::all_reduce(CommLine line, CommBuffer buffer, ReduceOp op) {
  return started({.op = CommOp::kAllReduce, .group = line.group, .size = size_in(buffer.bytes)},
                 [&] { return inner_.all_reduce(line, buffer, op); });
}

CommRequest RecordedCommunicator::reduce(CommLine line, CommBuffer buffer, ReduceOp op, std::int64_t root) {
  return started({.op = CommOp::kReduce, .group = line.group, .size = size_in(buffer.bytes)},
                 [&] { return inner_.reduce(line, buffer, op, root); });
}

CommRequest RecordedCommunicator::all_gather(CommLine line, std::span<const std::byte> part,
                                             std::span<std::byte> whole) {
  return started({.op = CommOp::kAllGather, .group = line.group, .size = size_in(whole)},
                 [&] { return inner_.all_gather(line, part, whole); });
}

CommRequest RecordedCommunicator::reduce_scatter(CommLine line, CommBuffer whole, std::span<std::byte> part,
                                                 ReduceOp op) {
  return started({.op = CommOp::kReduceScatter, .group = line.group, .size = size_in(whole.bytes)},
                 [&] { return inner_.reduce_scatter(line, whole, part, op); });
}

CommRequest RecordedCommunicator::broadcast(CommLine line, std::span<std::byte> bytes, std::int64_t root) {
  return started({.op = CommOp::kBroadcast, .group = line.group, .size = size_in(bytes)},
                 [&] { return inner_.broadcast(line, bytes, root); });
}

CommRequest RecordedCommunicator::all_to_all(CommLine line, std::span<const std::byte> from,
                                             std::span<std::byte> to) {
  return started({.op = CommOp::kAllToAll, .group = line.group, .size = size_in(from)},
                 [&] { return inner_.all_to_all(line, from, to); });
}

CommRequest RecordedCommunicator::exchange(CommLine line, std::span<const std::byte> from,
                                           std::span<std::byte> to, const ExchangeSizes& sizes) {
  return started({.op = CommOp::kAllToAll, .group = line.group, .size = size_in(from)},
                 [&] { return inner_.exchange(line, from, to, sizes); });
}

CommRequest RecordedCommunicator::send(CommLine line, std::int64_t peer, std::int64_t tag,
                                       std::span<const std::byte> bytes) {
  return started({.op = CommOp::kSend, .group = line.group, .peer = peer, .tag = tag, .size = size_in(bytes)},
                 [&] { return inner_.send(line, peer, tag, bytes); });
}

CommRequest RecordedCommunicator::receive(CommLine line, std::int64_t peer, std::int64_t tag,
                                          std::span<std::byte> bytes) {
  return started(
      {.op = CommOp::kReceive, .group = line.group, .peer = peer, .tag = tag, .size = size_in(bytes)},
      [&] { return inner_.receive(line, peer, tag, bytes); });
}

void RecordedCommunicator::stream_wait(StreamId stream, CommRequest request) {
  const CommRecord::Waiting waiting(record_, request);
  inner_.stream_wait(stream, request);
}

std::optional<Nanoseconds> RecordedCommunicator::test(CommRequest request) {
  const std::optional<Nanoseconds> done = inner_.test(request);
  if (done) record_.finish(request);
  return done;
}

Nanoseconds RecordedCommunicator::wait(CommRequest request) {
  const CommRecord::Waiting waiting(record_, request);
  const Nanoseconds done = inner_.wait(request);
  record_.finish(request);
  return done;
}

void RecordedCommunicator::forget(CommRequest request) {
  const CommRecord::Waiting waiting(record_, request);
  inner_.forget(request);
  record_.finish(request);
}

void RecordedCommunicator::barrier(CommGroup group) {
  const std::uint64_t place = record_.start({.op = CommOp::kBarrier, .group = group});
  const CommRecord::Waiting waiting(record_, place);
  inner_.barrier(group);
  record_.finish(place);
}

}  // namespace nadi::inline engines
