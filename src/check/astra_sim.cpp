#include "nadi/check/astra_sim.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "nadi/base/format.h"
#include "nadi/check/simulators.h"
#include "nadi/trace/escape.h"
#include "nadi/trace/trace.h"

namespace nadi {
namespace {

using enum CommonAttribute;

constexpr std::string_view kHostCommunication = "communication that is a host op";

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
  if (trace.kind == TraceFileKind::kChakraJson) verdict.refuse("the file is JSON, and .et is read");
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

void check_node_for_astra_sim(const SimulatedNode& node, VerdictMaker& verdict) {
  NodeCheck check(node, verdict, Kinds::kAnyInteger);
  const bool on_cpu = check.on_cpu();
  switch (node.type) {
    case NodeType::kInvalid:
      verdict.remark(node, "a node of type INVALID is passed over");
      return;
    case NodeType::kMetadata:
      verdict.remark(node, "the inputs of a METADATA node are taken for PyTorch's list of process groups");
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
      if (on_cpu) return verdict.refuse(node, kHostCommunication);
      check.check_message();
      return;
    case NodeType::kCommColl:
      if (on_cpu) return verdict.refuse(node, kHostCommunication);
      check.check_collective();
      check.check_group();
      return;
  }
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

}  // namespace nadi
