// Requests over MPI, and their progress. MPI moves messages only inside calls to it, so a thread calls MPI
// while the rank computes: it polls the pending requests at intervals, and copies and sums as long as there
// is something to copy or to sum. While the rank itself waits for a request, the rank calls MPI and the
// thread sleeps. One lock is around all calls of MPI (MPI_THREAD_SERIALIZED).
//
//   MpiProgress progress;
//   MpiSlot& slot = progress.take_slot();
//   slot.transfer.clear();
//   slot.transfer.add(stream);
//   const CommRequest request = progress.start(slot, slot.transfer, lane);
//   progress.wait(request);
//
// A request has a slot, with memory for its exchange, until it was waited for; each takes the free slot with
// the lowest number. So the slots that requests get follow from the caller's calls alone, not from when
// messages arrive, and a step that starts and waits as the one before it did finds all its memory there:
// nothing is allocated. The same holds for lanes, which stay, and for lists of pieces, which have room for
// all that was started.
//
// Besides copies and sums, the thread costs a look at the pending requests every 50 to 300 us, 7 to 15 us
// each; nothing when none is pending.
#pragma once

#include <compare>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/comm/communicator.h"
#include "nadi/comm/mpi_collective.h"
#include "nadi/comm/mpi_transfer.h"

namespace nadi::inline engines {

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

struct MpiLaneState;

// What a request needs. Exactly one of the two exchanges is used for one request.
struct MpiSlot {
  MpiTransfer transfer;
  MpiCollective collective;

  // Number of a request of MpiProgress.
  std::uint32_t number = 0;
  std::uint32_t uses = 0;  // so far: tells requests of one slot apart
  bool used = false;
  MpiExchange* exchange = nullptr;
  std::int64_t pieces = 0;
  MpiLaneState* lane = nullptr;
  MpiSlot* next_in_lane = nullptr;  // of those that wait for their turn
  std::optional<Nanoseconds> done_at = {};
};

struct MpiLaneState {
  MpiSlot* first_waiting = nullptr;
  MpiSlot* last_waiting = nullptr;
  std::int64_t under_way = 0;
  std::int64_t limit = 1;  // of those under way at once
};

class MpiProgress {
 public:
  MpiProgress();
  // Drops what is pending.
  ~MpiProgress();
  MpiProgress(const MpiProgress&) = delete;
  MpiProgress& operator=(const MpiProgress&) = delete;

  // For the next request. The exchange that is not yet started is the caller's.
  MpiSlot& take_slot();
  // `exchange` is one of the slot's.
  CommRequest start(MpiSlot& slot, MpiExchange& exchange, const MpiLane& lane);
  std::optional<Nanoseconds> test(CommRequest request);
  // Until it is done; it is still to be tested or waited for.
  void await(CommRequest request);
  Nanoseconds wait(CommRequest request);
  bool idle();  // nothing was started that has not been waited for

  // For other calls of MPI: none is made by this class meanwhile.
  std::unique_lock<std::mutex> hold();

 private:
  void run();   // the thread
  bool poll();  // whether anything happened
  void begin_next(MpiLaneState& lane);
  static void finish(MpiSlot& slot);
  MpiSlot& slot_of(CommRequest request);
  std::optional<Nanoseconds> take(CommRequest request);
  void free_slot(MpiSlot& slot);

  std::mutex mutex_;
  std::condition_variable wake_;
  bool caller_waits_ = false;  // makes progress itself
  bool stopping_ = false;
  std::exception_ptr failure_ = {};  // of the thread: thrown by the next call

  MpiRequests requests_;
  std::vector<std::unique_ptr<MpiSlot>> slots_;  // they do not move
  std::vector<std::uint32_t> free_slots_;        // a heap, the lowest number first
  std::int64_t pieces_ = 0;                      // that requests which exist may have under way
  std::map<MpiLane, MpiLaneState> lanes_;        // all that there ever were
  std::vector<MpiExchange*> moved_;

  std::thread thread_;
};

}  // namespace nadi::inline engines
