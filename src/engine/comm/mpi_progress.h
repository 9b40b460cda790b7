// Requests over MPI, and their progress. MPI moves messages only inside calls to it, so a thread calls MPI
// while the rank computes: it polls the pending requests at intervals, and copies and sums as long as there
// is something to copy or to sum. While the rank itself waits for a request, the rank calls MPI and the
// thread sleeps. One lock is around all calls of MPI (MPI_THREAD_SERIALIZED).
//
//   MpiProgress progress;
//   const CommRequest request = progress.start(std::move(exchange), lane);
//   progress.wait(request);
//
// Besides copies and sums, the thread costs a look at the pending requests every 50 to 300 us, 7 to 15 us
// each; nothing when none is pending.
#pragma once

#include <compare>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

#include "nadi/base/units.h"
#include "nadi/engine/comm/communicator.h"
#include "nadi/engine/comm/mpi_exchange.h"

namespace nadi {

// Exchanges of one lane begin in the order in which they were started, on both ends; of those with
// kCollectives a few are under way at a time, of the others, whose messages only their order tells apart,
// one.
struct MpiLane {
  enum class Kind : std::uint8_t { kCollectives, kSend, kReceive };
  CommGroup group = kWorld;
  Kind kind = Kind::kCollectives;
  std::int64_t peer = 0;
  std::int64_t tag = 0;
  auto operator<=>(const MpiLane&) const = default;
};

class MpiProgress {
 public:
  MpiProgress();
  // Drops what is pending.
  ~MpiProgress();
  MpiProgress(const MpiProgress&) = delete;
  MpiProgress& operator=(const MpiProgress&) = delete;

  CommRequest start(std::unique_ptr<MpiExchange> exchange, const MpiLane& lane);
  std::optional<Nanoseconds> test(CommRequest request);
  Nanoseconds wait(CommRequest request);
  bool idle();  // nothing was started that has not been waited for

  // For other calls of MPI: none is made by this class meanwhile.
  std::unique_lock<std::mutex> hold();

 private:
  struct Pending {
    std::unique_ptr<MpiExchange> exchange;  // gone when it is done
    MpiLane lane;
    std::optional<Nanoseconds> done_at = {};
  };
  struct Lane {
    std::deque<std::uint64_t> waiting = {};
    std::int64_t under_way = 0;
  };

  void run();   // the thread
  bool poll();  // whether anything happened
  void begin_next(const MpiLane& lane);
  void finish(std::uint64_t id);
  std::optional<Nanoseconds> take(CommRequest request);

  std::mutex mutex_;
  std::condition_variable wake_;
  bool caller_waits_ = false;  // makes progress itself
  bool stopping_ = false;
  std::exception_ptr failure_ = {};  // of the thread: thrown by the next call

  MpiRequests requests_;
  std::uint64_t next_id_ = 1;
  std::unordered_map<std::uint64_t, Pending> pending_;
  std::unordered_map<MpiExchange*, std::uint64_t> ids_;  // of exchanges under way
  std::map<MpiLane, Lane> lanes_;
  std::vector<MpiExchange*> moved_;

  std::thread thread_;
};

}  // namespace nadi
