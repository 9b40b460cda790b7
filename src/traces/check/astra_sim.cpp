#include "nadi/check/astra_sim.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/check/common_attribute_reader.h"
#include "nadi/check/simulators.h"
#include "nadi/trace/roofline_start.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {
namespace {

using enum CommonAttribute;

constexpr std::string_view kHostCommunication = "communication that is a host op";

// Into how many pieces systems cut a collective: examples have 1 to 64.
constexpr std::int64_t kMostSplits = 64;

// In what the two versions differ about attributes.
enum class Kinds : bool { kAnyInteger, kExact };

bool is_integer(TraceAttributeKind kind) {
  return kind != TraceAttributeKind::kNone && !is_list(kind) && !is_text(kind) &&
         kind != TraceAttributeKind::kDouble && kind != TraceAttributeKind::kFloat;
}

bool has_right_kind(const TraceAttribute& attribute, CommonAttribute which, Kinds kinds) {
  if (attribute.kind == kind_of(which)) return true;
  return kinds == Kinds::kAnyInteger && is_integer(kind_of(which)) && is_integer(attribute.kind);
}

class NodeCheck {
 public:
  NodeCheck(const SimulatedNode& node, VerdictMaker& verdict, Kinds kinds)
      : node_(node), verdict_(verdict), kinds_(kinds) {}

  // Whether the node has the attribute, with a kind that is understood.
  bool has(CommonAttribute which) {
    if (!node_.attributes.has(which)) return false;
    const TraceAttribute& attribute = node_.attributes[which];
    if (has_right_kind(attribute, which, kinds_)) return true;
    verdict_.refuse(node_, format("attribute {} is of kind {} instead of {}", name_of(which),
                                  to_string(attribute.kind), to_string(kind_of(which))));
    return false;
  }

  void need(CommonAttribute which) {
    if (!node_.attributes.has(which)) {
      verdict_.refuse(node_, format("{} without {}", to_string(node_.type), name_of(which)));
      return;
    }
    has(which);
  }

  std::optional<std::int64_t> integer(CommonAttribute which) const {
    return node_.attributes.has(which) ? node_.attributes[which].integer() : std::nullopt;
  }

  bool on_cpu() { return has(kIsCpuOp) && integer(kIsCpuOp).value_or(0) != 0; }

  void check_time() {
    const Nanoseconds duration = node_.of.checked.trace->duration(node_.row);
    if (duration.count() > 0 && duration.count() < 1000)
      verdict_.remark(node_, "lasts less than a microsecond and is simulated as 1 ns, unless by a roofline");
    if (duration.count() == 0 && !has(kNumOps))
      verdict_.remark(node_, "has neither a duration nor num_ops and is simulated as 1 ns");
  }

  // For a roofline; of a computation that is not the host's.
  void check_work() {
    need(kNumOps);
    need(kTensorSize);
    const std::optional<std::int64_t> work = integer(kNumOps);
    const std::optional<std::int64_t> size = integer(kTensorSize);
    if (work == 0 && size && *size != 0)
      verdict_.refuse(node_, "num_ops is 0 and tensor_size is not: the roofline divides 0 by 0");
    if (size == 0) verdict_.remark(node_, "moves no memory and is passed over by a roofline");
  }

  // What only the newer version stops at.
  void check_sizes() {
    const std::optional<std::int64_t> bytes = integer(kCommSize);
    if (!bytes) return;
    if (node_.type != NodeType::kCommColl) {
      if (*bytes == 0) verdict_.refuse(node_, "a message of 0 bytes");
      return;
    }
    if (integer(kCommType) != static_cast<std::int64_t>(CollectiveType::kAllGather)) return;
    if (*bytes == 0)
      verdict_.refuse(node_, "an ALL_GATHER of 0 bytes does not end");
    else if (*bytes < kMostSplits)
      verdict_.remark(
          node_, format("an ALL_GATHER of fewer than {} bytes does not end where preferred-dataset-splits is "
                        "more than its size",
                        kMostSplits));
  }

  void check_collective() {
    need(kCommType);
    need(kCommSize);
    has(kCommPriority);
    if (node_.attributes.has(kInvolvedDimensions)) has(kInvolvedDimensions);
    const std::optional<std::int64_t> type = integer(kCommType);
    if (!type) return;
    switch (collective_type_from_number(*type).value_or(CollectiveType::kBarrier)) {
      case CollectiveType::kAllReduce:
      case CollectiveType::kAllToAll:
      case CollectiveType::kAllGather:
      case CollectiveType::kReduceScatter:
        return;
      case CollectiveType::kBroadcast:
        verdict_.remark(node_, "a broadcast lasts as long as it was recorded, 1 ns where it was not");
        return;
      case CollectiveType::kReduce:
      case CollectiveType::kGather:
      case CollectiveType::kScatter:
      case CollectiveType::kReduceScatterBlock:
      case CollectiveType::kBarrier:
        verdict_.refuse(node_, format("collective {} is not simulated", name_of_collective(*type)));
        return;
    }
  }

  void check_message() {
    const bool sends = node_.type == NodeType::kCommSend;
    need(sends ? kCommDst : kCommSrc);
    need(kCommSize);
    need(kCommTag);
    const CommonAttribute own = sends ? kCommSrc : kCommDst;
    const std::optional<std::int64_t> rank = node_.of.checked.rank;
    if (has(own) && rank && integer(own) != *rank)
      verdict_.refuse(
          node_, format("{} has another {} than the rank of the trace", to_string(node_.type), name_of(own)));
  }

  void check_group() {
    if (!has(kProcessGroup)) return;
    const std::string_view group = node_.attributes[kProcessGroup].text;
    if (is_group_of_all(group)) return;
    if (!std::ranges::all_of(group, [](char c) { return c >= '0' && c <= '9'; })) {
      verdict_.refuse(node_, format("a pg_name that is no number: {}", quote_for_message(group)));
    } else if (node_.of.groups == nullptr) {
      verdict_.remark(node_, "a process group is named, so that a file of groups has to be given");
    } else if (!node_.of.groups->contains(group)) {
      verdict_.refuse(node_, format("a process group that is not in the file of groups: {}", group));
    } else if (node_.of.groups->find(group)->second.size() == 1) {
      verdict_.refuse(node_, format("a collective of one rank does not end: group {}", group));
    }
  }

 private:
  static std::string name_of_collective(std::int64_t number) {
    const std::optional<CollectiveType> type = collective_type_from_number(number);
    return type ? std::string(to_string(*type)) : format("{}", number);
  }

  const SimulatedNode& node_;
  VerdictMaker& verdict_;
  Kinds kinds_;
};

void check_encoding(const SimulatedTrace& trace, VerdictMaker& verdict) {
  if (trace.kind != TraceFileKind::kChakra) verdict.refuse("the file is JSON, and .et is read");
  if (trace.compressed) verdict.refuse("the file is compressed");
  if (trace.damaged) verdict.refuse("the file is damaged");
  if (trace.schema != ChakraSchema::kCurrent)
    verdict.refuse(format("the file has schema {}, and 0.0.4 is read", to_string(trace.schema)));
  if (trace.structure.duplicate) verdict.refuse("two nodes have the same id");
}

}  // namespace

void check_file_for_astra_sim(const SimulatedTrace& trace, VerdictMaker& verdict) {
  check_encoding(trace, verdict);
  const StructureFacts& structure = trace.structure;
  if (structure.missing_control + structure.missing_data > 0)
    verdict.refuse(format("{} dependencies on nodes that are not in the file",
                          structure.missing_control + structure.missing_data));
  if (structure.cycle) verdict.refuse("nodes that wait for each other in a circle never start");
}

namespace {

// What is the same with and without a roofline: all but computation.
void check_node_of_v3(NodeCheck& check, const SimulatedNode& node, VerdictMaker& verdict) {
  const bool on_cpu = check.on_cpu();
  switch (node.type) {
    case NodeType::kInvalid:
      verdict.remark(node, "a node of type INVALID is passed over");
      return;
    case NodeType::kMetadata:
      verdict.refuse(node, "statistics stop at a METADATA node");
      return;
    case NodeType::kMemLoad:
    case NodeType::kMemStore:
      check.need(kTensorSize);
      verdict.remark(node,
                     "is simulated only where the remote memory is of another kind than "
                     "NO_MEMORY_EXPANSION");
      return;
    case NodeType::kComp:
      return;
    case NodeType::kCommSend:
    case NodeType::kCommRecv:
      if (on_cpu) return verdict.refuse(node, kHostCommunication);
      check.check_message();
      check.check_sizes();
      return;
    case NodeType::kCommColl:
      if (on_cpu) return verdict.refuse(node, kHostCommunication);
      check.check_collective();
      check.check_sizes();
      check.check_group();
      return;
  }
}

}  // namespace

void check_node_for_astra_sim(const SimulatedNode& node, VerdictMaker& verdict) {
  NodeCheck check(node, verdict, Kinds::kAnyInteger);
  check_node_of_v3(check, node, verdict);
  if (node.type != NodeType::kComp) return;
  check.has(kNumOps);
  check.has(kTensorSize);
  check.check_time();
}

void check_file_for_astra_sim_roofline(const SimulatedTrace& trace, VerdictMaker& verdict) {
  check_file_for_astra_sim(trace, verdict);
  // The one with the lowest id of the computations that wait for nothing starts at time 0; those that move
  // no memory are passed over.
  const Trace& nodes = *trace.checked.trace;
  const CommonAttributeReader reader(nodes);
  CommonAttributes attributes, of_first;
  std::optional<std::uint32_t> first;
  const auto integer = [](const CommonAttributes& of, CommonAttribute which) {
    return of.has(which) ? of[which].integer().value_or(0) : 0;
  };
  for (std::uint32_t row = 0; row < nodes.size(); ++row) {
    if (nodes.type(row) != NodeType::kComp || !nodes.data_deps(row).empty() || !nodes.ctrl_deps(row).empty())
      continue;
    if (first && nodes.id(row) > nodes.id(*first)) continue;
    reader.read(row, attributes);
    if (integer(attributes, kIsCpuOp) != 0 || integer(attributes, kTensorSize) == 0) continue;
    first = row;
    of_first = attributes;
  }
  if (!first || !may_take_no_time(integer(of_first, kNumOps), integer(of_first, kTensorSize))) return;
  const SimulatedNode node{.of = trace, .row = *first, .type = NodeType::kComp, .attributes = of_first};
  verdict.refuse(node, "the first computation takes less than 1 ns, at which the event queue stops");
}

void check_node_for_astra_sim_roofline(const SimulatedNode& node, VerdictMaker& verdict) {
  NodeCheck check(node, verdict, Kinds::kAnyInteger);
  check_node_of_v3(check, node, verdict);
  if (node.type != NodeType::kComp) return;
  if (check.on_cpu())
    check.check_time();
  else
    check.check_work();
}

void check_file_for_astra_sim_2024(const SimulatedTrace& trace, VerdictMaker& verdict) {
  check_encoding(trace, verdict);
  const StructureFacts& structure = trace.structure;
  if (structure.missing_data > 0)
    verdict.refuse(format("{} data dependencies on nodes that are not in the file: their nodes never start",
                          structure.missing_data));
  if (structure.data_cycle) verdict.refuse("nodes that wait for each other's data in a circle never start");
}

void check_node_for_astra_sim_2024(const SimulatedNode& node, VerdictMaker& verdict) {
  NodeCheck check(node, verdict, Kinds::kExact);
  const Trace& trace = *node.of.checked.trace;
  if (trace.data_deps(node.row).empty() && !trace.ctrl_deps(node.row).empty())
    verdict.remark(node, "has control dependencies only, which are ignored: it starts at once");
  const bool on_cpu = check.on_cpu();
  switch (node.type) {
    case NodeType::kInvalid:
      verdict.remark(node, "a node of type INVALID is passed over");
      return;
    case NodeType::kMetadata:
      if (!on_cpu) verdict.refuse(node, "a METADATA node never ends");
      return;
    case NodeType::kMemLoad:
    case NodeType::kMemStore:
      check.need(kTensorSize);
      return;
    case NodeType::kComp:
      check.has(kNumOps);
      check.has(kTensorSize);
      check.check_time();
      return;
    case NodeType::kCommSend:
    case NodeType::kCommRecv:
      if (!on_cpu) check.check_message();
      return;
    case NodeType::kCommColl:
      if (on_cpu) return;
      check.check_collective();
      if (check.has(kProcessGroup) && !is_group_of_all(node.attributes[kProcessGroup].text))
        verdict.remark(node,
                       "process groups are ignored: its collective is of the ranks of the one group given");
      return;
  }
}

}  // namespace nadi::inline traces
