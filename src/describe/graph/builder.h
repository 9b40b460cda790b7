// Adds ops to a graph, checking every one against its definition.
//
//   GraphBuilder b;
//   const TensorId x = b.input("x", Shape{4, 768}, DType::kF32);
//   const TensorId w = b.parameter("fc.weight", Shape{768, 3072}, DType::kF32, Initializer::normal(0.02));
//   {
//     const auto scope = b.in_layer("fc");
//     const TensorId y = matmul(b, {.a = x, .b = w});        // graph/ops/matmul.h
//   }
//   Graph graph = b.take();
//
// Ops are named after the layer and the op ("fc.matmul", "fc.matmul_2", ...), values after the op that makes
// them. Shapes that do not fit are an Error (input) that names op and shapes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nadi/graph/graph.h"

namespace nadi::inline describe {

// A request for an op. `into` names the tensors to write instead of making new values, one per output and
// kNoTensor for "a new one"; it may be shorter than the outputs, or empty.
struct NewOp {
  OpKind kind;
  std::vector<TensorId> inputs;
  Attributes attributes = {};
  std::vector<OpOutput> into = {};
  std::string label = {};  // last part of the name; the op kind's name where empty
};

class GraphBuilder {
  static constexpr LayerId kNotLooked{-1};
  // Where new ops come from.
  struct Origin {
    std::string layer;
    LayerId layer_id = kNotLooked;
    Phase phase = Phase::kForward;
    std::int32_t block = -1;
    bool core_attention = false;
  };

 public:
  GraphBuilder() = default;
  explicit GraphBuilder(Graph graph);  // goes on where the graph ends

  // Makes room for this many ops, with their tensors, where the caller knows about how many will come.
  void reserve(std::size_t ops);
  // Ops and values that are added from now on have no names: for graphs of which only the costs are wanted.
  // A third of the time that building takes is for names.
  void leave_out_names() { names_ = false; }

  TensorId input(std::string name, Shape shape, DType dtype);
  TensorId constant(std::string name, Shape shape, DType dtype, Initializer value,
                    std::vector<Shard> shards = {});
  TensorId parameter(std::string name, Shape shape, DType dtype, Initializer initializer,
                     std::vector<Shard> shards = {});
  TensorId variable(Tensor tensor);  // any other; `variable` is set

  // The op's outputs, in order.
  std::vector<TensorId> add(NewOp op);
  // The same for ops with one output, or whose first output is the one that matters.
  TensorId add_one(NewOp op) { return add(std::move(op)).front(); }

  // Where the ops added from now on belong. Scopes nest and end with the returned object:
  // in_layer("attn") within in_layer("transformer.h.3") is "transformer.h.3.attn".
  class [[nodiscard]] Scope {
   public:
    Scope(GraphBuilder& builder, Origin next)
        : builder_(builder), saved_(std::exchange(builder.origin_, std::move(next))) {}
    ~Scope() { builder_.origin_ = std::move(saved_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    GraphBuilder& builder_;
    Origin saved_;
  };
  Scope in_layer(std::string_view name);
  Scope in_block(std::int32_t block);
  Scope in_core_attention();
  Scope in_phase(Phase phase);
  // Ops added from now on come from where `op` came from, in the given phase.
  Scope in_origin_of(const Op& op, Phase phase);

  const std::string& layer() const { return origin_.layer; }
  const Graph& graph() const { return graph_; }
  const Tensor& tensor(TensorId id) const { return graph_.tensor(id); }
  const Shape& shape(TensorId id) const { return graph_.tensor(id).shape; }
  // Moves the ops from number `first` on for which `late` holds behind the others, each group in its order.
  // It is a bug when one of the others reads what they make.
  void move_behind(std::uint32_t first, const std::function<bool(const Op&)>& late);

  Graph take() { return std::move(graph_); }

 private:
  TensorId add_tensor(Tensor tensor);
  std::string unique_name(const std::string& wanted);
  LayerId layer_id();  // of what is added now

  Graph graph_;
  bool names_ = true;
  Origin origin_;
  std::unordered_map<std::string, int> uses_of_name_;
  std::unordered_map<std::string, LayerId> layer_ids_;
};

}  // namespace nadi::inline describe
