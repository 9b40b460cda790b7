// The vocabulary in which models are written: linear layers, embeddings, attention, norms, the output head.
// A model calls these in its own order and with its checkpoint's names; what they put into the graph is
// decided here. This class builds whole, unsplit layers. Splitting them over ranks is a subclass's work:
// every linear layer says whether its columns or its rows may be split, every vocabulary layer comes through
// here, and so a model does not know about ranks.
//
// Names passed in are relative to the builder's scope: linear(x, {.name = "c_attn"}) within scope
// "transformer.h.0.attn" makes parameter "transformer.h.0.attn.c_attn.weight".
#pragma once

#include <string>
#include <vector>

#include "nadi/graph/builder.h"
#include "nadi/graph/ops/attention.h"
#include "nadi/graph/ops/cross_entropy.h"
#include "nadi/graph/ops/expert_rows.h"
#include "nadi/graph/ops/matmul.h"
#include "nadi/graph/ops/route.h"
#include "nadi/graph/ops/router_losses.h"
#include "nadi/model/forward_options.h"
#include "nadi/model/model_config.h"

namespace nadi::inline describe {

// How tensor parallelism may split a linear layer, as Megatron does: a column-split layer is followed by a
// row-split one, and only the latter needs a reduction.
enum class Split : std::uint8_t { kNone, kColumns, kRows };

struct LinearSpec {
  std::string name;
  std::int64_t outputs = 0;
  bool bias = true;
  bool weight_is_out_in = true;  // the checkpoint stores [out, in] (torch's Linear); GPT-2 stores [in, out]
  Split split = Split::kNone;
  std::vector<std::int64_t> segments = {};  // of packed outputs: each is split by itself; empty means one
  Activation activation = Activation::kNone;
  double deviation = 0;  // of the fresh weight; 0 means the configuration's
};

struct AttentionSpec {
  TensorId q = kNoTensor;  // [B, T, H*D]; or packed with keys and values, when those are absent
  TensorId k = kNoTensor;
  TensorId v = kNoTensor;
  bool causal = false;
  TensorId lengths = kNoTensor;
};

// A feed-forward layer of experts, on the normed stream. Names are relative to the builder's scope.
struct ExpertsSpec {
  const ExpertNames& names;
  bool weight_is_out_in = true;
  double output_deviation = 0;  // of fresh output layers; 0 means the configuration's
};

class Layers {
 public:
  Layers(GraphBuilder& builder, const ModelConfig& config, const ForwardOptions& options);
  virtual ~Layers() = default;
  Layers(const Layers&) = delete;
  Layers& operator=(const Layers&) = delete;

  GraphBuilder& builder() { return builder_; }
  const ModelConfig& config() const { return config_; }
  const ForwardOptions& options() const { return options_; }
  bool training() const { return options_.mode == ForwardMode::kTrain; }
  bool with_cache() const {
    return options_.mode == ForwardMode::kPrefill || options_.mode == ForwardMode::kDecode;
  }

  // Inputs of the step, each made on first use.
  TensorId token_ids();               // i32 [B, T]
  virtual TensorId token_type_ids();  // i32 [B, T]
  virtual TensorId
  position_ids();        // i32 [T] counting from 0; when decoding, i32 [B, 1] with the tokens' positions
  TensorId positions();  // i32 [B]: position of each sequence's first token; kNoTensor when that is 0
  TensorId lengths();    // i32 [B]: tokens of each sequence that are not padding

  virtual TensorId word_embedding(const std::string& name);  // of token_ids()
  TensorId position_embedding(const std::string& name);      // of position_ids()
  TensorId token_type_embedding(const std::string& name);    // of token_type_ids()

  virtual TensorId linear(TensorId x, const LinearSpec& spec);
  // Keys and values go through the cache where there is one. `heads` of the configuration.
  virtual TensorId attention(const AttentionSpec& spec);
  // The experts of a layer, with the one that every token has; losses of the router count towards this step's.
  TensorId experts(TensorId x, const ExpertsSpec& spec);
  virtual TensorId layer_norm(TensorId x, const std::string& name);
  virtual TensorId rms_norm(TensorId x, const std::string& name);
  // RMS norm, or layer norm where the architecture has that, of each head by itself, with one weight for all.
  TensorId head_norm(TensorId x, const std::string& name);
  TensorId rotary(TensorId x);  // on heads of the configuration's width
  virtual TensorId dropout(TensorId x, double rate, const std::string& name);
  TensorId add(TensorId a, TensorId b);

  // The output layer on top of the last hidden states, and what the step is for: the loss, or the next token.
  // `weight` is the full name of its matrix [vocabulary, width], which exists already when it is tied.
  struct HeadSpec {
    std::string weight;
    std::string bias = {};  // full name; none when empty
  };
  virtual void head(TensorId x, const HeadSpec& spec);

  // When generating, all but each sequence's last hidden state can be dropped before the head.
  TensorId last_states(TensorId x);

  // Adds the loss to what its variable holds, for a step of several micro-batches, instead of overwriting it.
  void accumulate_loss(bool accumulate) { accumulate_loss_ = accumulate; }

  // The variable that head() wrote: the loss in training and evaluation, else kNoTensor.
  TensorId loss() const { return loss_; }
  // Likewise of the losses of routers, where there are any.
  TensorId balance_loss() const { return balance_loss_; }
  TensorId router_z_loss() const { return z_loss_; }

 protected:
  // A parameter of the current scope ("<layer>.<name>"), made on first use. Where it is part of a whole one,
  // `shards` says which, and `shape` is that of the part.
  TensorId parameter(const std::string& name, const Shape& shape, Initializer initializer,
                     std::vector<Shard> shards = {});
  // The same by its full name.
  TensorId parameter_named(const std::string& full_name, const Shape& shape, Initializer initializer,
                           std::vector<Shard> shards = {});
  // A whole parameter that is applied to the heads of this rank alone, so that its gradient is a part of the
  // whole one.
  virtual TensorId for_own_heads(TensorId weight) { return weight; }
  // Values of all tokens, where ranks have some each.
  virtual TensorId of_all_tokens(TensorId values) { return values; }
  // Whether packed queries, keys and values must come apart before attention.
  virtual bool separates_heads() const { return false; }
  // Heads that this rank has.
  virtual std::int64_t heads() const { return config_.heads; }
  virtual std::int64_t kv_heads() const { return config_.kv_heads; }
  // What a split over ranks changes about attention, and about rotary positions.
  virtual void complete(AttentionArgs&) {}
  virtual TensorId token_positions() { return kNoTensor; }
  // Tokens with their routes, as the experts of this rank get them, and what comes back from them.
  struct RoutedTokens {
    TensorId x = kNoTensor;
    Routes routes = {};
  };
  virtual RoutedTokens to_experts(const RoutedTokens& tokens) { return tokens; }
  virtual TensorId from_experts(TensorId y) { return y; }
  // Rows of tokens by expert, as this rank has placed them, and as the ranks that have the experts get them.
  struct ExpertRows {
    TensorId rows = kNoTensor, weights = kNoTensor;
    PlacedTokens placed = {};
    PlacedRows received = {};  // where rows came from other ranks
  };
  virtual ExpertRows dispatch(const ExpertRows& own) { return own; }
  // What the experts made of them, back in the order of `own`.
  virtual TensorId combine(TensorId made, const ExpertRows& /*own*/, const ExpertRows& /*dispatched*/) {
    return made;
  }
  // The weights of all experts' layers of one kind: of their inner width, which is along `axis`, a rank may have a part.
  virtual TensorId expert_weights(const std::string& name, const Shape& whole, int axis, double deviation);
  // Counts of all ranks whose tokens are balanced together; and how many tokens those are, of this rank's.
  virtual TensorId of_balanced_tokens(TensorId counts) { return counts; }
  virtual std::int64_t balanced_ranks() const { return 1; }
  virtual bool is_pipeline() const { return false; }
  // An input or a constant, made on first use.
  TensorId input(const std::string& name, const Shape& shape, DType dtype);
  TensorId constant(const std::string& name, const Shape& shape, Initializer value,
                    std::vector<Shard> shards = {});
  // The loss of these logits, from which the backward pass starts.
  virtual void loss_of(TensorId logits, TensorId targets, TensorId count);
  // Logits with all columns, for choosing a token.
  virtual TensorId whole_logits(TensorId logits) { return logits; }
  // Quantizes both operands first where the step uses fp8.
  TensorId product(MatmulArgs args);
  void finish(TensorId logits);

  GraphBuilder& builder_;
  const ModelConfig& config_;
  const ForwardOptions& options_;
  TensorId loss_ = kNoTensor;
  TensorId balance_loss_ = kNoTensor, z_loss_ = kNoTensor;
  bool accumulate_loss_ = false;

 private:
  RouteSettings routing(const ExpertNames& names) const;
  TensorId routed_experts(const RoutedTokens& tokens, const ExpertsSpec& spec);
  TensorId shared_expert(TensorId x, const ExpertsSpec& spec);
  void balance(TensorId logits, const RouteSettings& settings);
  OpOutput router_metric(const char* name, TensorId& variable);
  void pooled_balance_loss();
  TensorId cache(const std::string& name);
  TensorId next_token();
  TensorId next_position();
  void move_on();
  void keep(TensorId logits);

  RouterSums pooled_ = {};  // of the layers so far
  std::int64_t pooled_tokens_ = 0;
};

}  // namespace nadi::inline describe
