#include "nadi/cuda/joined_products.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "nadi/graph/builder.h"
#include "nadi/graph/ops/views.h"

namespace nadi::inline engines::cuda {
namespace {

// Writes the ops that are computed instead, and where their tensors are.
class JoinedWriter {
 public:
  explicit JoinedWriter(const Graph& graph) : graph_(graph) {}

  // A tensor of the program as it is.
  TensorId same(TensorId id) {
    if (id == kNoTensor) return id;
    const auto [entry, fresh] = same_.try_emplace(id, kNoTensor);
    if (fresh) {
      entry->second = given(id, graph_.tensor(id).shape);
      put(entry->second, {.tensor = id});
    }
    return entry->second;
  }
  // What lies one after the other, along the first axis.
  TensorId stacked(const std::vector<TensorId>& ids) {
    if (ids[0] == kNoTensor) return kNoTensor;
    Shape shape = graph_.tensor(ids[0]).shape;
    std::int64_t rows = 0;
    for (const TensorId id : ids) rows += graph_.tensor(id).shape[0];
    shape.set(0, rows);
    const TensorId made = given(ids[0], shape);
    put(made, {.tensor = ids[0], .row_stride = shape.elements(1, shape.rank())});
    return made;
  }

  // The values that share rows, in order.
  void set_rows(const std::vector<TensorId>& values) {
    values_ = values;
    const std::int64_t element = size_of(graph_.tensor(values[0]).dtype);
    for (const TensorId id : values) {
      joined_.rows.values.push_back({.value = id, .offset = joined_.row_stride * element});
      joined_.row_stride += columns_of(id);
    }
    const Shape& shape = graph_.tensor(values[0]).shape;
    joined_.rows.size = shape.elements(0, shape.rank() - 1) * joined_.row_stride * element;
  }
  TensorId rows_given() {
    Shape shape = graph_.tensor(values_[0]).shape;
    shape.set(shape.rank() - 1, joined_.row_stride);
    const TensorId made = given(values_[0], shape);
    put(made, {.tensor = values_[0], .row_stride = joined_.row_stride});
    return made;
  }

  TensorId add(const Op& like, std::vector<TensorId> inputs, OpOutput into = {}) {
    return builder_.add_one({.kind = like.kind,
                             .inputs = std::move(inputs),
                             .attributes = like.attributes,
                             .into = {into},
                             .label = like.name});
  }
  void put(TensorId made, const JoinedProducts::Place& place) {
    joined_.places.resize(std::max(joined_.places.size(), index(made) + 1));
    joined_.places[index(made)] = place;
  }
  std::int64_t row_stride() const { return joined_.row_stride; }

  // Rotary of these columns of the rows, in place. Neighbours that are turned alike are turned at once.
  void turn(TensorId rows, const std::vector<const Op*>& rotaries) {
    for (std::size_t first = 0; first < rotaries.size();) {
      std::size_t end = first + 1;
      if (rotaries[first] == nullptr) {
        first = end;
        continue;
      }
      while (end < rotaries.size() && rotaries[end] != nullptr &&
             turns_alike(*rotaries[first], *rotaries[end]))
        ++end;
      turn(rows, rotaries, first, end);
      first = end;
    }
  }

  JoinedProducts take() {
    joined_.graph = builder_.take();
    joined_.places.resize(joined_.graph.tensors().size());
    return std::move(joined_);
  }

 private:
  std::int64_t columns_of(TensorId id) const { return graph_.tensor(id).shape[-1]; }

  TensorId given(TensorId like, const Shape& shape) {
    Tensor tensor = graph_.tensor(like);
    tensor.shape = shape;
    tensor.producer = kNoOp;
    if (tensor.variable) return builder_.variable(std::move(tensor));
    return builder_.input(tensor.name, shape, tensor.dtype);
  }

  std::int64_t head_width(const Op& rotary) const {
    return columns_of(rotary.inputs[0]) / rotary.attributes.integer("heads");
  }
  bool turns_alike(const Op& first, const Op& second) const {
    Attributes attributes = second.attributes;
    attributes.set("heads", first.attributes.integer("heads"));
    return attributes == first.attributes && head_width(first) == head_width(second) &&
           std::ranges::equal(std::span(first.inputs).subspan(1), std::span(second.inputs).subspan(1));
  }

  void turn(TensorId rows, const std::vector<const Op*>& rotaries, std::size_t first, std::size_t end) {
    std::int64_t before = 0, turned = 0, heads = 0;
    for (std::size_t i = 0; i < first; ++i) before += columns_of(values_[i]);
    for (std::size_t i = first; i < end; ++i) {
      turned += columns_of(values_[i]);
      heads += rotaries[i]->attributes.integer("heads");
    }
    const std::array extents{before, turned, joined_.row_stride - before - turned};
    // Without those that are empty.
    std::vector<std::int64_t> parts;
    std::ranges::copy_if(extents, std::back_inserter(parts), [](std::int64_t extent) { return extent > 0; });
    const int last_axis = builder_.shape(rows).rank() - 1;
    const TensorId part =
        parts.size() == 1 ? rows : split(builder_, rows, last_axis, parts)[before > 0 ? 1 : 0];
    Attributes attributes = rotaries[first]->attributes;
    attributes.set("heads", heads);
    std::vector<TensorId> inputs{part};
    for (std::size_t i = 1; i < rotaries[first]->inputs.size(); ++i)
      inputs.push_back(same(rotaries[first]->inputs[i]));
    const TensorId made = builder_.add_one({.kind = OpKind::kRotary,
                                            .inputs = std::move(inputs),
                                            .attributes = std::move(attributes),
                                            .label = rotaries[first]->name});
    put(made, {.tensor = values_[first], .row_stride = joined_.row_stride});
  }

  const Graph& graph_;
  GraphBuilder builder_;
  JoinedProducts joined_;
  std::vector<TensorId> values_;
  std::map<TensorId, TensorId> same_;
};

}  // namespace

JoinedProducts join_products(const Graph& graph, const ResultsRun& run) {
  const auto input = [&](joined_input::Input i) {
    return each_of(run.members, [i](const JoinedResult& member) { return member.product->inputs[i]; });
  };
  JoinedWriter writer(graph);
  writer.set_rows(each_of(run.members, [](const JoinedResult& member) { return member.value(); }));
  const Op& product = *run.members[0].product;
  const TensorId results =
      writer.add(product, {writer.same(product.inputs[joined_input::kRows]),
                           writer.stacked(input(joined_input::kWeight)),
                           writer.stacked(input(joined_input::kBias)), kNoTensor, kNoTensor});
  writer.put(results, {.tensor = run.members[0].value(), .row_stride = writer.row_stride()});
  std::vector<const Op*> rotaries;
  for (const JoinedResult& member : run.members) rotaries.push_back(member.rotary);
  writer.turn(results, rotaries);
  return writer.take();
}

JoinedProducts join_products(const Graph& graph, const GradientsRun& run) {
  const JoinedGradient& first = run.members[0];
  const auto outputs = [&](const Op* JoinedGradient::*op) {
    return each_of(run.members, [op](const JoinedGradient& member) { return output_of(member.*op); });
  };
  JoinedWriter writer(graph);
  writer.set_rows(each_of(run.members, [](const JoinedGradient& member) { return member.value; }));
  const TensorId rows = writer.rows_given();
  std::vector<const Op*> rotaries;
  for (const JoinedGradient& member : run.members) rotaries.push_back(member.rotary);
  writer.turn(rows, rotaries);
  if (first.bias_sum != nullptr)
    writer.add(*first.bias_sum, {rows},
               {writer.stacked(outputs(&JoinedGradient::bias_sum)), first.bias_sum->outputs[0].accumulate});
  if (first.to_input != nullptr) {
    const auto weight = [](const JoinedGradient& member) {
      return member.to_input->inputs[joined_input::kWeight];
    };
    const TensorId product = writer.add(*first.to_input, {rows, writer.stacked(each_of(run.members, weight)),
                                                          kNoTensor, kNoTensor, kNoTensor});
    const TensorId sum = output_of(run.last_add);
    if (run.summand == kNoTensor) {
      writer.put(product, {.tensor = sum});
    } else {
      writer.put(product, {.tensor = output_of(first.to_input)});  // nobody needs it
      writer.put(writer.add(*run.last_add, {writer.same(run.summand), product}), {.tensor = sum});
    }
  }
  if (first.to_weight != nullptr)
    writer.add(*first.to_weight,
               {rows, writer.same(first.to_weight->inputs[1]), kNoTensor, kNoTensor, kNoTensor},
               {writer.stacked(outputs(&JoinedGradient::to_weight)), first.to_weight->outputs[0].accumulate});
  return writer.take();
}

}  // namespace nadi::inline engines::cuda
