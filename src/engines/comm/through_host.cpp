#include "nadi/comm/through_host.h"

#include <algorithm>

#include "nadi/base/error.h"

namespace nadi::inline engines {

ThroughHost::ThroughHost(Communicator& host, CommMemory memory, HostCopies& copies)
    : host_(host), memory_(memory), copies_(copies) {
  check(host.can_move(CommMemory::kHost), "messages go through a communicator for memory of the host");
}

CommLine ThroughHost::on_host(const CommLine& line) const {
  check(can_move(line.memory), "this communicator moves memory of its device only");
  return {line.group, line.stream, CommMemory::kHost};
}

// A copy on the host of what is on the device.
std::span<std::byte> ThroughHost::copied(std::span<const std::byte> bytes) {
  const std::span<std::byte> buffer = copies_.take(bytes.size());
  copies_.to_host(bytes, buffer.data());
  return buffer;
}

CommRequest ThroughHost::started(const Request& request) {
  auto free = std::ranges::find(requests_, false, &Request::used);
  if (free == requests_.end()) free = requests_.insert(requests_.end(), Request{});
  *free = request;
  free->used = true;
  return CommRequest{static_cast<std::uint64_t>(free - requests_.begin())};
}

CommRequest ThroughHost::all_reduce(CommLine line, CommBuffer buffer, ReduceOp op) {
  const CommLine host_line = on_host(line);
  const std::span<std::byte> bytes = copied(buffer.bytes);
  return started({.on_host = host_.all_reduce(host_line, {bytes, buffer.dtype}, op),
                  .got = bytes,
                  .target = buffer.bytes.data()});
}

// Also where it is not the root: what the buffer holds then is not defined.
CommRequest ThroughHost::reduce(CommLine line, CommBuffer buffer, ReduceOp op, std::int64_t root) {
  const CommLine host_line = on_host(line);
  const std::span<std::byte> bytes = copied(buffer.bytes);
  return started({.on_host = host_.reduce(host_line, {bytes, buffer.dtype}, op, root),
                  .got = bytes,
                  .target = buffer.bytes.data()});
}

CommRequest ThroughHost::all_gather(CommLine line, std::span<const std::byte> part,
                                    std::span<std::byte> whole) {
  const CommLine host_line = on_host(line);
  const std::span<std::byte> given = copied(part);
  const std::span<std::byte> got = copies_.take(whole.size());
  return started({.on_host = host_.all_gather(host_line, given, got),
                  .given = given,
                  .got = got,
                  .target = whole.data()});
}

CommRequest ThroughHost::reduce_scatter(CommLine line, CommBuffer whole, std::span<std::byte> part,
                                        ReduceOp op) {
  const CommLine host_line = on_host(line);
  const std::span<std::byte> given = copied(whole.bytes);
  const std::span<std::byte> got = copies_.take(part.size());
  return started({.on_host = host_.reduce_scatter(host_line, {given, whole.dtype}, got, op),
                  .given = given,
                  .got = got,
                  .target = part.data()});
}

CommRequest ThroughHost::broadcast(CommLine line, std::span<std::byte> bytes, std::int64_t root) {
  const CommLine host_line = on_host(line);
  const std::span<std::byte> buffer = copied(bytes);
  return started(
      {.on_host = host_.broadcast(host_line, buffer, root), .got = buffer, .target = bytes.data()});
}

CommRequest ThroughHost::all_to_all(CommLine line, std::span<const std::byte> from, std::span<std::byte> to) {
  const CommLine host_line = on_host(line);
  const std::span<std::byte> given = copied(from);
  const std::span<std::byte> got = copies_.take(to.size());
  return started(
      {.on_host = host_.all_to_all(host_line, given, got), .given = given, .got = got, .target = to.data()});
}

CommRequest ThroughHost::send(CommLine line, std::int64_t peer, std::int64_t tag,
                              std::span<const std::byte> bytes) {
  const CommLine host_line = on_host(line);
  const std::span<std::byte> given = copied(bytes);
  return started({.on_host = host_.send(host_line, peer, tag, given), .given = given});
}

CommRequest ThroughHost::receive(CommLine line, std::int64_t peer, std::int64_t tag,
                                 std::span<std::byte> bytes) {
  const CommLine host_line = on_host(line);
  const std::span<std::byte> got = copies_.take(bytes.size());
  return started({.on_host = host_.receive(host_line, peer, tag, got), .got = got, .target = bytes.data()});
}

ThroughHost::Request& ThroughHost::under_way(CommRequest request) {
  Request& found = requests_.at(static_cast<std::size_t>(request));
  check(found.used, "a request that was never started, or is done");
  return found;
}

void ThroughHost::deliver(Request& request, Nanoseconds done) {
  request.done = done;
  if (request.target != nullptr) copies_.to_device(request.got, request.target);
  if (!request.given.empty()) copies_.give_back(request.given);
  if (!request.got.empty()) copies_.give_back(request.got);
}

Nanoseconds ThroughHost::release(Request& request) {
  request.used = false;
  return *request.done;
}

void ThroughHost::stream_wait(StreamId stream, CommRequest request) {
  check(stream == kComputeStream, "only the compute stream waits for what goes through the host");
  Request& waited = under_way(request);
  if (!waited.done) deliver(waited, host_.wait(waited.on_host));
}

std::optional<Nanoseconds> ThroughHost::test(CommRequest request) {
  Request& tested = under_way(request);
  if (!tested.done) {
    const std::optional<Nanoseconds> done = host_.test(tested.on_host);
    if (!done) return std::nullopt;
    deliver(tested, *done);
  }
  return release(tested);
}

Nanoseconds ThroughHost::wait(CommRequest request) {
  Request& waited = under_way(request);
  if (!waited.done) deliver(waited, host_.wait(waited.on_host));
  return release(waited);
}

}  // namespace nadi::inline engines
