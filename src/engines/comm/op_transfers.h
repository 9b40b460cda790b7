// Communication ops of a program, under way: hands them to a communicator, without blocking, and tracks the
// memory that is in use until they are done. The same for all devices.
//
//   OpTransfers transfers({.groups = &groups, .mover = &mover});
//   transfers.reserve(size, memory);                 // reserved_for() the largest transfer_staging() of all
//   ops transfers.settle(address, size, /*writes=*/true);  // before anything else touches that memory
//   transfers.start({op, inputs, outputs}, record);
//   ...
//   transfers.settle_all();
//
// Nothing is waited for before it is needed: an op that reads what is being received, or writes to what is
// being sent, waits then. So gradients are reduced while the backward pass goes on, and what is sent to
// the next stage leaves while this one computes, without a plan for it. Waiting as late as
// possible cannot deadlock where the program, posting and waiting in its own order, does not.
//
// There are a few buffers of staging memory; when all are in use, the oldest is waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/comm/communicator.h"
#include "nadi/comm/op_transfer.h"

namespace nadi::inline traces {
struct ExecutedStep;
}  // namespace nadi::inline traces

namespace nadi::inline engines {

class PlanGroups;

struct OpTransfersOptions {
  // nullptr means there are no other ranks, and start() is never called. Else the communicator of the groups moves
  // `memory`, and so does the mover.
  const PlanGroups* groups = nullptr;
  CommMemory memory = CommMemory::kHost;
  TransferMover* mover = nullptr;
  // Whether the host waits for what is done, and so knows when that was. Else only the compute stream waits.
  bool host_waits = true;
};

class OpTransfers {
 public:
  explicit OpTransfers(const OpTransfersOptions& options);

  bool connected() const { return options_.groups != nullptr; }

  // All of the staging memory, for the largest transfer_staging() of all ops.
  static Bytes reserved_for(std::int64_t staging);
  void reserve(Bytes size, std::byte* memory);

  // Inputs may be strided. With `record`, the op's entry in it, which is there already, gets its end where
  // the host waits.
  void start(const CommOpCall& call, ExecutedStep* record);

  bool idle() const { return pending_.empty(); }
  // Waits for what uses this memory: for what writes it, and where the caller writes also for what reads it.
  // Returns whether there was such.
  bool settle(const std::byte* address, std::int64_t size, bool writes);
  bool settle_all();

  // While rehearsing, memory in use is tracked, and nothing is moved, sent or counted. To be changed only
  // when idle().
  void rehearse(bool on);

  // Handed to the communicator so far, as the graph counts it: without what buckets are padded with.
  Bytes sent() const { return sent_; }
  static Bytes sent_by(const CommOpCall& call);
  void count_sent(Bytes bytes) { sent_ += bytes; }

 private:
  struct Pending {
    CommRequest request{};
    ByteRange reads, writes;
    BlockSwap unpack = {};
    std::span<std::byte> clear = {};
    int staging = -1;
    ExecutedStep* record = nullptr;
    std::size_t recorded = 0;
  };

  CommRequest request(const CommOpCall& call, const OpTransfer& transfer);
  CommRequest exchange(const CommLine& line, const CommOpCall& call, const OpTransfer& transfer);
  void finish(std::size_t pending);
  int take_staging();

  OpTransfersOptions options_;
  bool rehearsing_ = false;
  std::byte* staging_ = nullptr;
  std::int64_t staging_size_ = 0;  // of one buffer
  std::vector<char> staging_used_;
  std::vector<std::int64_t> rows_sent_, rows_received_;  // of the exchange that is being started, in bytes
  std::vector<Pending> pending_;                         // in the order in which they were started
  Bytes sent_;
};

}  // namespace nadi::inline engines
