// A model's layers split over tensor- and context-parallel ranks, as one of those ranks computes them.
//
// Tensor parallelism is Megatron's: attention heads and the inner width of the feed-forward layers are split,
// column-split layers take the whole input, row-split ones give partial sums that are reduced; the vocabulary
// is split in the embedding and in the loss. With sequence parallelism the residual stream between those
// regions is split over the same ranks by tokens: gathered on the way in, reduce-scattered on the way out.
// What was gathered is not kept: the backward pass gathers it again, while it computes the gradient of the
// input, and computes the gradient of the weight while that is reduce-scattered.
// Context parallelism splits the tokens of a sequence for everything, in zigzag so that causal attention is
// balanced; keys and values are gathered for attention.
//
// All ranks of a pipeline stage build the same graph. What differs between them (which rows of the
// vocabulary, which tokens, which heads) is in the values of constants, through their shards.
#pragma once

#include <map>

#include "nadi/model/layers.h"
#include "nadi/parallel/plan.h"

namespace nadi::inline describe {

class ParallelLayers : public Layers {
 public:
  // `options.seq_length` counts the tokens of a sequence that this rank has: `whole_tokens` / cp.
  ParallelLayers(GraphBuilder& builder, const ModelConfig& config, const ForwardOptions& options,
                 const Plan& plan, std::int64_t whole_tokens);

  TensorId position_ids() override;
  TensorId token_type_ids() override;
  TensorId word_embedding(const std::string& name) override;
  TensorId linear(TensorId x, const LinearSpec& spec) override;
  TensorId dropout(TensorId x, double rate, const std::string& name) override;
  void head(TensorId x, const HeadSpec& spec) override;

  // The shape of what passes between pipeline stages.
  Shape stream_shape() const;

 protected:
  std::int64_t heads() const override { return config_.heads / plan_.tp; }
  std::int64_t kv_heads() const override { return config_.kv_heads / plan_.tp; }
  TensorId for_own_heads(TensorId weight) override;
  TensorId of_all_tokens(TensorId values) override;
  bool separates_heads() const override { return plan_.cp > 1; }
  void complete(AttentionArgs& args) override;
  TensorId token_positions() override;
  void loss_of(TensorId logits, TensorId targets, TensorId count) override;
  TensorId whole_logits(TensorId logits) override;
  RoutedTokens to_experts(const RoutedTokens& tokens) override;
  TensorId from_experts(TensorId y) override;
  ExpertRows dispatch(const ExpertRows& own) override;
  TensorId combine(TensorId made, const ExpertRows& own, const ExpertRows& dispatched) override;
  TensorId expert_weights(const std::string& name, const Shape& whole, int axis, double deviation) override;
  TensorId of_balanced_tokens(TensorId counts) override;
  std::int64_t balanced_ranks() const override;
  bool is_pipeline() const override { return plan_.pp * plan_.virtual_stages > 1; }

 private:
  bool tensor_parallel() const { return plan_.tp > 1; }
  // The residual stream, or a gradient of it, into and out of a region where ranks hold parts of the width.
  TensorId enter(TensorId x);
  TensorId leave(TensorId partial);
  TensorId place();  // i32 [1]: this rank's place among the tensor-parallel ones
  std::int64_t padded_vocabulary() const;
  std::vector<Shard> tensor_shard(int axis, std::vector<std::int64_t> segments = {}) const;
  std::vector<Shard> context_shard() const;  // of the tokens of a sequence

  const Plan& plan_;
  std::int64_t whole_tokens_;
  std::map<TensorId, TensorId> entered_;  // several layers read one input: it is gathered once
};

}  // namespace nadi::inline describe
