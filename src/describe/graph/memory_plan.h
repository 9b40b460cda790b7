// Where every value of a graph lives, decided before anything runs.
//
// Values share one arena: liveness over the graph's order gives each a span of ops, and values whose spans do
// not overlap may share bytes. Views take no space of their own. Where an op's definition allows it and
// nobody needs the input any more, its output takes over the input's bytes. Variables, inputs and constants
// stay put for the whole step, outside of the arena. A device may have several values in the rows of one
// matrix (SharedRows).
//
// The same plan is what an engine allocates and what is printed as the memory prediction.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/graph/graph.h"

namespace nadi::inline describe {

struct MemoryPlan {
  static constexpr std::int64_t kOutsideArena = -1;

  // By tensor: its byte offset in the arena, or kOutsideArena. Views have the offset of what they show. Of a
  // value with SharedRows it is where its first row begins.
  std::vector<std::int64_t> offsets;
  Bytes arena;              // size
  Bytes peak;               // the most that is alive at once; the arena cannot be smaller
  OpId peak_op = kNoOp;     // when
  std::vector<Bytes> live;  // by op: bytes of values alive while it runs
};

// Offsets are multiples of this, unless a device wants another: a cache line, and what vector loads like.
inline constexpr std::int64_t kArenaAlignment = 64;

Bytes aligned_size(Bytes size, std::int64_t alignment = kArenaAlignment);

// Values that one kernel writes, each of them some columns of one matrix: its rows begin `offset` bytes
// behind those of the matrix, and are as far from each other. The matrix has memory from the kernel that
// writes them to the last that reads any of them.
struct SharedRows {
  struct Columns {
    TensorId value = kNoTensor;
    std::int64_t offset = 0;
    bool operator==(const Columns&) const = default;
  };
  std::vector<Columns> values;
  std::int64_t size = 0;  // of the matrix, in bytes

  bool operator==(const SharedRows&) const = default;
};

// What a device and its kernels want of the places of values. Empty lists: nothing out of the ordinary.
struct PlacementRules {
  std::vector<char> elsewhere = {};  // by tensor: whether it has a place of its own, outside of the arena
  std::int64_t alignment = kArenaAlignment;
  // By tensor: the bytes that it takes, where its rows are padded; 0 means as its shape says.
  std::vector<std::int64_t> padded_sizes = {};
  // No value is in two of them, and either all values of one are `elsewhere` or none.
  std::vector<SharedRows> shared_rows = {};
  // Ops that one kernel computes, [first, end) of several ops each, in order. It may read what it is given
  // until it ends, and write from its begin on.
  struct Kernel {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
  };
  std::vector<Kernel> kernels = {};
};
MemoryPlan plan_memory(const Graph& graph, const PlacementRules& rules = {});

}  // namespace nadi::inline describe
