// What a model makes of given tokens: its loss, the logits of chosen places, the norms of its gradients. To
// hold it beside the same model in another program.
//
//   const TokenEvaluation result = evaluate_tokens({.config = config, .sequences = {{67, 113, 81}},
//                                                   .positions = {{0, 2}}, .gradients = true}, world);
//   result.loss, result.logits[0], result.gradients[0].norm
//
// A model that predicts the next token is asked for each token after a sequence's first; one that predicts
// masked tokens for every token, of which none is masked. The loss is the mean over all of these. Shorter
// sequences are padded, which changes nothing. There is no dropout.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "nadi/base/checked_memory.h"
#include "nadi/devices/make_engine.h"
#include "nadi/graph/dtype.h"
#include "nadi/model/model_config.h"
#include "nadi/parallel/plan.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline engines {
class Communicator;
}  // namespace nadi::inline engines

namespace nadi::inline runs {

struct TokenPlace {
  std::int64_t sequence = 0;
  std::int64_t position = 0;
};

struct TokenEvaluationRequest {
  ModelConfig config;
  std::vector<std::vector<TokenId>> sequences = {};
  std::vector<TokenPlace> positions = {};  // whose logits are wanted; they are there
  bool gradients = false;
  Plan plan = {};  // its micro-batches are chosen here, and the optimizer's state is not split
  DType dtype = DType::kF32;
  bool fused_attention = true;
  DeviceKind device = DeviceKind::kCpu;
  MathOptions math = {};
  int threads = 0;                     // 0 means one per core
  std::filesystem::path weights = {};  // Hugging Face folder; empty means random ones
  Verify verify = Verify::kYes;
  std::uint64_t seed = 42;  // of random weights
};

struct GradientNorm {
  std::string parameter;
  double norm = 0;
};

struct TokenEvaluation {
  double loss = 0;
  // Of models with experts whose configuration adds one, not yet times its coefficient: `loss` has it, times that. Else 0.
  double auxiliary_loss = 0;
  std::int64_t targets = 0;                     // tokens that were asked for
  std::vector<std::vector<float>> logits = {};  // of each position, over the vocabulary
  std::vector<GradientNorm> gradients = {};     // in the order of the model; a tied layer has none of its own
  std::vector<std::string> unused_weights = {};
  std::vector<std::string> notes = {};  // what a user should know of the files
};

// Collective: all ranks of the plan call it with the same request, and get the same numbers. Error (usage)
// when a sequence or the plan does not fit the model, or for gradients of fp16, which are scaled.
// Error (usage) for stages of a pipeline where the model adds a loss of routers, which is of all layers.
TokenEvaluation evaluate_tokens(const TokenEvaluationRequest& request, Communicator& world);

}  // namespace nadi::inline runs
