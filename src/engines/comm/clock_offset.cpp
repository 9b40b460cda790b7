#include "nadi/comm/clock_offset.h"

#include <cstdint>
#include <limits>
#include <span>

namespace nadi::inline engines {
namespace {

constexpr int kExchanges = 100;
constexpr std::int64_t kTag = 0;

void send_time(Communicator& world, std::int64_t to, std::int64_t time) {
  world.wait(world.send(kWorld, to, kTag, std::as_bytes(std::span(&time, 1))));
}

std::int64_t receive_time(Communicator& world, std::int64_t from) {
  std::int64_t time = 0;
  world.wait(world.receive(kWorld, from, kTag, std::as_writable_bytes(std::span(&time, 1))));
  return time;
}

// One rank after the other, so that no answer waits for another's.
void answer(Communicator& world, const std::function<Nanoseconds()>& clock) {
  for (std::int64_t rank = 1; rank < world.size(); ++rank)
    for (int i = 0; i < kExchanges; ++i) {
      receive_time(world, rank);
      send_time(world, rank, clock().count());
    }
}

Nanoseconds ask(Communicator& world, const std::function<Nanoseconds()>& clock) {
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  std::int64_t offset = 0;
  for (int i = 0; i < kExchanges; ++i) {
    const std::int64_t asked = clock().count();
    send_time(world, 0, asked);
    const std::int64_t theirs = receive_time(world, 0);
    const std::int64_t round_trip = clock().count() - asked;
    if (round_trip >= shortest) continue;
    shortest = round_trip;
    offset = asked + round_trip / 2 - theirs;
  }
  return Nanoseconds{offset};
}

}  // namespace

Nanoseconds measure_clock_offset(Communicator& world, const std::function<Nanoseconds()>& clock) {
  if (world.rank() != Rank{0}) return ask(world, clock);
  answer(world, clock);
  return Nanoseconds{0};
}

}  // namespace nadi::inline engines
