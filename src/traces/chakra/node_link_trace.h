// A graph in node-link form as traces, one for each rank that its nodes name.
//
//   const NodeLinkGraph graph = read_node_link(path);
//   for (RankTrace& rank : traces_of(graph)) write_chakra(rank.trace, sink);
//
// Ops and communication become nodes. What `nadi convert` wrote comes back as it was, but for the kinds of
// attributes that simulators do not read: a whole number is an int64, any other a double. Tensors become the
// inputs and outputs of the ops that they are linked with, where these do not list theirs; who reads a tensor
// waits for who wrote it. Links between ranks are left out: sends, receives and groups say the same.
#pragma once

#include <cstdint>
#include <vector>

#include "nadi/chakra/chakra_reading.h"
#include "nadi/chakra/node_link_graph.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {

struct RankTrace {
  std::int64_t rank = 0;
  bool names_rank = false;  // the file says so; else there is one trace, of rank 0
  Trace trace;
};

// In the order of the ranks, at least one. Error (input) as for any trace: ids, missing parents, cycles.
// `dropped` receives the number of dependencies that the options left out.
std::vector<RankTrace> traces_of(const NodeLinkGraph& graph, const ChakraReadOptions& options = {},
                                 std::uint64_t* dropped = nullptr);

}  // namespace nadi::inline traces
