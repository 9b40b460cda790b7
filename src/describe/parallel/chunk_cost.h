// What a chunk of a model costs, for any number of layers, from graphs with few of them: the costs of a plan
// are put together from these (plan_cost.h, chunk_family.h).
//
// A chunk is built once with three units (a unit is one layer, or as many as are recomputed together), and
// what its inner unit costs is counted apart. More units cost that much more each: work, memory that is
// resident, what is kept in slots; two units cost that much less. The arena is played (chunk_family.h).
// Chunks that are no repetition (less than two units, or a number of layers that recomputation does not
// divide) are built as they are.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "nadi/graph/gradient.h"
#include "nadi/model/model_config.h"
#include "nadi/parallel/chunk_graph.h"
#include "nadi/parallel/parameter_layout.h"
#include "nadi/parallel/repeated_memory.h"
#include "nadi/parallel/step_program.h"
#include "nadi/parallel/step_work.h"

namespace nadi::inline describe {

// All that a chunk's graph depends on, besides the model.
struct ChunkKey {
  static constexpr std::int64_t kRepeated = -1;

  std::int64_t layers = kRepeated;  // kRepeated: any number of units, at least kFewestUnits
  std::int64_t tp = 1, cp = 1;
  std::int64_t micro_batch_size = 1;
  std::int64_t seq_length = 1;  // of all context-parallel ranks
  DType dtype = DType::kF32;
  Recompute::Granularity granularity{};
  Recompute::Method method{};
  std::int32_t recomputed_layers = 1;
  bool fp8 = false;
  ExpertOptions experts = {};
  bool fused_attention = true;
  bool sequence_parallel = false;
  bool first = false, last = false;
  bool accumulates = false;
  bool reduces = false;  // several ranks hold the same parameters

  bool operator==(const ChunkKey&) const = default;
  std::int64_t layers_per_unit() const;
};
struct ChunkKeyHash {
  std::size_t operator()(const ChunkKey& key) const;
};
// The key of a chunk of a plan, which is the kRepeated one where that serves its number of layers.
struct ChunkPlace {
  bool first = false, last = false;
  std::int64_t layers = 0;
};
ChunkKey chunk_key(const StepRequest& request, const Plan& plan, const ChunkPlace& place);

// The graph that stands for such chunks, without names of ops and values: with kUnitsBuilt units where the
// key is kRepeated. It is that of a plan which has nothing but what the key names, smallest_plan().
ChunkGraph build_chunk(const ModelConfig& config, const ChunkKey& key);
Plan smallest_plan(const ChunkKey& key);

struct ChunkCost {
  // A variable, input or constant that chunks of one rank may share by name.
  struct Shared {
    std::string name;
    Role role{};
    Bytes size;
  };
  struct Ring {
    Bytes stride;
    bool gradient = false;     // received in the backward pass
    std::uint8_t touched = 0;  // sections that read it, as bits of PipelineEvent
  };
  struct Sizes {
    std::int64_t parameters = 0;
    std::array<Bytes, kRoleCount> resident{};  // without what is shared
    Bytes slot;                                // what a micro-batch under way keeps
    Bytes kept;
  };

  // For one micro-batch, of the graph as it was built; `inner_*` is the part of its inner unit.
  Sizes sizes, inner_sizes;
  std::vector<Shared> shared;
  Bytes kept_per_block;
  std::vector<Ring> rings;
  bool has_loss = false;
  // As their gradients become ready.
  std::vector<LaidParameter> parameters_before, parameters_inner, parameters_after;

  // Units beyond those built; -1 for one less.
  std::int64_t more_units(std::int64_t layers) const {
    return repeated ? layers / per_unit - kUnitsBuilt : 0;
  }

  bool repeated = false;
  std::int64_t per_unit = 1;
};

// The ops of a chunk for one micro-batch, of the graph as it was built; `inner_*` is the part of its inner
// unit.
struct ChunkWork {
  std::vector<WorkEntry> work, inner_work;
  std::vector<Product> products;
  std::vector<std::int64_t> inner_products;  // counts, by place in `products`
  std::vector<StepMessage> messages;
  std::vector<std::int64_t> inner_messages;
};

// The parameters of a chunk in the order in which the last of their gradients are written.
std::vector<ReadyParameter> parameters_by_readiness(const ModelConfig& config, const ChunkKey& key,
                                                    const ChunkGraph& chunk);

}  // namespace nadi::inline describe
