#include "nadi/engine/comm/mpi_progress.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/engine/comm/steady_time.h"

namespace nadi {
namespace {

using std::chrono::microseconds;

// Of one group. More would take memory for arriving pieces; fewer would leave the second of two short ones
// waiting for a round trip.
constexpr std::int64_t kCollectivesUnderWay = 4;

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

// Signals are not for threads that work.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

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

CommRequest MpiProgress::start(std::unique_ptr<MpiExchange> exchange, const MpiLane& lane) {
  const std::unique_lock lock = hold();
  if (failure_) std::rethrow_exception(failure_);
  const std::uint64_t id = next_id_++;
  pending_.emplace(id, Pending{std::move(exchange), lane});
  lanes_[lane].waiting.push_back(id);
  const bool was_idle = requests_.empty();
  begin_next(lane);
  if (was_idle && !requests_.empty()) wake_.notify_one();
  return CommRequest{id};
}

void MpiProgress::begin_next(const MpiLane& name) {
  const auto found = lanes_.find(name);
  Lane& lane = found->second;
  while (!lane.waiting.empty() && lane.under_way < limit_of(name.kind)) {
    const std::uint64_t id = lane.waiting.front();
    lane.waiting.pop_front();
    MpiExchange* exchange = pending_.at(id).exchange.get();
    exchange->advance(requests_);
    if (exchange->finished()) {  // there was nothing to move
      finish(id);
    } else {
      ids_.emplace(exchange, id);
      ++lane.under_way;
    }
  }
  if (lane.waiting.empty() && lane.under_way == 0) lanes_.erase(found);
}

void MpiProgress::finish(std::uint64_t id) {
  Pending& pending = pending_.at(id);
  pending.done_at = steady_time();
  pending.exchange.reset();
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
    const auto found = ids_.find(exchange);
    const std::uint64_t id = found->second;
    ids_.erase(found);
    finish(id);
    const MpiLane& lane = pending_.at(id).lane;
    --lanes_.at(lane).under_way;
    begin_next(lane);
  }
  return true;
}

std::optional<Nanoseconds> MpiProgress::take(CommRequest request) {
  const auto found = pending_.find(static_cast<std::uint64_t>(request));
  check(found != pending_.end(), "a request is waited for that does not exist, or for a second time");
  const std::optional<Nanoseconds> done_at = found->second.done_at;
  if (done_at) pending_.erase(found);
  return done_at;
}

std::optional<Nanoseconds> MpiProgress::test(CommRequest request) {
  const std::unique_lock lock = hold();
  if (failure_) std::rethrow_exception(failure_);
  if (const std::optional<Nanoseconds> done_at = take(request)) return done_at;
  poll();
  return take(request);
}

Nanoseconds MpiProgress::wait(CommRequest request) {
  std::unique_lock lock = hold();
  if (failure_) std::rethrow_exception(failure_);
  std::optional<Nanoseconds> done_at = take(request);
  if (done_at) return *done_at;
  caller_waits_ = true;
  Nanoseconds idle_since = steady_time();
  while (true) {
    const bool moved = poll();
    done_at = take(request);
    if (done_at) break;
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
  return *done_at;
}

bool MpiProgress::idle() {
  const std::unique_lock lock = hold();
  return pending_.empty();
}

}  // namespace nadi
