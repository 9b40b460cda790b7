#include "nadi/engine/cpu/buckets.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/engine/cpu/comm_ops.h"

namespace nadi::cpu {
namespace {

void add_bucket(std::vector<Bucket>& buckets, Bucket added) {
  for (Bucket& known : buckets) {
    if (known.tensors == added.tensors) {
      if (!added.part.empty() && known.part.empty()) {
        known.part = std::move(added.part);
        known.parts = added.parts;
      }
      return;
    }
    for (const std::string& name : added.tensors)
      check(std::ranges::find(known.tensors, name) == known.tensors.end(),
            format("'{}' is in two buckets", name));
  }
  buckets.push_back(std::move(added));
}

}  // namespace

std::vector<Bucket> buckets_of(std::span<const Graph> graphs) {
  std::vector<Bucket> buckets;
  for (const Graph& graph : graphs)
    for (const Op& op : graph.ops()) {
      const bool scatters = op.kind == OpKind::kBucketReduceScatter;
      const bool gathers = op.kind == OpKind::kBucketAllGather;
      const bool reduces = op.kind == OpKind::kAllReduce && op.inputs.size() > 1;
      if (!(scatters || gathers || reduces) || !communicates(op)) continue;
      Bucket bucket;
      if (gathers)
        for (const OpOutput& output : op.outputs) bucket.tensors.push_back(graph.tensor(output.tensor).name);
      else
        for (const TensorId input : op.inputs) bucket.tensors.push_back(graph.tensor(input).name);
      if (!reduces) {
        bucket.part = graph.tensor(gathers ? op.inputs[0] : op.outputs[0].tensor).name;
        bucket.parts = op.attributes.integer("group_size");
      }
      add_bucket(buckets, std::move(bucket));
    }
  return buckets;
}

}  // namespace nadi::cpu
