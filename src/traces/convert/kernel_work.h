// FLOPs and bytes of each kernel of a profile, for simulators that use a roofline model.
//
//   const KernelWork work({.graph = graph, .kineto = kineto, .host = host, ...});
//   add_work(node, work.of(number).flops, work.of(number).bytes);
//
// A kernel does the work of the innermost op around its launch whose tensors were recorded with their shapes
// (op_work.h); where that op launched several, each does a part of the work, as long as it lasted. Copies and
// memsets move their bytes. What is not known is 1 op and 1 byte, which takes no time, and counted.
#pragma once

#include <cstdint>
#include <vector>

#include "nadi/convert/host_match.h"
#include "nadi/convert/link_graph.h"
#include "nadi/pytorch/host_trace.h"
#include "nadi/pytorch/kineto_trace.h"
#include "nadi/work/torch_work.h"

namespace nadi::inline traces {

struct KernelWorkSource {
  const LinkGraph& graph;  // with the parents of its nodes
  const KinetoTrace& kineto;
  const HostTrace* host = nullptr;
  const HostMatch& match;
  const std::vector<bool>& communicates;  // by node: kernels that are communication, and have no work
};

class KernelWork {
 public:
  KernelWork() = default;  // of no kernels
  explicit KernelWork(const KernelWorkSource& source);

  // Work of a node of kind kDevice.
  const TorchWork& of(std::uint32_t node) const { return work_[node]; }

  std::uint64_t known() const { return known_; }      // kernels, copies and memsets
  std::uint64_t unknown() const { return unknown_; }  // the same, without shapes

 private:
  std::vector<TorchWork> work_;  // by node
  std::uint64_t known_ = 0;
  std::uint64_t unknown_ = 0;
};

}  // namespace nadi::inline traces
