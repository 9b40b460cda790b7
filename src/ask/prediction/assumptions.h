// What a prediction is asked besides the step, and what it assumed in the end: a field of every answer about time
// on described hardware, so that nobody has to know the defaults to read a figure.
//
//   const PredictionAssumptions assumed = assume(question, cluster, devices, step);
//   assumed.framework->name, assumed.fused_attention, assumed.attention_from
//
// Attention of a training step is the first of: what was asked for; what the framework computes; what the programs
// of the cluster compute (Cluster::attention); fused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/cluster/cluster.h"
#include "nadi/graph/dtype.h"
#include "nadi/parallel/step_program.h"
#include "nadi/sim/framework.h"
#include "nadi/sim/network_fault.h"
#include "nadi/sim/network_schedule.h"
#include "nadi/sim/simulation.h"
#include "nadi/step/step_question.h"

namespace nadi::inline ask {

struct PredictionQuestion {
  std::string cluster = {};              // what load_cluster() takes; needed, unless `hardware` is given
  std::optional<Cluster> hardware = {};  // in place of a name
  std::string framework = {};            // of training: a name of frameworks(); else the first of them
  std::optional<DType> gradient_dtype =
      {};  // in which gradients are reduced; else as Megatron-LM: fp16 with fp16, else fp32
  CollectiveAlgorithm collective = CollectiveAlgorithm::kAuto;
  std::string layer_times = {};  // a file of measured times of layers in place of the model's
};

// Error (usage) where neither names hardware, and what load_cluster() throws.
Cluster cluster_of(const PredictionQuestion& question);

enum class AttentionSource : std::uint8_t { kAsked, kFramework, kCluster, kDefault };
std::string_view to_string(AttentionSource source);  // "asked", "framework", "cluster", "default"

struct AssumedPrice {
  std::string node;                             // of the kind
  std::optional<double> dollars_per_hour = {};  // of the whole node; nothing where no price is known
  bool operator==(const AssumedPrice&) const = default;
};

struct PredictionAssumptions {
  const Framework* framework = nullptr;  // nullptr means of traces, and where nothing is trained
  OverlapOptions overlap = {};           // of the framework, with the type in which gradients are reduced
  std::optional<DType> dtype = {};       // nothing means of traces, which have their own
  bool dtype_asked = false;              // else that of default_dtype()
  std::optional<bool> fused_attention = {};
  AttentionSource attention_from = AttentionSource::kDefault;
  NetworkDetail network = NetworkDetail::kAnalytical;
  CollectiveAlgorithm collective = CollectiveAlgorithm::kAuto;
  std::string layer_times = {};
  // The load of ranks and links: empty, and no deviation, means that all of a kind are alike.
  std::vector<SlowRank> slow = {};
  std::vector<LinkFault> faults = {};
  Jitter jitter = {};
  std::vector<AssumedPrice> prices = {};  // by kind of node that the cluster has
};

// Decides type, attention and layout of the step, in place, and the rest of what a prediction on the first `devices` devices
// of the cluster assumes. Error (usage) for an unknown framework, and for one, or a type of gradients, where
// nothing is trained.
PredictionAssumptions assume(const PredictionQuestion& question, const Cluster& cluster, std::int64_t devices,
                             ResolvedStep& step);

// Of the kinds of nodes that the cluster has.
std::vector<AssumedPrice> prices_of(const Cluster& cluster);
// Of one node; its own price, or that of its devices.
std::optional<double> node_dollars_per_hour(const Cluster& cluster, const NodeSpec& node);

}  // namespace nadi::inline ask
