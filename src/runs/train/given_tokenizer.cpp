#include "nadi/train/given_tokenizer.h"

#include <utility>

namespace nadi::inline runs {

void take_given_tokenizer(TrainDataRequest& request, ResolvedTrainData& resolved) {
  if (request.loaded_tokenizer) {
    resolved.tokenizer = std::move(request.loaded_tokenizer);
    resolved.tokenizer_name = request.loaded_name;
    return;
  }
  std::filesystem::path path = request.tokenizer;
  if (path.empty() && !request.checkpoint.empty() && has_tokenizer(request.checkpoint))
    path = request.checkpoint;
  if (path.empty()) return;
  resolved.tokenizer = load_tokenizer(path);
  resolved.tokenizer_name = path.string();
}

}  // namespace nadi::inline runs
