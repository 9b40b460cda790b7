// What a profile or a host's trace says about one communication: PyTorch spreads it over the kernel, the op
// record_param_comms and its inputs, and has changed what it says where. Each source fills in what those
// before it left open.
//
//   CommunicationFacts facts;
//   add_attributes(facts, kineto.events, kernel_row);
//   add_attributes(facts, host.nodes, record_row);
//   add_inputs(facts, host.nodes, record_row);
//   if (const auto kind = communication_kind(facts.name)) ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/trace/node_type.h"

namespace nadi::inline traces {

class Trace;

struct CommunicationFacts {
  std::string name = {};                      // "allreduce", "_allgather_base", "send"
  std::string dtype = {};                     // "Float", "BFloat16"
  std::optional<std::int64_t> elements = {};  // of the rank's own input
  std::optional<std::int64_t> result_elements = {};
  std::optional<Bytes> input = {};  // from tensors
  // PyTorch up to 2.0 has in place of the group's name a number that other ranks do not share.
  std::optional<std::int64_t> group_handle = {};
  std::string group = {};
  std::string group_description = {};
  std::vector<std::int64_t> ranks =
      {};  // of the group; empty means not known, or too many to be written down
  std::optional<std::int64_t> group_size = {};
  std::optional<std::int64_t> first_rank = {};  // of the group, whose ranks lie rank_stride apart
  std::optional<std::int64_t> rank_stride = {};
  std::optional<std::int64_t> source = {};       // of a receive: a rank of the job
  std::optional<std::int64_t> destination = {};  // of a send: a rank of the job
  std::optional<std::int64_t> peer = {};         // of a send or receive: the other one's place in the group

  // Size of the rank's own input; nothing where it is not known.
  std::optional<Bytes> size() const;
};

// The attributes of an op or a kernel, under the names that Kineto and the host's trace give them.
void add_attributes(CommunicationFacts& facts, const Trace& trace, std::size_t row);
// The inputs of record_param_comms, or of the op around it: tensors and, of the former, the group, the peer
// and the name.
void add_inputs(CommunicationFacts& facts, const Trace& trace, std::size_t row);
// The shapes of an annotation's tensors, or of those of record_param_comms: "Input Dims" and "Input type".
void add_shapes(CommunicationFacts& facts, const Trace& trace, std::size_t row);
// The name of an annotation, without its backend: "nccl:all_to_all" says "all_to_all".
void add_annotation(CommunicationFacts& facts, const Trace& trace, std::size_t row);

// COMM_COLL with its kind, COMM_SEND or COMM_RECV.
struct CommunicationKind {
  NodeType type = NodeType::kCommColl;
  CollectiveType collective = CollectiveType::kAllReduce;
};
// From PyTorch's name of it ("all_to_allv"), or what comes behind "ncclDevKernel_" in the name of a kernel.
// Nothing for "wait" and the like, and for what is not known.
std::optional<CommunicationKind> communication_kind(std::string_view name);
// From the name of the kernel (communication_kernels.h); nothing where that does not say:
// ncclDevKernel_SendRecv(...).
std::optional<CommunicationKind> kernel_kind(std::string_view kernel);

// "Float" and "float" -> 4; nothing for an unknown one.
std::optional<std::int64_t> element_bytes(std::string_view dtype);

}  // namespace nadi::inline traces
