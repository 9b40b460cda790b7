// The nodes of a program encoded once for all the ranks that run it.
//
// The ranks of a stage differ in a few attributes of communication nodes (rank_attributes.h), which come last
// in their messages. So the bytes of all nodes are made once, and for a rank only the lengths of the
// communication nodes and these attributes: a file is put together at the speed of copying.
//
//   const auto encoding = StageEncoding::make(program, options, limit);
//   encoding->write(plan, groups, rank, buffer, sink);
//
// The bytes are those that ChakraWriter gives for the nodes of StepTracer with the rank's attributes added.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/chakra/protobuf_wire.h"
#include "nadi/unroll/rank_attributes.h"
#include "nadi/unroll/step_trace.h"

namespace nadi::inline traces {

// What was written.
struct NodeCounts {
  std::int64_t nodes = 0;
  Flops flops;
  std::int64_t data_edges = 0;
  std::int64_t control_edges = 0;

  void add(const TraceNode& node);
};

class StageEncoding {
 public:
  // Nothing when the nodes take more than `limit`.
  static std::optional<StageEncoding> make(const Program& program, const StepTraceOptions& options,
                                           Bytes limit);

  // Hands the nodes of one rank to the sink in pieces of about 1 MiB. What `buffer` holds goes first; it is
  // empty afterwards and meant to be used again. Several threads may call this at once.
  void write(const Plan& plan, const ProcessGroups& groups, Rank rank, WireWriter& buffer,
             const ByteSink& sink) const;

  const NodeCounts& counts() const { return counts_; }  // of one rank
  // What all ranks have in common: a little less than the file of one.
  Bytes size() const { return Bytes{static_cast<std::int64_t>(bytes_.size())}; }

 private:
  // A node that differs from rank to rank: its message without length and bound attributes.
  struct Patch {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t binding = 0;  // in bindings_
  };

  WireWriter bytes_;  // records of other nodes with their lengths, and messages of those with a patch
  std::vector<Patch> patches_;
  std::vector<RankBinding> bindings_;
  NodeCounts counts_;
};

}  // namespace nadi::inline traces
