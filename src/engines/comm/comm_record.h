// The last requests of this rank's communicator: a flight recorder, for the day on which the ranks wait for
// each other in vain. It costs a lock that nobody else wants and the writing of one line in a ring; nothing
// is allocated after the groups are known.
//
//   CommRecord record;
//   RecordedCommunicator world(mpi, record);          // writes it: recorded_communicator.h
//   const CommRecord::Snapshot now = record.read();   // any thread, at any time
//   if (now.waits) ...                                // what the rank waits for, and since when
//
// Collectives of a group are numbered from 1, in the order in which all members start them. So the member
// whose count of a group is lower than another's number has not come to that collective: it is the one that
// is missing.
//
// Requests of NCCL are parts of what a GPU was given, mostly as a graph, and are not written down one by one: a
// host that waits for its GPU for long waits in kDevice.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/comm/communicator.h"

namespace nadi::inline engines {

enum class CommOp : std::uint8_t {
  kAllReduce,
  kReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kAllToAll,
  kBarrier,
  kSend,
  kReceive,
  kNewGroup,  // members agree on a group
  kStart,     // of MPI, in which all ranks meet
  kEnd,       // of MPI
  kConnect,   // all ranks make communicators of NCCL
  kDevice,    // what a GPU was given, messages and computation
};
std::string_view to_string(CommOp op);  // "all-reduce", ...
constexpr bool is_message(CommOp op) {
  return op == CommOp::kSend || op == CommOp::kReceive;
}

struct RecordedRequest {
  CommOp op = CommOp::kBarrier;
  CommGroup group = kWorld;
  std::uint64_t number = 0;  // of the group's collectives, from 1; of a message 0
  std::int32_t peer = -1;    // of a message: the other rank
  std::int64_t tag = 0;      // of a message
  Bytes size = {};
  Nanoseconds started = {};              // on the steady clock
  std::optional<Nanoseconds> done = {};  // when somebody saw that it was
};

class CommRecord {
 public:
  static constexpr std::size_t kKept = 64;

  struct Group {
    std::vector<Rank> members = {};
    std::uint64_t started = 0;  // collectives
  };
  struct Wait {
    RecordedRequest request;
    Nanoseconds since = {};
  };
  struct Snapshot {
    std::vector<Group> groups;          // by CommGroup
    std::vector<RecordedRequest> last;  // oldest first
    std::optional<Wait> waits;          // the thread that runs the program is in there
    std::uint64_t moves = 0;            // requests that were done and waits that ended: grows with progress
  };
  Snapshot read() const;
  std::uint64_t moves() const;
  bool waits() const;

  // For who writes it, one thread.
  void add_group(std::vector<Rank> members);
  struct Start {
    CommOp op = CommOp::kBarrier;
    CommGroup group = kWorld;
    std::int64_t peer = -1;  // place in the group
    std::int64_t tag = 0;
    Bytes size = {};
  };
  std::uint64_t start(const Start& start);              // its place in the record, from 1
  void name(std::uint64_t place, CommRequest request);  // under which it will be waited for
  // While it lives the rank waits for the request. What is no longer kept is waited for without a record.
  class Waiting {
   public:
    Waiting(CommRecord& record, CommRequest request) : record_(record) { record_.begin_wait(request); }
    Waiting(CommRecord& record, std::uint64_t place) : record_(record) { record_.begin_wait(place); }
    Waiting(CommRecord& record, const RecordedRequest& request) : record_(record) {
      record_.begin_wait(request);
    }
    ~Waiting() { record_.end_wait(); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    CommRecord& record_;
  };
  void finish(CommRequest request);
  void finish(std::uint64_t place);
  void moved();  // something else was waited for, and is done

 private:
  struct Entry {
    RecordedRequest request;
    std::uint64_t place = 0;  // 0 means none
    std::optional<CommRequest> name;
  };
  void begin_wait(CommRequest request);
  void begin_wait(std::uint64_t place);
  void begin_wait(const RecordedRequest& request);
  void end_wait();
  Entry* find(CommRequest request);
  Entry& at(std::uint64_t place) { return ring_[place % kKept]; }
  void finish(Entry& entry);

  mutable std::mutex mutex_;
  std::vector<Group> groups_;
  std::array<Entry, kKept> ring_;
  std::uint64_t started_ = 0;
  std::uint64_t moves_ = 0;
  std::optional<Wait> waits_;
};

}  // namespace nadi::inline engines
