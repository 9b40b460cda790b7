// Communication ops of a program on the CPU: hands them to a communicator, without blocking, and tracks
// the memory that is in use until they are done.
//
//   CommOps comm(groups);
//   comm.reserve(size, memory);                  // reserved_for() the largest staging_bytes() of all ops
//   comm.settle(address, size, /*writes=*/true); // before anything else touches that memory
//   comm.start(op, inputs, outputs, record);
//   ...
//   comm.settle_all();
//
// Nothing is waited for before it is needed: an op that reads what is being received, or writes to what is
// being sent, waits then. So gradients are reduced while the backward pass goes on, and what is sent to
// the next stage leaves while this one computes, without a plan for it. Waiting as late as
// possible cannot deadlock where the program, posting and waiting in its own order, does not.
//
// Parts along an axis other than the first are not contiguous: they are packed into staging memory, of which
// there are a few buffers; when all are in use, the oldest is waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nadi/engine/comm/communicator.h"
#include "nadi/engine/cpu/kernel.h"

namespace nadi {
class PlanGroups;
struct ExecutedStep;
}  // namespace nadi

namespace nadi::cpu {

class CommOps {
 public:
  // nullptr: there are no other ranks, and start() is never called.
  CommOps(const PlanGroups* groups, int threads);

  bool connected() const { return groups_ != nullptr; }

  // The staging memory that one call of the op needs.
  static std::int64_t staging_bytes(const Graph& graph, const Op& op);
  // All of it, for the largest of the ops.
  static Bytes reserved_for(std::int64_t staging);
  void reserve(Bytes size, std::byte* memory);

  // Inputs may be strided. With `record`, the op's entry in it, which is there already, gets its end.
  void start(const OpView& op, std::span<const Operand> inputs, std::span<const Operand> outputs,
             ExecutedStep* record);

  bool idle() const { return pending_.empty(); }
  // Waits for what uses this memory: for what writes it, and where the caller writes also for what reads it.
  void settle(const std::byte* address, std::int64_t size, bool writes);
  void settle_all();

  // Handed to the communicator so far, as the graph counts it: without what buckets are padded with.
  Bytes sent() const { return sent_; }

 private:
  struct Range {
    const std::byte* begin = nullptr;
    const std::byte* end = nullptr;
    Range() = default;
    Range(const std::byte* address, std::int64_t size) : begin(address), end(address + size) {}
    explicit Range(std::span<const std::byte> bytes)
        : Range(bytes.data(), static_cast<std::int64_t>(bytes.size())) {}
    bool overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
  };
  // Parts of a tensor, packed one after the other, and where their elements belong.
  struct Unpack {
    const std::byte* packed = nullptr;
    std::byte* whole = nullptr;
    std::int64_t parts = 0, outer = 0, run = 0;  // run: bytes of a part that are contiguous in the whole
  };
  struct Pending {
    CommRequest request{};
    Range reads, writes;
    int staging = -1;
    Unpack unpack = {};
    std::span<std::byte> clear = {};  // zeros when it is done
    ExecutedStep* record = nullptr;
    std::size_t recorded = 0;
  };

  // An op with its operands and its group.
  struct Call;

  Pending all_reduce(const Call& call);
  Pending reduce(const Call& call);
  Pending broadcast(const Call& call);
  Pending all_gather(const Call& call);
  Pending reduce_scatter(const Call& call);
  Pending all_to_all(const Call& call);
  Pending bucket_reduce_scatter(const Call& call);
  Pending bucket_all_gather(const Call& call);
  Pending send(const Call& call);
  Pending receive(const Call& call);

  void finish(std::size_t pending);
  std::byte* take_staging(Pending& pending);
  const std::byte* contiguous(const Operand& operand, std::byte* staging) const;
  std::byte* copied(const Operand& from, const Operand& to) const;

  const PlanGroups* groups_;
  int threads_;
  std::byte* staging_ = nullptr;
  std::int64_t staging_size_ = 0;  // of one buffer
  std::vector<char> staging_used_;
  std::vector<Pending> pending_;  // in the order in which they were started
  Bytes sent_;
};

}  // namespace nadi::cpu
