// The nodes of a ConvertedTrace, put together from what was read.
#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/convert/converted_trace.h"
#include "nadi/trace/common_attributes.h"

namespace nadi::inline traces {

namespace {

std::string_view phase_name(TrainingPhase phase) {
  switch (phase) {
    case TrainingPhase::kUnknown:
      return "";
    case TrainingPhase::kForward:
      return "forward";
    case TrainingPhase::kBackward:
      return "backward";
    case TrainingPhase::kOptimizer:
      return "optimizer";
  }
  unreachable();
}

bool has_value(const TraceAttribute& a, const TraceAttribute& b) {
  TraceAttribute renamed = b;
  renamed.name = a.name;
  return renamed == a;
}

// The text must outlive the node.
void add_borrowed_text(TraceNode& node, std::string_view name, std::string_view text) {
  TraceAttribute attribute;
  attribute.name = name;
  attribute.kind = TraceAttributeKind::kString;
  attribute.text = text;
  node.attributes.add_borrowed(attribute);
}

Bytes moved_by(const Trace& events, std::uint32_t row) {
  const auto bytes = events.find_attribute(row, "bytes");
  return Bytes{bytes ? std::max<std::int64_t>(0, bytes->integer().value_or(0)) : 0};
}

void add_once(std::vector<TraceNodeId>& ids, TraceNodeId id) {
  if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
}

}  // namespace

void ConvertedTrace::get(std::size_t row, TraceNode& node) const {
  node.clear();
  const std::uint32_t number = order_[row];
  node.id = id_of(number);
  node.type = NodeType::kComp;
  node.duration = graph_.duration[number];
  switch (graph_.kind[number]) {
    case LinkedKind::kHost:
      if (host_is_device_)
        get_own_op(number, node);
      else
        get_host_op(number, node);
      break;
    case LinkedKind::kDevice:
      get_device_op(number, node);
      break;
    case LinkedKind::kGap:
      get_gap(number, node);
      break;
    case LinkedKind::kHostNode:
      get_host_node(number, node);
      break;
  }
  get_dependencies(number, node);
}

TraceNodeId ConvertedTrace::id_of(std::uint32_t number) const {
  if (const auto host_row = match_.row_of(graph_, number)) return source_.host->nodes.id(*host_row);
  return TraceNodeId{first_id_ + positions_[number]};
}

void ConvertedTrace::get_dependencies(std::uint32_t number, TraceNode& node) const {
  if (graph_.parent[number] != kNoNode) node.ctrl_deps.push_back(id_of(graph_.parent[number]));
  if (graph_.launch[number] != kNoNode) node.data_deps.push_back(id_of(graph_.launch[number]));
  if (graph_.before[number] != kNoNode) add_once(node.data_deps, id_of(graph_.before[number]));
  for (const LinkedWait& wait : graph_.waits_of(number)) add_once(node.data_deps, id_of(wait.awaited));
}

void ConvertedTrace::get_host_op(std::uint32_t number, TraceNode& node) const {
  const std::uint32_t row = graph_.row[number];
  const Trace& events = kineto_->events;
  node.name = events.name(row);
  node.start = events.start(row);
  const CommunicationNode* communication = communication_of(number);
  add_is_cpu_op(node, communication == nullptr);
  if (communication != nullptr) add_communication(*communication, node);
  add_borrowed_text(node, "category", to_string(kineto_->category[row]));
  if (options_.simulate_only) return;
  node.attributes.add_int64("thread", kineto_->lanes[kineto_->lane[row]].thread);
  node.attributes.add_int64("inclusive_ns", events.duration(row).count());
  add_origin(number, node.start, node);
  if (kineto_->correlation[row] != 0)
    node.attributes.add_int64("correlation", static_cast<std::int64_t>(kineto_->correlation[row]));
  const std::size_t first = node.attributes.size();
  if (const auto host_row = match_.row_of(graph_, number)) {
    node.inputs = source_.host->nodes.inputs(*host_row);
    node.outputs = source_.host->nodes.outputs(*host_row);
    add_host_attributes(*host_row, node);
  } else {
    node.inputs = events.inputs(row);
    if (kineto_->record_function[row] != 0)
      node.attributes.add_int64("Record function id",
                                static_cast<std::int64_t>(kineto_->record_function[row]));
  }
  add_event_attributes(row, first, node);
}

void ConvertedTrace::get_device_op(std::uint32_t number, TraceNode& node) const {
  const std::uint32_t row = graph_.row[number];
  const Trace& events = kineto_->events;
  const KinetoLane& lane = kineto_->lanes[kineto_->lane[row]];
  node.name = events.name(row);
  node.start = events.start(row);
  add_is_cpu_op(node, false);
  if (const CommunicationNode* communication = communication_of(number))
    add_communication(*communication, node);
  else if (const auto flops = events.find_attribute(row, "flops"))  // of our own runs: they know
    add_work(node, Flops{flops->integer().value_or(0)}, moved_by(events, row));
  else if (options_.num_ops)
    add_work(node, kernel_work_.of(number).flops, kernel_work_.of(number).bytes);
  add_borrowed_text(node, "category", to_string(kineto_->category[row]));
  const std::size_t repeated = node.attributes.size();
  node.attributes.add_int64("stream", lane.thread);
  node.attributes.add_int64("device", lane.process);
  if (options_.simulate_only) return;
  node.attributes.add_int64("correlation", static_cast<std::int64_t>(kineto_->correlation[row]));
  const std::uint32_t launch = graph_.launch[number];
  add_origin(number, launch == kNoNode ? node.start : graph_.start(launch, *kineto_), node);
  node.inputs = events.inputs(row);
  add_event_attributes(row, repeated, node);
}

void ConvertedTrace::get_gap(std::uint32_t number, TraceNode& node) const {
  const LinkedGap& gap = graph_.gaps[graph_.row[number]];
  node.name = "host gap";
  // Where it waited for another thread, only what came after that is its own.
  node.start = graph_.launch[number] == kNoNode ? gap.start : gap.end - node.duration;
  add_is_cpu_op(node, true);
  add_borrowed_text(node, "category", "host_gap");
  if (options_.simulate_only) return;
  const KinetoLane& lane = kineto_->lanes[gap.lane];
  if (lane.device) {
    node.attributes.add_int64("stream", lane.thread);
    node.attributes.add_int64("device", lane.process);
  } else {
    node.attributes.add_int64("thread", lane.thread);
  }
  add_origin(number, node.start, node);
}

void ConvertedTrace::get_host_node(std::uint32_t number, TraceNode& node) const {
  const std::uint32_t host_row = graph_.row[number];
  node.name = source_.host->nodes.name(host_row);
  const CommunicationNode* communication = communication_of(number);
  add_is_cpu_op(node, communication == nullptr);
  if (communication != nullptr) add_communication(*communication, node);
  if (options_.simulate_only) return;
  node.inputs = source_.host->nodes.inputs(host_row);
  node.outputs = source_.host->nodes.outputs(host_row);
  add_host_attributes(host_row, node);
}

void ConvertedTrace::get_own_op(std::uint32_t number, TraceNode& node) const {
  const std::uint32_t row = graph_.row[number];
  const Trace& events = kineto_->events;
  node.name = events.name(row);
  node.start = events.start(row);
  const CommunicationNode* communication = communication_of(number);
  add_is_cpu_op(node, false);
  if (communication != nullptr) add_communication(*communication, node);
  if (!options_.simulate_only) node.inputs = events.inputs(row);
  std::string_view kind = node.name;
  std::string_view phase;
  std::optional<std::int64_t> flops, bytes;
  for (std::size_t i = 0; i < events.attribute_count(row); ++i) {
    const TraceAttribute attribute = events.attribute(row, i);
    if (attribute.name == "op") {
      node.name = attribute.text;
      // record_param_comms: the kind is the end of the name.
      if (communication != nullptr) kind = node.name.substr(node.name.find_last_of('.') + 1);
    } else if (attribute.name == "flops") {
      flops = attribute.integer().value_or(0);
    } else if (attribute.name == "bytes") {
      bytes = std::max<std::int64_t>(0, attribute.integer().value_or(0));
    } else if (!options_.simulate_only) {
      if (attribute.name == "phase") phase = attribute.text;
      // As in traces of runs: a section that repeats the phase says nothing.
      if (attribute.name == "section" && attribute.text == phase) continue;
      node.attributes.add_borrowed(attribute);
    }
  }
  if (communication == nullptr && (flops || bytes))
    add_work(node, Flops{flops.value_or(0)}, Bytes{bytes.value_or(0)});
  if (!options_.simulate_only) add_borrowed_text(node, "op", kind);
}

void ConvertedTrace::add_host_attributes(std::uint32_t host_row, TraceNode& node) const {
  const Trace& nodes = source_.host->nodes;
  for (std::size_t i = 0; i < nodes.attribute_count(host_row); ++i) {
    TraceAttribute attribute = nodes.attribute(host_row, i);
    // `pg_name` is the group's number in all traces of the job.
    if (attribute.name == attribute_name::kProcessGroup) attribute.name = "pg_name_pytorch";
    node.attributes.add_borrowed(attribute);
  }
}

// `host_attributes`: where those that the event's may repeat begin.
void ConvertedTrace::add_event_attributes(std::uint32_t row, std::size_t host_attributes,
                                          TraceNode& node) const {
  const Trace& events = kineto_->events;
  const std::size_t known = node.attributes.size();
  // A kernel of our own runs: `op` is the kind of what it computes, as in their Chakra traces.
  const bool own = is_device_work(kineto_->category[row]) && events.find_attribute(row, "kernel").has_value();
  for (std::size_t i = 0; i < events.attribute_count(row); ++i) {
    TraceAttribute attribute = events.attribute(row, i);
    if (own) {
      if (attribute.name == "flops" || attribute.name == "bytes") continue;
      if (attribute.name == "op") attribute.name = "op_name";
      if (attribute.name == "kernel") attribute.name = "op";
    }
    const TraceAttribute* same = nullptr;
    for (std::size_t k = host_attributes; k < known && same == nullptr; ++k)
      if (node.attributes[k].name == attribute.name) same = &node.attributes[k];
    if (same != nullptr) {
      if (has_value(*same, attribute)) continue;
      attribute.name = node.keep(format("kineto {}", attribute.name));
    }
    node.attributes.add_borrowed(attribute);
  }
  if (kineto_->external_id[row] != 0)
    node.attributes.add_int64("External id", static_cast<std::int64_t>(kineto_->external_id[row]));
}

// Phase, layer, and the step in which it was called.
void ConvertedTrace::add_origin(std::uint32_t number, Nanoseconds start, TraceNode& node) const {
  if (const std::string_view phase = phase_name(graph_.phase[number]); !phase.empty())
    add_borrowed_text(node, "phase", phase);
  if (graph_.has_layers && graph_.layer[number] != 0)
    add_borrowed_text(node, "layer", layers_.text(graph_.layer[number]));
  const auto after = std::ranges::upper_bound(steps_, start, {}, &Step::start);
  if (after != steps_.begin() && start < (after - 1)->end)
    node.attributes.add_int64("step", (after - 1)->number);
}

const CommunicationNode* ConvertedTrace::communication_of(std::uint32_t number) const {
  if (!communicates_[number]) return nullptr;
  return &*std::ranges::lower_bound(communication_, number, {}, &CommunicationNode::node);
}

void ConvertedTrace::add_communication(const CommunicationNode& communication, TraceNode& node) const {
  node.type = communication.kind.type;
  const bool is_collective = communication.kind.type == NodeType::kCommColl;
  if (is_collective) add_comm_type(node, communication.kind.collective);
  add_comm_size(node, communication.size);
  if (is_collective) {
    add_process_group(node, communication.group);
  } else {
    add_comm_src(node, communication.source);
    add_comm_dst(node, communication.destination);
    add_comm_tag(node, communication.tag);
  }
  if (options_.simulate_only) return;
  const auto add = [&](std::string_view name, std::string_view text) {
    if (!text.empty()) add_borrowed_text(node, name, text);
  };
  add("collective_name", communication.name);
  add("dtype", communication.dtype);
  add("pg_name_pytorch", communication.group_name);
  add("pg_desc", communication.group_description);
}

}  // namespace nadi::inline traces
