#include "nadi/train/resolve_indexed_data.h"

#include <optional>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/round_up.h"
#include "nadi/base/units.h"
#include "nadi/data/megatron_data.h"
#include "nadi/data/tokenizer_check.h"
#include "nadi/train/given_tokenizer.h"

namespace nadi::inline runs {
namespace {

// The token that ends a document, where its prediction has no loss.
std::optional<TokenId> masked_end(const TrainDataRequest& request, const Tokenizer* tokenizer, bool masked) {
  if (!request.mask_document_ends || masked) return std::nullopt;
  if (tokenizer == nullptr)
    throw usage_error("masking the loss at document ends needs the tokenizer of the data",
                      "name the tokenizer that the dataset was made with");
  const std::optional<TokenId> end = tokenizer->special_tokens().end;
  if (!end)
    throw usage_error("masking the loss at document ends: the tokenizer has no token that ends a document");
  return end;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

ResolvedTrainData resolve_indexed_data(TrainDataRequest request, ModelConfig& config,
                                       DataListener& listener) {
  ResolvedTrainData resolved;
  take_given_tokenizer(request, resolved);
  const Tokenizer* const tokenizer = resolved.tokenizer.get();
  const bool masked = config.architecture->masked();
  if (masked && tokenizer == nullptr)
    throw usage_error("BERT's masks need the tokenizer of the data",
                      "name the tokenizer that the dataset was made with");
  if (masked) check_special_tokens(*tokenizer, Objective::kMaskedToken);
  MegatronData data =
      open_megatron_data({.data_path = request.data_path,
                          .split = request.split,
                          .validation_path = request.validation_path,
                          .cache = request.data_cache,
                          .seq_length = request.max_seq_length,
                          .batch_size = request.batch_size,
                          .validation_batch_size = request.validation_batch_size,
                          .train_samples = request.train_samples,
                          .passes = request.passes,
                          .validation_samples = request.validate ? request.validation_samples : 0,
                          .seed = request.seed,
                          .masked = masked,
                          .tokenizer = tokenizer,
                          .masked_end = masked_end(request, tokenizer, masked),
                          .vocabulary = config.vocabulary});
  if (config.vocabulary == 0) {
    const std::int64_t multiple = request.vocabulary_multiple;
    const std::int64_t tokens = tokenizer != nullptr ? tokenizer->vocabulary_size() : data.largest_token + 1;
    config.vocabulary = rounded_up(tokens, multiple);
    if (tokenizer == nullptr)
      listener.warning(format(
          "neither a vocabulary size nor a tokenizer is given: the largest token of the data is {}, so "
          "the model gets a vocabulary of {}",
          with_thousands(data.largest_token), with_thousands(config.vocabulary)));
  }
  if (tokenizer != nullptr) check_vocabulary(*tokenizer, config.vocabulary);
  resolved.data_name = joined(request.data_path);
  resolved.train = std::move(data.train);
  resolved.validation = std::move(data.validation);
  resolved.description = format("data: {}, {} samples of {} tokens\n", resolved.data_name,
                                with_thousands(resolved.train->samples()), request.max_seq_length);
  if (resolved.validation) {
    resolved.validation_name = resolved.data_name;
    resolved.description +=
        format("validation: {} samples\n", with_thousands(resolved.validation->samples()));
  }
  if (!resolved.validation && request.validate && request.validation_path.empty())
    resolved.description += format("note: the split {} leaves nothing for validation\n", request.split);
  if (tokenizer != nullptr)
    resolved.description +=
        format("tokenizer: {}, {} tokens; the model has room for {}\n", resolved.tokenizer_name,
               with_thousands(tokenizer->vocabulary_size()), with_thousands(config.vocabulary));
  return resolved;
}

}  // namespace nadi::inline runs
