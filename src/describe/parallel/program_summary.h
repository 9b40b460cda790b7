// What a program costs: work, traffic and memory, summed over its ops in one walk, by phase, by layer and by
// kind of op. This is what `nadi show` prints; a simulator or a planner starts from the same figures.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/graph/memory_plan.h"
#include "nadi/graph/op_definition.h"
#include "nadi/parallel/program.h"

namespace nadi::inline describe {

// Work of a set of ops. `linear` are the products with weights, `head` those of them outside of the
// transformer blocks (the output layer and what goes with it), `attention` all other matrix products.
struct WorkSummary {
  std::int64_t ops = 0;
  Flops linear;
  Flops head;
  Flops attention;
  OpCost cost;

  Flops linear_without_head() const { return linear - head; }
};

struct LayerSummary {
  std::string name;  // "transformer.h.3" for a block, the module's name for what is outside of blocks
  std::int32_t block = -1;
  std::int64_t parameters = 0;
  std::array<WorkSummary, kPhaseCount> phases = {};

  WorkSummary total() const;
};

struct MemorySummary {
  // Resident for the whole step, by role.
  std::array<Bytes, kRoleCount> resident{};
  // What values take. Where several micro-batches are under way at once (pipelines), each of them has a slot
  // for what its backward pass needs, and one arena serves what lives within a section.
  Bytes activations;
  Bytes activations_live;  // the most that is alive at once; the arena may have gaps
  std::int64_t slots = 1;  // micro-batches under way at once, at most, summed over chunks
  // What the forward pass of one micro-batch keeps for the backward pass, in all chunks together, and of that
  // the most of one transformer block. Part of `activations`.
  Bytes kept;
  Bytes kept_per_block;
  std::array<Bytes, kPhaseCount> live_by_phase{};
  std::string peak_op;  // when that is

  Bytes of(Role role) const { return resident[static_cast<std::size_t>(role)]; }
  Bytes total() const;
};

struct ProgramSummary {
  std::int64_t parameters = 0;
  std::array<WorkSummary, kPhaseCount> phases = {};
  std::vector<LayerSummary> layers;  // in the order of the model
  std::map<OpKind, WorkSummary> op_kinds;
  // What the rank gives to each group's collectives, and sends to others of it: by the group's name.
  struct Communication {
    std::int64_t ops = 0;
    Bytes sent;
  };
  std::map<std::string, Communication> communication;
  MemorySummary memory;

  WorkSummary total() const;
};

ProgramSummary summarize(const Program& program);

}  // namespace nadi::inline describe
