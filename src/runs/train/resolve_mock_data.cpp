#include "nadi/train/resolve_mock_data.h"

#include "nadi/base/format.h"
#include "nadi/base/round_up.h"
#include "nadi/base/units.h"
#include "nadi/data/mock_batches.h"
#include "nadi/data/tokenizer_check.h"
#include "nadi/train/given_tokenizer.h"

namespace nadi::inline runs {
namespace {

// An epoch is short: who wants more steps says how many.
constexpr std::int64_t kBatchesOfEpoch = 256, kValidationSamples = 64;
// Where neither the model nor a tokenizer says how many tokens there are.
constexpr std::int64_t kUsualVocabulary = 8192;
// Validation is on other tokens.
constexpr std::uint64_t kValidationSeed = 0x9e3779b97f4a7c15U;

}  // namespace

ResolvedTrainData resolve_mock_data(TrainDataRequest request, ModelConfig& config, DataListener& listener) {
  ResolvedTrainData resolved;
  take_given_tokenizer(request, resolved);
  const Tokenizer* const tokenizer = resolved.tokenizer.get();
  if (config.vocabulary == 0) {
    const std::int64_t tokens = tokenizer != nullptr ? tokenizer->vocabulary_size() : kUsualVocabulary;
    config.vocabulary = rounded_up(tokens, request.vocabulary_multiple);
    if (tokenizer == nullptr)
      listener.warning(
          format("neither a vocabulary size nor a tokenizer is given: the model gets a vocabulary of {}",
                 with_thousands(config.vocabulary)));
  }
  if (tokenizer != nullptr) check_vocabulary(*tokenizer, config.vocabulary);
  MockBatchOptions options{
      .samples = kBatchesOfEpoch * request.batch_size,
      .seq_length = request.max_seq_length,
      .batch_size = request.batch_size,
      .vocabulary = tokenizer != nullptr ? tokenizer->vocabulary_size() : config.vocabulary,
      .seed = request.seed,
      .masked = config.architecture->masked()};
  resolved.data_name = "random tokens";
  resolved.train = std::make_unique<MockBatches>(options);
  if (request.validate) {
    resolved.validation_name = resolved.data_name;
    options.samples = kValidationSamples;
    options.batch_size = request.validation_batch_size;
    options.seed ^= kValidationSeed;
    resolved.validation = std::make_unique<MockBatches>(options);
  }
  resolved.description =
      format("data: random tokens below {}, {} samples of {}\n", with_thousands(options.vocabulary),
             with_thousands(resolved.train->samples()), request.max_seq_length);
  if (tokenizer != nullptr)
    resolved.description +=
        format("tokenizer: {}, {} tokens; the model has room for {}\n", resolved.tokenizer_name,
               with_thousands(tokenizer->vocabulary_size()), with_thousands(config.vocabulary));
  return resolved;
}

}  // namespace nadi::inline runs
