#include "nadi/graph/graph_batch.h"

namespace nadi::inline describe {

GraphBatch::GraphBatch(const Graph& graph, std::int64_t built_with) : built_with_(built_with) {
  // 0 means does not depend on the batch.
  const auto per_sequence = [&](std::int64_t number) {
    return number % built_with == 0 ? number / built_with : 0;
  };
  for (std::uint32_t t = 0; t < graph.tensors().size(); ++t) {
    const Tensor& tensor = graph.tensors()[t];
    for (int axis = 0; axis < tensor.shape.rank(); ++axis) {
      const std::int64_t factor = per_sequence(tensor.shape[axis]);
      if (factor == 0) continue;
      ambiguous_ |= tensor.variable;
      extents_.push_back({.tensor = t, .axis = axis, .per_sequence = factor});
    }
  }
  std::vector<char> was_written(graph.tensors().size(), 0);
  for (std::uint32_t o = 0; o < graph.ops().size(); ++o) {
    const std::vector<OpOutput>& outputs = graph.ops()[o].outputs;
    for (std::uint32_t i = 0; i < outputs.size(); ++i) {
      char& before = was_written[index(outputs[i].tensor)];
      if (outputs[i].accumulate && before == 0) first_sums_.push_back({.op = o, .output = i});
      before = 1;
    }
    const auto& entries = graph.ops()[o].attributes.entries();
    for (std::uint32_t e = 0; e < entries.size(); ++e) {
      const auto add = [&](std::int64_t number, std::uint32_t place) {
        if (const std::int64_t factor = per_sequence(number); factor != 0)
          settings_.push_back({.op = o, .entry = e, .place = place, .per_sequence = factor});
      };
      if (const auto* number = std::get_if<std::int64_t>(&entries[e].value)) add(*number, 0);
      if (const auto* list = std::get_if<Integers>(&entries[e].value))
        for (std::uint32_t i = 0; i < list->size(); ++i) add((*list)[i], i);
    }
  }
}

void GraphBatch::set_accumulating(Graph& graph, bool accumulates) const {
  for (const Written& written : first_sums_)
    graph.ops_[written.op].outputs[written.output].accumulate = accumulates;
}

void GraphBatch::set(Graph& graph, std::int64_t sequences) const {
  for (const Extent& extent : extents_)
    graph.tensors_[extent.tensor].shape.set(extent.axis, extent.per_sequence * sequences);
  for (const Setting& setting : settings_) {
    AttributeValue& value = graph.ops_[setting.op].attributes.entries_[setting.entry].value;
    const std::int64_t number = setting.per_sequence * sequences;
    if (auto* list = std::get_if<Integers>(&value))
      (*list)[setting.place] = number;
    else
      value = number;
  }
}

}  // namespace nadi::inline describe
