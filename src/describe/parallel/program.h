// What one rank does in one step: graphs cut into reusable sections, and the list of instructions that runs
// them. A section is a range of a graph's ops (forward, backward, optimizer); an instruction runs it for one
// micro-batch. An engine executes the list, a trace unrolls it, a summary adds it up; nothing is unrolled to
// be executed.
//
// Values that a section makes and another of the same graph reads (activations kept for the backward pass)
// belong to the micro-batch. Variables are shared by name among all graphs of the program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nadi/graph/graph.h"
#include "nadi/graph/op_definition.h"
#include "nadi/parallel/stream.h"
#include "nadi/parallel/variable_buckets.h"

namespace nadi::inline describe {

enum class SectionId : std::uint32_t {};

struct Section {
  std::string name;       // "forward", "backward", "optimizer", "prefill", "decode"
  std::size_t graph = 0;  // index into Program::graphs
  std::uint32_t first_op = 0;
  std::uint32_t end_op = 0;
};

struct Instruction {
  SectionId section{};
  std::int32_t micro_batch = 0;  // when generating: the number of the token
  CostContext context = {};
  // Transfers to and from other stages that are posted together and end together: true for all of a group but
  // its last.
  bool with_next = false;
  // Where its own work belongs: computation, or communication of a section that does nothing else.
  // Collectives among computation have streams of their own, too; step_walk.h gives the stream of each op.
  StreamId stream = kComputeStream;
};

struct Program {
  std::vector<Graph> graphs;
  std::vector<Section> sections;
  std::vector<Instruction> instructions;
  // By graph: how many micro-batches hold their activations at once, at most.
  std::vector<std::int64_t> slots = {};
  // Variables of a training step that an engine lays out one after the other, on one rank, too.
  std::vector<VariableBucket> buckets = {};

  const Section& section(SectionId id) const { return sections[static_cast<std::size_t>(id)]; }
  const Graph& graph_of(const Section& section) const { return graphs[section.graph]; }

  // Summed over the parameter tensors of all graphs, each name once.
  std::int64_t parameter_count() const;
};

}  // namespace nadi::inline describe
