#include "nadi/report/evaluation_report.h"

#include <algorithm>

#include "nadi/base/format.h"
#include "nadi/base/version.h"

namespace nadi::inline show {

Json evaluation_json(const TokenEvaluationRequest& request, const TokenEvaluation& result) {
  Json logits = Json::array();
  for (std::size_t i = 0; i < result.logits.size(); ++i)
    logits.push_back({{"sequence", request.positions[i].sequence},
                      {"position", request.positions[i].position},
                      {"values", result.logits[i]}});
  Json gradients;
  if (request.gradients) {
    gradients = Json::array();
    for (const GradientNorm& gradient : result.gradients)
      gradients.push_back({{"parameter", gradient.parameter}, {"norm", gradient.norm}});
  }
  return {{"nadi_version", version()},
          {"model", request.config.name},
          {"weights", request.weights.empty() ? Json(nullptr) : Json(request.weights.string())},
          {"dtype", name_of(request.dtype)},
          {"sequences", request.sequences.size()},
          {"targets", result.targets},
          {"loss", result.loss},
          {"auxiliary_loss", result.auxiliary_loss},
          {"logits", std::move(logits)},
          {"gradients", std::move(gradients)}};
}

std::string evaluation_text(const TokenEvaluationRequest& request, const TokenEvaluation& result) {
  std::string text = format("loss {:.7g} over {} tokens\n", result.loss, result.targets);
  for (std::size_t i = 0; i < result.logits.size(); ++i) {
    const auto likeliest = std::ranges::max_element(result.logits[i]);
    text += format("sequence {} position {}: token {} is the likeliest, logit {:.7g}\n",
                   request.positions[i].sequence, request.positions[i].position,
                   likeliest - result.logits[i].begin(), *likeliest);
  }
  for (const GradientNorm& gradient : result.gradients)
    text += format("gradient {:12.6g}  {}\n", gradient.norm, gradient.parameter);
  return text;
}

}  // namespace nadi::inline show
