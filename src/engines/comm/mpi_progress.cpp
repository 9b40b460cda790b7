#include "nadi/comm/mpi_progress.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "nadi/base/error.h"
#include "nadi/base/signals_blocked.h"
#include "nadi/comm/steady_time.h"

namespace nadi::inline engines {
namespace {

using std::chrono::microseconds;

// The thread's pause after a look: the shortest while pieces move, doubled while none do. On a virtual
// machine a pause costs 7 to 15 us of processor time, more than anything that a look finds to do but copies
// and sums; shorter ones did not make reductions faster (bench/comm_bench).
constexpr microseconds kShortestPause{50};
constexpr microseconds kLongestPause{300};

// Who waits for a request looks again at once for so long, then lets others run between looks (with more
// ranks than cores, the one it waits for), then pauses.
constexpr Nanoseconds kSpinTime{5'000};
constexpr Nanoseconds kYieldTime{200'000};
constexpr microseconds kWaitPause{20};

std::int64_t limit_of(MpiLane::Kind kind) {
  return kind == MpiLane::Kind::kCollectives ? kCollectivesUnderWay : 1;
}

}  // namespace

MpiProgress::MpiProgress() {
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

MpiProgress::~MpiProgress() {
  {
    const std::unique_lock lock = hold();
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

std::unique_lock<std::mutex> MpiProgress::hold() {
  return std::unique_lock(mutex_);
}

void MpiProgress::run() {
  pthread_setname_np(pthread_self(), "mpi-progress");
  prctl(PR_SET_TIMERSLACK, 1'000UL);  // ns; the 50 us that are usual would be added to every pause
  microseconds pause = kShortestPause;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (requests_.empty() || caller_waits_ || failure_) {
      wake_.wait(lock);
      pause = kShortestPause;
      continue;
    }
    bool moved = false;
    try {
      moved = poll();
    } catch (...) {
      failure_ = std::current_exception();
    }
    pause = moved ? kShortestPause : std::min(2 * pause, kLongestPause);
    lock.unlock();
    std::this_thread::sleep_for(pause);
    lock.lock();
  }
}

MpiSlot& MpiProgress::take_slot() {
  const std::unique_lock lock = hold();
  if (free_slots_.empty()) {
    slots_.push_back(std::make_unique<MpiSlot>());
    MpiSlot& added = *slots_.back();
    added.number = static_cast<std::uint32_t>(slots_.size() - 1);
    added.transfer.slot = added.collective.slot = added.number;
    free_slots_.reserve(slots_.capacity());
    moved_.reserve(slots_.capacity());
    free_slots_.push_back(added.number);
  }
  std::ranges::pop_heap(free_slots_, std::greater<>());
  MpiSlot& slot = *slots_[free_slots_.back()];
  free_slots_.pop_back();
  slot.used = true;
  slot.exchange = nullptr;
  slot.next_in_lane = nullptr;
  slot.done_at.reset();
  ++slot.uses;
  return slot;
}

void MpiProgress::free_slot(MpiSlot& slot) {
  slot.used = false;
  pieces_ -= slot.pieces;
  slot.pieces = 0;
  free_slots_.push_back(slot.number);
  std::ranges::push_heap(free_slots_, std::greater<>());
}

CommRequest MpiProgress::start(MpiSlot& slot, MpiExchange& exchange, const MpiLane& name) {
  const std::unique_lock lock = hold();
  if (failure_) {
    free_slot(slot);
    std::rethrow_exception(failure_);
  }
  slot.exchange = &exchange;
  slot.pieces = exchange.most_pieces();
  pieces_ += slot.pieces;
  requests_.reserve(pieces_);

  MpiLaneState& lane = lanes_[name];
  lane.limit = limit_of(name.kind);
  slot.lane = &lane;
  (lane.last_waiting == nullptr ? lane.first_waiting : lane.last_waiting->next_in_lane) = &slot;
  lane.last_waiting = &slot;
  const bool was_idle = requests_.empty();
  begin_next(lane);
  if (was_idle && !requests_.empty()) wake_.notify_one();
  return CommRequest{std::uint64_t{slot.uses} << 32 | slot.number};
}

void MpiProgress::begin_next(MpiLaneState& lane) {
  while (lane.first_waiting != nullptr && lane.under_way < lane.limit) {
    MpiSlot& slot = *lane.first_waiting;
    lane.first_waiting = slot.next_in_lane;
    if (lane.first_waiting == nullptr) lane.last_waiting = nullptr;
    slot.exchange->advance(requests_);
    if (slot.exchange->finished())  // there was nothing to move
      finish(slot);
    else
      ++lane.under_way;
  }
}

void MpiProgress::finish(MpiSlot& slot) {
  slot.done_at = steady_time();
  slot.exchange->end();
}

bool MpiProgress::poll() {
  const std::span<const MpiPiece> done = requests_.poll();
  if (done.empty()) return false;
  moved_.clear();
  for (const MpiPiece& piece : done) {
    piece.exchange->piece_done(piece);
    if (std::ranges::find(moved_, piece.exchange) == moved_.end()) moved_.push_back(piece.exchange);
  }
  for (MpiExchange* exchange : moved_) {
    exchange->advance(requests_);
    if (!exchange->finished()) continue;
    MpiSlot& slot = *slots_[exchange->slot];
    finish(slot);
    --slot.lane->under_way;
    begin_next(*slot.lane);
  }
  return true;
}

MpiSlot& MpiProgress::slot_of(CommRequest request) {
  const auto bits = static_cast<std::uint64_t>(request);
  const std::size_t number = bits & 0xFFFF'FFFF;
  check(number < slots_.size() && slots_[number]->used && slots_[number]->uses == bits >> 32,
        "a request is waited for that does not exist, or for a second time");
  return *slots_[number];
}

std::optional<Nanoseconds> MpiProgress::take(CommRequest request) {
  MpiSlot& slot = slot_of(request);
  if (slot.done_at) free_slot(slot);
  return slot.done_at;
}

std::optional<Nanoseconds> MpiProgress::test(CommRequest request) {
  const std::unique_lock lock = hold();
  if (failure_) std::rethrow_exception(failure_);
  if (const std::optional<Nanoseconds> done_at = take(request)) return done_at;
  poll();
  return take(request);
}

void MpiProgress::await(CommRequest request) {
  std::unique_lock lock = hold();
  if (failure_) std::rethrow_exception(failure_);
  const MpiSlot& slot = slot_of(request);
  if (slot.done_at) return;
  caller_waits_ = true;
  Nanoseconds idle_since = steady_time();
  while (true) {
    const bool moved = poll();
    if (slot.done_at) break;
    const Nanoseconds now = steady_time();
    if (moved) idle_since = now;
    const Nanoseconds idle = now - idle_since;
    if (idle < kSpinTime) continue;
    lock.unlock();
    if (idle < kYieldTime)
      sched_yield();
    else
      std::this_thread::sleep_for(kWaitPause);
    lock.lock();
  }
  caller_waits_ = false;
  if (!requests_.empty()) wake_.notify_one();
}

Nanoseconds MpiProgress::wait(CommRequest request) {
  await(request);
  const std::unique_lock lock = hold();
  return *take(request);
}

bool MpiProgress::idle() {
  const std::unique_lock lock = hold();
  return free_slots_.size() == slots_.size();
}

}  // namespace nadi::inline engines
