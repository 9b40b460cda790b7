#include "nadi/cli/train_data.h"

#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/units.h"
#include "nadi/cli/train_flags.h"
#include "nadi/comm/launcher_environment.h"
#include "nadi/command_line/flags.h"
#include "nadi/megatron/data_paths.h"
#include "nadi/megatron/defaults.h"
#include "nadi/megatron/tokenizer.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {

TrainDataRequest data_request(const Flags& flags, const ResolvedTrain& run, std::vector<std::string>& notes) {
  const TrainOptions& options = run.options;
  MegatronTokenizer named = load_megatron_tokenizer(flags);
  if (flags.given("--tokenizer") && named.tokenizer)
    throw usage_error("--tokenizer and Megatron's flags for a tokenizer contradict each other");
  notes.insert(notes.end(), named.notes.begin(), named.notes.end());
  const std::int64_t global = global_batch_of(options);
  TrainDataPaths paths = resolve_data_paths(flags);
  return {.data = flags.text("--data").value_or(""),
          .validation_data = flags.text("--eval-data").value_or(""),
          .mock = flags.given("--mock-data"),
          .cache_dir = flags.text("--cache-dir").value_or(kDefaultCacheDir),
          .datasets_cache =
              flags.given("--cache-dir") ? "" : process_environment()("HF_DATASETS_CACHE").value_or(""),
          .data_path = std::move(paths.train),
          .validation_path = std::move(paths.validation),
          .split = flags.text("--split").value_or(kMegatronSplit),
          .data_cache = flags.text("--data-cache-path").value_or(""),
          .train_samples = samples_of(flags, options),
          .passes = options.epochs,
          .validation_samples = checked_multiply(run.eval_iterations, global, "samples"),
          .tokenizer = flags.text("--tokenizer").value_or(""),
          .checkpoint = options.resume_from.empty() ? options.init_from : options.resume_from,
          .loaded_tokenizer = std::move(named.tokenizer),
          .loaded_name = std::move(named.name),
          .vocabulary_multiple = flags.integer("--make-vocab-size-divisible-by").value_or(1),
          .max_seq_length = options.seq_length,
          .mask_document_ends = flags.given("--eod-mask-loss"),
          .batch_size = global,
          .validation_batch_size = options.batch_size * options.plan.dp,
          .seed = options.seed,
          .validate = options.evaluate};
}

void DataMessages::searched(const std::string& text) {
  console_.debug() << "debug: " << text << "\n";
}
void DataMessages::note(const std::string& text) {
  console_.info() << "note: " << text << "\n";
}
void DataMessages::warning(const std::string& text) {
  console_.warnings() << "warning: " << text << "\n";
}

void limit_to_one_pass(const Flags& flags, const ResolvedTrainData& data, TrainOptions& options) {
  if (!reads_indexed_data(flags) || options.max_steps != 0) return;
  options.max_steps = options.batches ? options.batches->steps_of_epochs(data.train->samples(), 1)
                                      : data.train->batches_per_epoch();
}

}  // namespace nadi::inline show
