// A communication op as a request of a communicator: what is handed to it, where in memory, and what must be
// moved within the device's memory before and after. Knows ops, not devices: who moves is a TransferMover.
//
// Parts of a tensor along an axis other than the first are not contiguous: they are packed into staging
// memory before they are sent, and put into place when they have arrived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "nadi/engine/operand.h"
#include "nadi/graph/graph.h"
#include "nadi/graph/ops/collectives.h"
#include "nadi/parallel/stream.h"

namespace nadi::inline engines {

// Blocks of `run` bytes, `rows` x `columns` of them, one after the other: block (i, j) of `from` becomes
// block (j, i) of `to`. They do not overlap.
struct BlockSwap {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::int64_t rows = 0, columns = 0, run = 0;

  bool empty() const { return rows == 0; }
  std::int64_t bytes() const { return rows * columns * run; }
};

// Moves elements within memory, after all that was computed so far and before all that is computed later.
class TransferMover {
 public:
  virtual ~TransferMover() = default;
  // The operand's elements one after the other; it may be strided.
  virtual void copy(const Operand& from, std::byte* to) = 0;
  virtual void swap(const BlockSwap& blocks) = 0;
  virtual void clear(std::span<std::byte> bytes) = 0;  // zeros
};

// Addresses in use.
struct ByteRange {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;

  ByteRange() = default;
  ByteRange(const std::byte* address, std::int64_t size) : begin(address), end(address + size) {}
  explicit ByteRange(std::span<const std::byte> bytes)
      : ByteRange(bytes.data(), static_cast<std::int64_t>(bytes.size())) {}
  bool overlaps(const ByteRange& other) const { return begin < other.end && other.begin < end; }
};

enum class TransferKind : std::uint8_t {
  kAllReduce,      // `to`, in place
  kReduce,         // `to`, in place
  kBroadcast,      // `to`
  kAllGather,      // part `from`, whole `to`
  kReduceScatter,  // whole `from`, part `to`
  kAllToAll,
  kExchange,  // rows, as many to and from each member as the op's other inputs say
  kSend,      // `from`
  kReceive,   // `to`
};

struct OpTransfer {
  // First, in this order.
  const Operand* copied = nullptr;  // nullptr means none is
  std::byte* copy_to = nullptr;
  BlockSwap pack = {};

  // The request.
  TransferKind kind = TransferKind::kAllReduce;
  std::span<std::byte> from = {};
  std::span<std::byte> to = {};
  DType dtype = DType::kF32;
  ReduceOp reduce_op = ReduceOp::kSum;

  // When it is done.
  BlockSwap unpack = {};
  std::span<std::byte> clear = {};

  // Besides staging memory, until it is done.
  ByteRange reads = {}, writes = {};
};

struct CommOpCall {
  const Op& op;
  std::span<const Operand> inputs, outputs;

  const Operand& in() const { return inputs[0]; }
  const Operand& out() const { return outputs[0]; }
};

// The stream that the program has it on.
StreamId transfer_stream(const Op& op);

// Staging memory for one call of the op, at most: known from the graph, whatever the strides.
std::int64_t transfer_staging(const Graph& graph, const Op& op);
// Whether this call needs it.
bool needs_staging(const CommOpCall& call);

// `place`: of this rank in the op's group. `staging`: where needs_staging(), transfer_staging() bytes.
OpTransfer op_transfer(const CommOpCall& call, std::int64_t place, std::byte* staging);

}  // namespace nadi::inline engines
