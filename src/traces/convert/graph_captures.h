// Which calls of a capture the kernels of a graph come from: they know the modules, the graph's launch does not.
//
// While a stream is captured (cudaStreamBeginCapture to cudaStreamEndCapture), calls that launch kernels and
// copies run nothing: they become nodes of a graph, and the launches of it run them all. A profile does not
// say of which capture the graph of a launch is. So the work of a launch is compared with each capture that
// had ended before: kinds of work and, where the calls name them (AMD's do), kernels must be the same in the
// order of time. A capture of calls with names may have a call in a hundred without work, as profilers lose
// some. Where several captures are the same, their modules may differ, and none is taken.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "nadi/convert/host_threads.h"
#include "nadi/convert/link_graph.h"

namespace nadi::inline traces {

class GraphCaptures {
 public:
  // The graph has the nodes of the host's threads, and none of devices.
  GraphCaptures(const LinkSource& source, const LinkGraph& graph);

  // The node of the captured call that a device event comes from, by its row; kNoNode where that is unknown.
  std::uint32_t call_of(std::uint32_t row) const {
    const auto found = calls_.find(row);
    return found == calls_.end() ? kNoNode : found->second;
  }

 private:
  std::unordered_map<std::uint32_t, std::uint32_t> calls_;  // node by row
};

}  // namespace nadi::inline traces
