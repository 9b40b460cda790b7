#include "nadi/report/run_prediction_text.h"

#include "nadi/base/format.h"
#include "nadi/base/rates.h"

namespace nadi::inline show {

std::string predicted_text(std::string_view cluster, std::string_view what, Nanoseconds predicted,
                           double here) {
  std::string text = format("predicted on {}: {} per {}", cluster, to_string(predicted), what);
  if (here > 0 && predicted.count() > 0) {
    const double ratio = here / to_seconds(predicted);
    text += format("; here {}, {:.3g} times as long", to_string(from_seconds(here)), ratio);
  }
  return text + "\n";
}

std::string predicted_text(std::string_view cluster, const PredictedGeneration& predicted) {
  std::string text = predicted_text(cluster, "prompt of a batch", predicted.prompt, predicted.prompt_seconds);
  if (predicted.token)
    text += predicted_text(cluster, "token of a batch", *predicted.token, predicted.token_seconds);
  return text;
}

}  // namespace nadi::inline show
