// How the forward pass of a model is built: for training, evaluation, prefill or decode, and its sizes. A
// whole step (StepRequest in parallel/step_program.h) has one or more forward passes.
#pragma once

#include <cstdint>
#include <string_view>

#include "nadi/graph/dtype.h"
#include "nadi/model/expert_options.h"

namespace nadi::inline describe {

enum class ForwardMode : std::uint8_t {
  kTrain,     // forward with loss, all that gradients need is kept
  kEvaluate,  // forward with loss, no dropout
  kPrefill,   // a prompt at once: fills the KV cache, picks the next token
  kDecode,    // one token per sequence, on top of the cache
};
std::string_view to_string(ForwardMode mode);  // "train", "evaluate", "prefill", "decode"

struct ForwardOptions {
  ForwardMode mode = ForwardMode::kTrain;
  std::int64_t batch_size = 1;    // sequences
  std::int64_t seq_length = 1;    // tokens of each; 1 when decoding
  std::int64_t cache_length = 0;  // room in the KV cache, for prefill and decode
  DType dtype = DType::kF32;      // of parameters and activations: kF32, kBF16, kF16
  bool fp8 = false;               // matrix products of transformer blocks on fp8 operands; wants dtype kBF16
  bool fused_attention = true;
  bool sampling = false;      // prefill and decode draw the next token; otherwise they take the likeliest
  bool keeps_logits = false;  // training and evaluation: in a variable "logits", for every token
  ExpertOptions experts = {};
  // Training: parts of a step whose tokens are balanced by themselves, micro-batches of all data-parallel ranks. The losses
  // of routers are means over these.
  std::int64_t token_groups = 1;
  std::int64_t token_limit = 0;  // the next token is below this; 0 means any of the vocabulary
};

}  // namespace nadi::inline describe
