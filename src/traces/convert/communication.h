// The communication of a trace: which nodes are collectives, sends and receives, of what size, in which
// group.
//
// On a device it is the kernel of the communication library (ncclDevKernel_..., ncclKernel_...), described by
// its own attributes, by the op record_param_comms around its launch, and by the tensors of that or of the op
// around it. On the host it is record_param_comms itself, or the annotation of its backend where that goes on
// in the background. In a host's trace without a profile it is record_param_comms as well.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nadi/convert/communication_facts.h"
#include "nadi/convert/host_threads.h"
#include "nadi/convert/process_group_numbers.h"
#include "nadi/pytorch/host_trace.h"

namespace nadi::inline traces {

struct CommunicationNode {
  std::uint32_t node = 0;
  CommunicationKind kind;
  Bytes size;
  std::uint32_t group = 0;  // of collectives: see GroupNumbers
  std::int32_t source = 0;  // of sends and receives, ranks
  std::int32_t destination = 0;
  std::int32_t tag = 0;   // counts the messages between two ranks in one direction
  std::string name = {};  // as PyTorch has them
  std::string dtype = {};
  std::string group_name = {};
  std::string group_description = {};
};

struct CommunicationSource {
  const LinkSource& link;
  const HostTrace* host = nullptr;  // or nullptr
  // The row of the host's trace that an event is matched with.
  std::function<std::optional<std::uint32_t>(std::uint32_t row)> host_row;
  std::int64_t rank = 0;
};

// Sorted by node.
std::vector<CommunicationNode> find_communication(const CommunicationSource& source,
                                                  const std::vector<HostCommunication>& on_host,
                                                  const LinkGraph& graph, GroupNumbers& groups,
                                                  ConversionReport& report);

}  // namespace nadi::inline traces
