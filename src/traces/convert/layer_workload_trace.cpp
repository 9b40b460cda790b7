#include "nadi/convert/layer_workload_trace.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/trace/common_attributes.h"

namespace nadi::inline traces {
namespace {

constexpr std::string_view kForwardPhase = "forward", kBackwardPhase = "backward";

bool needs_model_group(WorkloadKind kind) {
  return kind == WorkloadKind::kDataModel || kind == WorkloadKind::kModelData ||
         kind == WorkloadKind::kTransformer || kind == WorkloadKind::kTransformerRecompute;
}

bool waits_in_backward(WorkloadKind kind) {
  return kind == WorkloadKind::kTransformer || kind == WorkloadKind::kTransformerRecompute;
}

}  // namespace

LayerWorkloadTrace::LayerWorkloadTrace(const LayerWorkload& workload, const LayerWorkloadOptions& options)
    : workload_(workload), whole_gathers_(options.gathers_are_whole.value_or(workload.gathers_are_whole)) {
  settle_groups(options);
  switch (workload_.kind) {
    case WorkloadKind::kMicro:
      for (const WorkloadLayer& layer : workload_.layers)
        wait_for(communicate(layer, layer.weight_gradient, "collective", kForwardPhase));
      break;
    case WorkloadKind::kDlrm:
    case WorkloadKind::kDlrmEnhanced:
      dlrm();
      break;
    case WorkloadKind::kInference:
      for (const WorkloadLayer& layer : workload_.layers) forward(layer, kForwardPhase);
      break;
    default:
      for (const WorkloadLayer& layer : workload_.layers) forward(layer, kForwardPhase);
      backward();
      break;
  }
}

void LayerWorkloadTrace::settle_groups(const LayerWorkloadOptions& options) {
  if (options.ranks)
    ranks_ = *options.ranks;
  else if (workload_.ranks)
    ranks_ = *workload_.ranks / workload_.stages;
  else
    throw usage_error(format("{} does not say how many ranks there are", workload_.file),
                      "give it: --ranks 8");
  if (!options.ranks && *workload_.ranks % workload_.stages != 0)
    throw input_error({.file = workload_.file},
                      format("{} ranks do not divide into {} stages", *workload_.ranks, workload_.stages));
  bool needed = needs_model_group(workload_.kind);
  for (const WorkloadLayer& layer : workload_.layers) {
    needed |= needs_model_group(layer.kind);
    model_outside_ |= layer.kind == WorkloadKind::kModelData;
  }
  if (options.model_group)
    model_ = *options.model_group;
  else if (workload_.model_group > 0)
    model_ = workload_.model_group;
  else if (needed)
    throw usage_error(format("{} does not say how many ranks share a layer", workload_.file),
                      "give it: --model-group 4");
  if (ranks_ % model_ != 0)
    throw input_error({.file = workload_.file},
                      format("{} ranks do not divide into groups of {} that share layers", ranks_, model_));
  data_ = ranks_ / model_;
  const std::int64_t experts = workload_.expert_group;
  for (const WorkloadLayer& layer : workload_.layers)
    for (const LayerPart* part : {&layer.forward, &layer.input_gradient, &layer.weight_gradient})
      if (part->type &&
          (part->group == WorkloadGroup::kExpert || part->group == WorkloadGroup::kExpertsData) &&
          data_ % experts != 0)
        throw input_error({.file = workload_.file},
                          format("{} ranks with the same part of the model do not divide into groups of {} "
                                 "that share experts",
                                 data_, experts));
}

std::int64_t LayerWorkloadTrace::members_of(WorkloadGroup group) const {
  switch (group) {
    case WorkloadGroup::kNone:
      return 0;
    case WorkloadGroup::kAll:
      return ranks_;
    case WorkloadGroup::kModel:
      return model_;
    case WorkloadGroup::kData:
      return data_;
    case WorkloadGroup::kExpert:
      return workload_.expert_group;
    case WorkloadGroup::kExpertsData:
      return data_ / workload_.expert_group;
  }
  unreachable();
}

std::vector<std::int64_t> LayerWorkloadTrace::members(WorkloadGroup group, std::int64_t rank) const {
  // Which replica, and which part of it.
  const std::int64_t replica = model_outside_ ? rank % data_ : rank / model_;
  const std::int64_t part = model_outside_ ? rank / data_ : rank % model_;
  const auto at = [&](std::int64_t of_replica, std::int64_t of_part) {
    return model_outside_ ? of_part * data_ + of_replica : of_replica * model_ + of_part;
  };
  const std::int64_t experts = workload_.expert_group;
  std::vector<std::int64_t> list;
  for (std::int64_t i = 0; i < members_of(group); ++i) {
    if (group == WorkloadGroup::kModel) list.push_back(at(replica, i));
    if (group == WorkloadGroup::kData) list.push_back(at(i, part));
    if (group == WorkloadGroup::kExpert) list.push_back(at(replica / experts * experts + i, part));
    if (group == WorkloadGroup::kExpertsData) list.push_back(at(i * experts + replica % experts, part));
  }
  return list;
}

LayerWorkloadTrace::Groups LayerWorkloadTrace::group_numbers(std::int64_t rank, GroupNumbers& numbers) const {
  Groups groups{};
  std::array<bool, 6> used{};
  for (const Step& step : steps_)
    if (step.type) used[static_cast<std::size_t>(step.group)] = true;
  static constexpr std::array<std::string_view, 6> kNames = {"",     "",        "model",
                                                             "data", "experts", "experts data"};
  for (const WorkloadGroup group :
       {WorkloadGroup::kModel, WorkloadGroup::kData, WorkloadGroup::kExpert, WorkloadGroup::kExpertsData}) {
    const auto index = static_cast<std::size_t>(group);
    if (!used[index] || members_of(group) == ranks_) continue;
    const std::vector<std::int64_t> list = members(group, rank);
    groups[index] = numbers.number(format("{} {}", kNames[index], list.front()), list);
  }
  return groups;
}

std::size_t LayerWorkloadTrace::dependencies() const {
  std::size_t count = 0;
  for (const Step& step : steps_) count += step.after.size();
  return count;
}

void LayerWorkloadTrace::get(std::size_t row, const Groups& groups, TraceNode& node) const {
  const Step& step = steps_[row];
  node.clear();
  node.id = TraceNodeId{row};
  node.name = step.name;
  for (const std::uint32_t parent : step.after) node.data_deps.push_back(TraceNodeId{parent});
  add_is_cpu_op(node, false);
  if (step.type) {
    node.type = NodeType::kCommColl;
    add_comm_type(node, *step.type);
    add_comm_size(node, step.size);
    add_process_group(node, groups[static_cast<std::size_t>(step.group)]);
  } else {
    node.type = NodeType::kComp;
    node.duration = step.duration;
  }
  node.attributes.add_text("layer", step.layer);
  node.attributes.add_text("phase", step.phase);
}

void LayerWorkloadTrace::compute(const WorkloadLayer& layer, const char* what, std::string_view phase,
                                 Nanoseconds time) {
  if (time.count() == 0) return;
  Step step{.name = format("{}.{}", layer.name, what), .layer = layer.name, .phase = phase, .duration = time};
  step.after = std::move(waits_);
  waits_.clear();
  if (last_compute_) step.after.push_back(*last_compute_);
  std::ranges::sort(step.after);
  step.after.erase(std::unique(step.after.begin(), step.after.end()), step.after.end());
  last_compute_ = static_cast<std::uint32_t>(steps_.size());
  steps_.push_back(std::move(step));
}

// A collective after what was computed before it, and what it takes on top.
LayerWorkloadTrace::Known LayerWorkloadTrace::communicate(const WorkloadLayer& layer, const LayerPart& part,
                                                          const char* what, std::string_view phase) {
  const std::int64_t count = members_of(part.group);
  if (!part.type || count < 2) return std::nullopt;
  Step step{.name = format("{}.{}", layer.name, what),
            .layer = layer.name,
            .phase = phase,
            .type = part.type,
            .group = part.group,
            .size = part.size};
  if (whole_gathers_ && *part.type == CollectiveType::kAllGather)
    step.size = Bytes{(part.size.count() + count - 1) / count};
  step.after = waits_;
  if (last_compute_) step.after.push_back(*last_compute_);
  std::ranges::sort(step.after);
  step.after.erase(std::unique(step.after.begin(), step.after.end()), step.after.end());
  auto last = static_cast<std::uint32_t>(steps_.size());
  steps_.push_back(std::move(step));
  if (layer.update.count() > 0) {
    steps_.push_back({.name = format("{}.{}.update", layer.name, what),
                      .layer = layer.name,
                      .phase = phase,
                      .duration = layer.update,
                      .after = {last}});
    ++last;
  }
  return last;
}

void LayerWorkloadTrace::wait_for(const Known& step) {
  if (step) waits_.push_back(*step);
}

void LayerWorkloadTrace::forward(const WorkloadLayer& layer, std::string_view phase) {
  compute(layer, phase == kForwardPhase ? "forward" : "forward again", phase, layer.forward.compute);
  wait_for(communicate(layer, layer.forward,
                       phase == kForwardPhase ? "forward collective" : "forward collective again", phase));
}

void LayerWorkloadTrace::backward() {
  const auto marked = [](const std::vector<std::int64_t>& list, std::size_t layer) {
    return std::ranges::binary_search(list, static_cast<std::int64_t>(layer));
  };
  for (std::size_t number = workload_.layers.size(); number-- > 0;) {
    if (marked(workload_.recomputed_from, number)) {
      std::size_t first = number;
      while (!marked(workload_.checkpoints, first)) --first;
      for (std::size_t again = first; again < number; ++again)
        forward(workload_.layers[again], kBackwardPhase);
    }
    backward_of(number);
  }
}

void LayerWorkloadTrace::backward_of(std::size_t number) {
  const WorkloadLayer& layer = workload_.layers[number];
  // In data parallelism the gradient of the weights is computed and sent first.
  if (layer.kind == WorkloadKind::kData) {
    compute(layer, "weight gradient", kBackwardPhase, layer.weight_gradient.compute);
    communicate(layer, layer.weight_gradient, "weight gradient collective", kBackwardPhase);
    if (number > 0) compute(layer, "input gradient", kBackwardPhase, layer.input_gradient.compute);
    return;
  }
  compute(layer, "input gradient", kBackwardPhase, layer.input_gradient.compute);
  Known sent;
  if (waits_in_backward(layer.kind) || number > 0)
    sent = communicate(layer, layer.input_gradient, "input gradient collective", kBackwardPhase);
  if (waits_in_backward(layer.kind)) wait_for(sent);
  compute(layer, "weight gradient", kBackwardPhase, layer.weight_gradient.compute);
  communicate(layer, layer.weight_gradient, "weight gradient collective", kBackwardPhase);
  if (!waits_in_backward(layer.kind)) wait_for(sent);
}

// The lookups, layer 0, are exchanged while the bottom layers compute, and so are their gradients.
void LayerWorkloadTrace::dlrm() {
  const std::vector<WorkloadLayer>& layers = workload_.layers;
  const std::int64_t bottom = workload_.last_bottom_layer;
  Known exchanged;
  for (std::size_t number = 0; number < layers.size(); ++number) {
    const WorkloadLayer& layer = layers[number];
    compute(layer, "forward", kForwardPhase, layer.forward.compute);
    if (layer.forward.type == CollectiveType::kAllToAll) {
      const Known sent = communicate(layer, layer.forward, "forward collective", kForwardPhase);
      if (number == 0) exchanged = sent;
    } else if (static_cast<std::int64_t>(number) == bottom) {
      wait_for(exchanged);
    }
  }
  Known returned;
  for (std::size_t number = layers.size(); number-- > 0;) {
    const WorkloadLayer& layer = layers[number];
    compute(layer, "weight gradient", kBackwardPhase, layer.weight_gradient.compute);
    communicate(layer, layer.weight_gradient, "weight gradient collective", kBackwardPhase);
    if (workload_.kind == WorkloadKind::kDlrm && number == 0) wait_for(returned);
    if (number == 0) break;
    compute(layer, "input gradient", kBackwardPhase, layer.input_gradient.compute);
    if (static_cast<std::int64_t>(number) == bottom + 1)
      returned =
          communicate(layers[0], layers[0].input_gradient, "input gradient collective", kBackwardPhase);
  }
}

}  // namespace nadi::inline traces
