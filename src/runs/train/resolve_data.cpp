#include "nadi/train/resolve_data.h"

#include <algorithm>
#include <array>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/round_up.h"
#include "nadi/data/hugging_face_cache.h"
#include "nadi/data/sample_batches.h"
#include "nadi/data/sample_squad.h"
#include "nadi/data/squad.h"
#include "nadi/data/squad_split.h"
#include "nadi/data/text_files.h"
#include "nadi/data/tokenizer_check.h"
#include "nadi/text/bpe_trainer.h"
#include "nadi/text/wordpiece_trainer.h"
#include "nadi/train/resolve_indexed_data.h"
#include "nadi/train/resolve_mock_data.h"

namespace nadi::inline runs {
namespace {

// Tokens of a tokenizer that is trained because there was no other.
constexpr std::int64_t kTrainedVocabulary = 8192;

// The names of SQuAD files in a cache folder, newest version first.
struct SquadFiles {
  std::string_view train, validation;
};
constexpr std::array kSquadFiles{SquadFiles{"train-v2.0.json", "dev-v2.0.json"},
                                 SquadFiles{"train-v1.1.json", "dev-v1.1.json"}};

Objective objective_of(const Architecture& architecture) {
  return architecture->masked() ? Objective::kMaskedToken : Objective::kNextToken;
}

struct NamedSet {
  std::string name;
  SquadSet set;
};

class Resolver {
 public:
  Resolver(TrainDataRequest& request, ModelConfig& config, DataListener& listener)
      : request_(request), config_(config), listener_(listener) {}

  ResolvedTrainData run() {
    load_data();
    ResolvedTrainData resolved;
    resolved.tokenizer = tokenizer(resolved.tokenizer_name);
    const Tokenizer& tokenizer = *resolved.tokenizer;
    if (config_.vocabulary == 0)
      config_.vocabulary = rounded_up(tokenizer.vocabulary_size(), request_.vocabulary_multiple);
    check_vocabulary(tokenizer, config_.vocabulary);
    const Objective objective = objective_of(config_.architecture);
    check_special_tokens(tokenizer, objective);
    const auto samples = [&](const SquadSet& set) {
      return std::make_unique<SampleSet>(
          make_samples(set, tokenizer, {.objective = objective, .seq_length = request_.max_seq_length}));
    };
    resolved.data_name = train_->name;
    resolved.train_samples = samples(train_->set);
    resolved.train = std::make_unique<SampleBatches>(
        *resolved.train_samples, tokenizer,
        BatchOptions{.batch_size = request_.batch_size, .seed = request_.seed});
    if (validation_) {
      resolved.validation_name = validation_->name;
      resolved.validation_samples = samples(validation_->set);
      resolved.validation = std::make_unique<SampleBatches>(
          *resolved.validation_samples, tokenizer,
          BatchOptions{
              .batch_size = request_.validation_batch_size, .seed = request_.seed, .shuffle = false});
    }
    resolved.description = describe(resolved);
    return resolved;
  }

 private:
  NamedSet read(const std::filesystem::path& path) {
    NamedSet named{path.string(), read_squad(path)};
    if (const std::int64_t misplaced = count_misplaced_answers(named.set); misplaced > 0)
      listener_.warning(format("{}: {} answers are not at their answer_start in the context", named.name,
                               with_thousands(misplaced)));
    return named;
  }

  void load_data() {
    if (!request_.validation_data.empty() && request_.validate) validation_ = read(request_.validation_data);
    if (!request_.data.empty()) {
      train_ = read(request_.data);
    } else if (!find_in_cache()) {
      listener_.warning(format(
          "no data is given, and {} has no SQuAD file: training on the small sample that comes with Nadi",
          searched_folders()));
      train_ = {std::string(kSampleSquadTrainName),
                parse_squad(std::string(sample_squad_train()), std::string(kSampleSquadTrainName))};
      if (request_.validate && !validation_)
        validation_ = {std::string(kSampleSquadDevName),
                       parse_squad(std::string(sample_squad_dev()), std::string(kSampleSquadDevName))};
    }
    if (!request_.validate || validation_) return;
    SquadSplit split = split_squad(std::move(train_->set), {.seed = request_.seed});
    train_->set = std::move(split.train);
    validation_ = {format("a tenth of {}", train_->name), std::move(split.validation)};
  }

  std::string searched_folders() const {
    const std::string own = request_.cache_dir.string();
    return request_.datasets_cache.empty() ? own : format("{} or {}", request_.datasets_cache.string(), own);
  }

  // A file of that name in the folder, or downloaded to it by Hugging Face's library.
  std::optional<std::filesystem::path> find(const std::filesystem::path& folder,
                                            std::string_view name) const {
    if (folder.empty()) return std::nullopt;
    const std::filesystem::path path = folder / name;
    if (std::filesystem::exists(path)) return path;
    if (auto downloaded = find_downloaded(folder, name)) return downloaded;
    listener_.searched(format("{} is not in {}", name, folder.string()));
    return std::nullopt;
  }

  bool find_in_cache() {
    for (const std::filesystem::path& folder : {request_.datasets_cache, request_.cache_dir})
      for (const SquadFiles& files : kSquadFiles) {
        const auto train = find(folder, files.train);
        if (!train) continue;
        listener_.note(format("no data is given: using {}", train->string()));
        train_ = read(*train);
        if (!request_.validate || validation_) return true;
        if (const auto validation = find(folder, files.validation)) validation_ = read(*validation);
        return true;
      }
    return false;
  }

  std::unique_ptr<Tokenizer> tokenizer(std::string& name) {
    const auto load = [&](const std::filesystem::path& path) {
      name = path.string();
      return load_tokenizer(path);
    };
    if (request_.loaded_tokenizer) {
      name = request_.loaded_name;
      return std::move(request_.loaded_tokenizer);
    }
    if (!request_.tokenizer.empty()) return load(request_.tokenizer);
    if (!request_.checkpoint.empty() && has_tokenizer(request_.checkpoint)) return load(request_.checkpoint);
    const std::filesystem::path cached =
        request_.cache_dir / config_.architecture->tokenizer.value_or(config_.architecture->model_type);
    std::string why_none = format("none in {}", cached.string());
    if (has_tokenizer(cached)) {
      std::unique_ptr<Tokenizer> found = load(cached);
      std::string misfit = config_.vocabulary == 0 ? "" : vocabulary_misfit(*found, config_.vocabulary);
      if (misfit.empty()) misfit = special_tokens_misfit(*found, objective_of(config_.architecture));
      if (misfit.empty()) {
        listener_.note(format("no tokenizer is given: using {}", cached.string()));
        return found;
      }
      why_none = format("{} does not fit ({})", cached.string(), misfit);
    }
    const std::int64_t size =
        config_.vocabulary == 0 ? kTrainedVocabulary : std::min(config_.vocabulary, kTrainedVocabulary);
    name = format("trained on {}", train_->name);
    std::unique_ptr<Tokenizer> trained =
        config_.architecture->masked() ? train_wordpiece(texts_of(train_->set), {.vocabulary_size = size})
                                       : train_bpe(texts_of(train_->set), {.vocabulary_size = size});
    listener_.warning(format("no tokenizer is given, and {}: trained one of {} tokens on the data", why_none,
                             with_thousands(trained->vocabulary_size())));
    return trained;
  }

  std::string describe(const ResolvedTrainData& data) const {
    const SampleStatistics& statistics = data.train_samples->statistics();
    std::string text = format("data: {}, {} samples of {:.0f} tokens in the mean, {} cut to {}\n",
                              data.data_name, with_thousands(statistics.samples), statistics.mean_length(),
                              with_thousands(statistics.truncated), request_.max_seq_length);
    if (statistics.dropped > 0)
      text += format("note: {} questions had nothing to predict and were left out\n", statistics.dropped);
    if (data.validation)
      text += format("validation: {}, {} samples\n", data.validation_name,
                     with_thousands(data.validation->samples()));
    return text + format("tokenizer: {}, {} tokens; the model has room for {}\n", data.tokenizer_name,
                         with_thousands(data.tokenizer->vocabulary_size()),
                         with_thousands(config_.vocabulary));
  }

  TrainDataRequest& request_;
  ModelConfig& config_;
  DataListener& listener_;
  std::optional<NamedSet> train_, validation_;
};

}  // namespace

ResolvedTrainData resolve_train_data(TrainDataRequest request, ModelConfig& config, DataListener& listener) {
  if (request.mock) return resolve_mock_data(std::move(request), config, listener);
  if (!request.data_path.empty()) return resolve_indexed_data(std::move(request), config, listener);
  return Resolver(request, config, listener).run();
}

}  // namespace nadi::inline runs
