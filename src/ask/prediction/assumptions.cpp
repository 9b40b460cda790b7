#include "nadi/prediction/assumptions.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/cluster/cluster_file.h"

namespace nadi::inline ask {
namespace {

// What frameworks do differently is known of training only.
const Framework* framework_of(const PredictionQuestion& question, StepKind kind) {
  const bool trains = kind == StepKind::kTrain;
  if (question.framework.empty()) return trains ? &frameworks().front() : nullptr;
  const Framework* const framework = find_framework(question.framework);
  if (framework == nullptr) {
    std::vector<std::string_view> names;
    for (const Framework& known : frameworks()) names.push_back(known.name);
    throw usage_error(format("unknown framework '{}'", question.framework),
                      did_you_mean(question.framework, names));
  }
  if (!trains)
    throw usage_error(format("a framework does not apply to a step of kind {}", to_string(kind)),
                      "what frameworks do differently is known of training");
  return framework;
}

void decide_attention(const Cluster& cluster, ResolvedStep& step, PredictionAssumptions& assumed) {
  bool& fused = step.request.fused_attention;
  if (step.question.fused_attention) {
    assumed.attention_from = AttentionSource::kAsked;
  } else if (assumed.framework != nullptr && assumed.framework->fused_attention) {
    fused = *assumed.framework->fused_attention;
    assumed.attention_from = AttentionSource::kFramework;
  } else if (assumed.framework != nullptr && !cluster.attention.empty()) {
    fused = cluster.attention != "unfused";
    assumed.attention_from = AttentionSource::kCluster;
  }
  assumed.fused_attention = fused;
}

}  // namespace

std::string_view to_string(AttentionSource source) {
  switch (source) {
    case AttentionSource::kAsked:
      return "asked";
    case AttentionSource::kFramework:
      return "framework";
    case AttentionSource::kCluster:
      return "cluster";
    case AttentionSource::kDefault:
      return "default";
  }
  unreachable();
}

Cluster cluster_of(const PredictionQuestion& question) {
  if (question.hardware) return *question.hardware;
  if (question.cluster.empty())
    throw usage_error("no hardware to predict a step on", "name the cluster it is predicted on");
  return load_cluster(question.cluster);
}

std::optional<double> node_dollars_per_hour(const Cluster& cluster, const NodeSpec& node) {
  if (node.price_per_hour) return node.price_per_hour;
  const DeviceSpec& device = cluster.devices[static_cast<std::size_t>(node.device)];
  if (!device.price_per_hour) return std::nullopt;
  return *device.price_per_hour * node.devices;
}

std::vector<AssumedPrice> prices_of(const Cluster& cluster) {
  std::vector<AssumedPrice> prices;
  for (std::size_t kind = 0; kind < cluster.kinds.size(); ++kind)
    if (std::ranges::find(cluster.nodes, static_cast<std::int32_t>(kind)) != cluster.nodes.end())
      prices.push_back({.node = cluster.kinds[kind].name,
                        .dollars_per_hour = node_dollars_per_hour(cluster, cluster.kinds[kind])});
  return prices;
}

PredictionAssumptions assume(const PredictionQuestion& question, const Cluster& cluster, std::int64_t devices,
                             ResolvedStep& step) {
  const StepKind kind = step.request.kind;
  if (question.gradient_dtype && kind != StepKind::kTrain)
    throw usage_error(format("a type of gradients does not apply to a step of kind {}", to_string(kind)),
                      "gradients are reduced in training");
  PredictionAssumptions assumed{.framework = framework_of(question, kind),
                                .collective = question.collective,
                                .layer_times = question.layer_times,
                                .prices = prices_of(cluster)};
  if (!step.question.dtype) step.request.dtype = default_dtype(cluster, devices);
  assumed.dtype = step.request.dtype;
  assumed.dtype_asked = step.question.dtype.has_value();
  if (assumed.framework != nullptr) {
    assumed.overlap = assumed.framework->overlap;
    step.request.layout = assumed.framework->layout;
    assumed.overlap.gradient_dtype =
        question.gradient_dtype.value_or(default_gradient_dtype(step.request.dtype));
  }
  decide_attention(cluster, step, assumed);
  return assumed;
}

}  // namespace nadi::inline ask
