#include "nadi/recording/execution.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/parallel/program.h"
#include "nadi/recording/execution_communication.h"
#include "nadi/trace/step_processors.h"
#include "nadi/unroll/process_groups.h"
#include "nadi/unroll/rank_attributes.h"

namespace nadi::inline traces {
namespace {

// What a run adds to the nodes of its program.
constexpr std::string_view kStep = "step";
constexpr std::string_view kThread = "thread";
constexpr std::string_view kStream = "stream";
constexpr std::string_view kDevice = "device";
constexpr std::string_view kFusedInto = "fused_into";
constexpr std::string_view kAlgorithmBandwidth = "algorithm_gb_per_second";
constexpr std::string_view kAddedByRuns[] = {kStep,   kThread,    kStream,
                                             kDevice, kFusedInto, kAlgorithmBandwidth};
constexpr std::uint64_t kAbsent = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t kNotANode = std::numeric_limits<std::uint32_t>::max();

// The nodes that a program should give when it runs twice: the second time, what it reads of variables comes
// from the first. All later steps depend on the one before as the second does, so two are enough.
class DrySteps {
 public:
  DrySteps(const Program& program, const ExecutionTraceOptions& options, bool twice) : program_(program) {
    number_nodes();
    StepTracer tracer(program, {.plan = options.plan, .flavor = options.flavor, .tensors = options.tensors});
    std::optional<ProcessGroups> groups;
    if (options.plan != nullptr)
      groups.emplace(*options.plan,
                     options.group_kinds.empty() ? collective_groups(program) : options.group_kinds);
    TraceNode node;
    for (int run = 0; run < (twice ? 2 : 1); ++run) {
      if (run > 0) tracer.again();
      while (tracer.next(node)) {
        if (groups) add_rank_attributes(node, tracer.binding(), *options.plan, *groups, options.rank);
        nodes_.add(node);
      }
      check(nodes_.size() == (run + 1) * nodes_per_step_, "the trace of a program has a node for each op");
    }
  }

  std::uint64_t nodes_per_step() const { return nodes_per_step_; }

  // Which node of its step an op is.
  std::uint64_t node_of(std::uint32_t instruction, OpId op) const {
    const CallOrigin origin = origin_of(program_, instruction, op);
    const auto section = static_cast<std::size_t>(origin.instruction.section);
    const std::uint32_t place = places_[section][index(op) - origin.section.first_op];
    check(place != kNotANode, "a recorded op is not a view");
    return first_nodes_[instruction] + place;
  }

  // As it is in the first step, or as it is in a later one: then ids below nodes_per_step() are of the step
  // before.
  void get(std::uint64_t node_of_step, bool first_step, TraceNode& node) const {
    nodes_.get(node_of_step + (first_step ? 0 : nodes_per_step_), node);
  }

 private:
  void number_nodes() {
    for (const Section& section : program_.sections) {
      const Graph& graph = program_.graph_of(section);
      std::vector<std::uint32_t>& places = places_.emplace_back();
      std::uint32_t next = 0;
      for (std::uint32_t op = section.first_op; op < section.end_op; ++op)
        places.push_back(definition(graph.ops()[op].kind).op_class == OpClass::kView ? kNotANode : next++);
      section_nodes_.push_back(next);
    }
    for (const Instruction& instruction : program_.instructions) {
      first_nodes_.push_back(nodes_per_step_);
      nodes_per_step_ += section_nodes_[static_cast<std::size_t>(instruction.section)];
    }
  }

  const Program& program_;
  std::vector<std::vector<std::uint32_t>> places_;  // by section and op: which of the section's nodes it is
  std::vector<std::uint32_t> section_nodes_;        // by section: how many
  std::vector<std::uint64_t> first_nodes_;          // by instruction: nodes of the step before it
  std::uint64_t nodes_per_step_ = 0;
  Trace nodes_;
};

// What a communication that was handed over at `start` waits for besides its data, of what its program says.
// `trace` holds all that was recorded before, with ids that are rows.
std::vector<TraceNodeId> waited_for(const Trace& trace, Nanoseconds start,
                                    std::span<const TraceNodeId> ctrl_deps,
                                    std::span<const TraceNodeId> data_deps) {
  std::vector<TraceNodeId> ids;
  for (const TraceNodeId id : ctrl_deps) {
    const auto row = static_cast<std::size_t>(to_number(id));
    if (trace.type(row) == NodeType::kComp || trace.start(row) + trace.duration(row) <= start) {
      ids.push_back(id);
      continue;
    }
    for (const auto& list : {trace.data_deps(row), trace.ctrl_deps(row)})
      ids.insert(ids.end(), list.begin(), list.end());
  }
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::erase_if(ids, [&](TraceNodeId id) { return std::ranges::binary_search(data_deps, id); });
  return ids;
}

// As conversions of PyTorch's profiles name it.
void add_place(const ExecutedDevice& device, StreamId stream, TraceNode& node) {
  if (device.is_host()) {
    node.attributes.add_int64(kThread, to_number(stream));
    return;
  }
  node.attributes.add_int64(kStream, to_number(stream));
  node.attributes.add_int64(kDevice, device.number);
}

std::string listed(std::span<const TraceNodeId> ids) {
  std::string text = "[";
  for (const TraceNodeId id : ids) text += format("{}{}", text.size() > 1 ? ", " : "", to_number(id));
  return text + "]";
}

// The attributes that say what was done rather than in which step, where and how fast.
std::vector<TraceAttribute> attributes_of(const Trace& trace, std::size_t row) {
  std::vector<TraceAttribute> attributes;
  for (std::size_t i = 0; i < trace.attribute_count(row); ++i) {
    TraceAttribute attribute = trace.attribute(row, i);
    if (std::ranges::find(kAddedByRuns, attribute.name) == std::end(kAddedByRuns) &&
        std::ranges::find(kProcessorUseAttributes, attribute.name) == kProcessorUseAttributes.end())
      attributes.push_back(attribute);
  }
  return attributes;
}

std::optional<std::string> difference_in_attributes(const Trace& executed, const Trace& dry,
                                                    std::size_t row) {
  const std::vector<TraceAttribute> ours = attributes_of(executed, row);
  const std::vector<TraceAttribute> theirs = attributes_of(dry, row);
  for (std::size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
    if (i >= ours.size()) return format("lacks the attribute {}", quote_for_message(theirs[i].name));
    if (i >= theirs.size()) return format("has one attribute too many: {}", quote_for_message(ours[i].name));
    if (!(ours[i] == theirs[i]))
      return ours[i].name == theirs[i].name
                 ? format("differs in the attribute {}", quote_for_message(ours[i].name))
                 : format("has the attribute {} in the place of {}", quote_for_message(ours[i].name),
                          quote_for_message(theirs[i].name));
  }
  return std::nullopt;
}

// Compares two nodes with the same name.
std::optional<std::string> difference_in_node(const Trace& executed, const Trace& dry, std::size_t row) {
  if (executed.id(row) != dry.id(row))
    return format("has the id {} in the place of {}", to_number(executed.id(row)), to_number(dry.id(row)));
  if (executed.type(row) != dry.type(row))
    return format("is {} in the place of {}", to_string(executed.type(row)), to_string(dry.type(row)));
  if (!std::ranges::equal(executed.data_deps(row), dry.data_deps(row)))
    return format("has the data dependencies {} in the place of {}", listed(executed.data_deps(row)),
                  listed(dry.data_deps(row)));
  const bool in_line =
      dry.type(row) != NodeType::kComp &&
      std::ranges::equal(executed.ctrl_deps(row),
                         waited_for(executed, executed.start(row), dry.ctrl_deps(row), dry.data_deps(row)));
  if (!in_line && !std::ranges::equal(executed.ctrl_deps(row), dry.ctrl_deps(row)))
    return format("has the control dependencies {} in the place of {}", listed(executed.ctrl_deps(row)),
                  listed(dry.ctrl_deps(row)));
  if (executed.inputs(row) != dry.inputs(row)) return "differs in its inputs";
  if (executed.outputs(row) != dry.outputs(row)) return "differs in its outputs";
  return difference_in_attributes(executed, dry, row);
}

}  // namespace

ExecutionTrace trace_execution(const Program& program, std::span<const ExecutedStep> steps,
                               const ExecutionTraceOptions& options) {
  const DrySteps dry(program, options, steps.size() > 1);
  ExecutionTrace result;
  // By node of the step: the id under which it was recorded last, in this step and in the one before.
  std::vector<std::uint64_t> current(dry.nodes_per_step(), kAbsent), previous;
  TraceNode node;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    if (s > 0) {
      std::swap(previous, current);
      current.assign(dry.nodes_per_step(), kAbsent);
    }
    const auto recorded_id = [&](TraceNodeId id) {
      const std::uint64_t number = to_number(id);
      if (s == 0) return current[number];
      return number < dry.nodes_per_step() ? previous[number] : current[number - dry.nodes_per_step()];
    };
    const auto rename = [&](std::vector<TraceNodeId>& ids) {
      for (TraceNodeId& id : ids) id = TraceNodeId{recorded_id(id)};
      result.dropped_dependencies += std::erase(ids, TraceNodeId{kAbsent});
      std::ranges::sort(ids);
    };
    const ExecutedStep& step = steps[s];
    for (const ExecutedKernel& kernel : step.kernels) {
      const Nanoseconds start = kernel.start - options.clock_offset;
      check(start.count() >= 0 && kernel.end >= kernel.start, "a recorded call ends after it has started");
      const std::optional<CommunicationWork> communication = communication_of(origin_of(program, kernel));
      const std::uint64_t first_id = result.trace.size();
      for (std::uint32_t i = 0; i < kernel.ops(); ++i) {
        const std::uint64_t node_of_step = dry.node_of(kernel.instruction, step.op(kernel, i));
        dry.get(node_of_step, s == 0, node);
        check(i == 0 || node.type == NodeType::kComp, "what communicates is a kernel of its own");
        rename(node.data_deps);
        rename(node.ctrl_deps);
        if (node.type != NodeType::kComp)
          node.ctrl_deps = waited_for(result.trace, start, node.ctrl_deps, node.data_deps);
        node.id = TraceNodeId{result.trace.size()};
        const Nanoseconds took = kernel.end - kernel.start;
        node.start = i == 0 ? start : start + took;
        node.duration = i == 0 ? took : Nanoseconds{};
        node.attributes.add_int64(kStep, step.step);
        add_place(step.device, kernel.stream, node);
        if (i == 0 && &kernel == &step.kernels.front() && step.processors)
          add_processor_use(*step.processors, node);
        if (i > 0) node.attributes.add_int64(kFusedInto, static_cast<std::int64_t>(first_id));
        if (communication)
          if (const auto bandwidth = algorithm_gb_per_second(communication->bytes, took))
            node.attributes.add_double(kAlgorithmBandwidth, *bandwidth);
        current[node_of_step] = to_number(node.id);
        result.trace.add(node);
      }
    }
  }
  return result;
}

std::optional<std::string> compare_with_dry_trace(const Trace& executed, const Trace& dry) {
  const std::size_t both = std::min(executed.size(), dry.size());
  for (std::size_t row = 0; row < both; ++row) {
    if (executed.name(row) != dry.name(row))
      return format("node {}: {} ran where the program has {}", row, quote_for_message(executed.name(row)),
                    quote_for_message(dry.name(row)));
    if (const auto difference = difference_in_node(executed, dry, row))
      return format("node {} ({}) {}", row, quote_for_message(executed.name(row)), *difference);
  }
  if (executed.size() < dry.size())
    return format("the run ended after {} of {} nodes, before {}", executed.size(), dry.size(),
                  quote_for_message(dry.name(both)));
  if (executed.size() > dry.size())
    return format("the run has {} nodes, the program {}; the first beyond is {}", executed.size(), dry.size(),
                  quote_for_message(executed.name(both)));
  return std::nullopt;
}

}  // namespace nadi::inline traces
