// The step graph: ops in an order in which they may run one after the other, and the tensors between them.
//
// The order is part of the graph's meaning. An op reads the value that the last op before it wrote, so reads
// and writes of variables are ordered, too; the walk over a program (parallel/step_walk.h) turns that into
// dependencies. A graph only grows: ops are added by GraphBuilder (builder.h), which checks shapes, and
// nothing is changed afterwards but the size of the batch (graph_batch.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "nadi/graph/op.h"
#include "nadi/graph/tensor.h"

namespace nadi::inline describe {

class Graph {
 public:
  std::span<const Op> ops() const { return ops_; }
  std::span<const Tensor> tensors() const { return tensors_; }
  std::span<const std::string> layers() const { return layers_; }

  const Op& op(OpId id) const { return ops_[index(id)]; }
  const Tensor& tensor(TensorId id) const { return tensors_[index(id)]; }
  const std::string& layer(LayerId id) const { return layers_[static_cast<std::size_t>(id)]; }

  std::optional<TensorId> find_tensor(std::string_view name) const;
  std::vector<TensorId> tensors_with(Role role) const;  // in the order in which they were made

  // Sum over the parameter tensors: what people call the number of parameters. A tied weight is one tensor.
  std::int64_t parameter_count() const;

 private:
  friend class GraphBatch;
  friend class GraphBuilder;
  std::vector<Op> ops_;
  std::vector<Tensor> tensors_;
  std::vector<std::string> layers_;
  // Names are looked up here and never iterated.
  std::unordered_map<std::string, TensorId> tensor_by_name_;
};

}  // namespace nadi::inline describe
