// Loss, logits and gradients of given tokens: text and JSON of `nadi evaluate`.
#pragma once

#include <string>

#include "nadi/base/json.h"
#include "nadi/train/token_evaluation.h"

namespace nadi::inline show {

Json evaluation_json(const TokenEvaluationRequest& request, const TokenEvaluation& result);
std::string evaluation_text(const TokenEvaluationRequest& request, const TokenEvaluation& result);

}  // namespace nadi::inline show
