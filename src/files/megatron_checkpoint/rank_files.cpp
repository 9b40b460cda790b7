#include "nadi/megatron_checkpoint/rank_files.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRankFolderPrefix = "mp_rank_";
constexpr double kOldestVersion = 3.0;
constexpr std::int64_t kMostRanks = 1'000'000;

// The numbers of "mp_rank_00_001"; nothing for another name.
std::optional<std::vector<std::int64_t>> rank_numbers(const std::string& name) {
  if (!name.starts_with(kRankFolderPrefix)) return std::nullopt;
  std::vector<std::int64_t> numbers;
  const char *at = name.data() + kRankFolderPrefix.size(), *end = name.data() + name.size();
  while (true) {
    std::int64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 0 || number >= kMostRanks) return std::nullopt;
    numbers.push_back(number);
    if (next == end) return numbers;
    if (*next != '_') return std::nullopt;
    at = next + 1;
  }
}

struct FoundRanks {
  std::map<std::pair<std::int64_t, std::int64_t>, fs::path> folders;  // by pp, tp
  std::int64_t tp = 0, pp = 0;
};

FoundRanks find_ranks(const fs::path& iteration) {
  FoundRanks found;
  std::optional<std::size_t> parts;
  std::error_code error;
  for (fs::directory_iterator entry(iteration, error), end; !error && entry != end; entry.increment(error)) {
    const auto numbers = rank_numbers(entry->path().filename().string());
    if (!numbers) continue;
    if (numbers->size() > 2)
      throw input_error({.file = entry->path().string()},
                        "the checkpoint has ranks of experts: Nadi has no such model");
    if (parts && *parts != numbers->size())
      throw input_error(
          {.file = iteration.string()},
          "there are folders of ranks with and without a pipeline stage: two checkpoints are mixed");
    parts = numbers->size();
    const std::int64_t tp = (*numbers)[0], pp = numbers->size() > 1 ? (*numbers)[1] : 0;
    found.folders[{pp, tp}] = entry->path();
    found.tp = std::max(found.tp, tp + 1);
    found.pp = std::max(found.pp, pp + 1);
  }
  if (error)
    throw Error(ErrorKind::kEnvironment, {.file = iteration.string()},
                format("cannot read the folder: {}", error.message()));
  if (found.folders.empty())
    throw input_error({.file = iteration.string()},
                      "there is no folder of a rank (mp_rank_00, mp_rank_00_000, ...)");
  return found;
}

// The first rank that is missing, however large the numbers are that are there.
void require_all(const FoundRanks& found, const fs::path& iteration) {
  std::int64_t pp = 0, tp = 0;
  for (const auto& [place, folder] : found.folders) {
    if (place != std::pair(pp, tp)) break;
    if (++tp == found.tp) tp = 0, ++pp;
  }
  if (pp == found.pp) return;
  const std::string missing = shard_folder({.pp = found.pp}, {.tp = tp, .pp = pp});
  throw input_error({.file = (iteration / missing).string()},
                    format("this rank is missing: {} of {} x {} ranks (tensor x pipeline) are there",
                           found.folders.size(), found.tp, found.pp));
}

std::string as_words(const std::optional<PickleValue>& value) {
  if (!value || value->is_none()) return "none";
  if (value->is_int()) return std::to_string(value->as_int64());
  if (value->is_float()) return format("{}", value->as_double());
  if (value->is_bool()) return value->as_bool() ? "True" : "False";
  return value->is_text() ? std::string(value->as_text()) : std::string(name_of(value->kind()));
}

// What all ranks say alike.
void require_agreement(const RankFile& first, const RankFile& other) {
  const auto compare = [&](const std::string& what, const std::optional<PickleValue>& a,
                           const std::optional<PickleValue>& b) {
    if (as_words(a) != as_words(b))
      throw input_error({.file = other.name},
                        format("'{}' is {}, but {} in {}", what, as_words(b), as_words(a), first.name),
                        "the files are of different checkpoints");
  };
  for (const char* key : {"iteration", "checkpoint_version"})
    compare(key, first.root().find(key), other.root().find(key));
  const auto args = first.root().find("args"), other_args = other.root().find("args");
  if (args.has_value() != other_args.has_value())
    throw input_error({.file = other.name}, format("'args' is in only one of this file and {}", first.name));
  if (!args) return;
  for (const char* key :
       {"num_layers", "hidden_size", "ffn_hidden_size", "num_attention_heads", "num_query_groups",
        "padded_vocab_size", "tensor_model_parallel_size", "pipeline_model_parallel_size",
        "virtual_pipeline_model_parallel_size", "untie_embeddings_and_output_weights",
        "use_distributed_optimizer", "consumed_train_samples"})
    compare(key, args->find(key), other_args->find(key));
}

void require_split(const RankFiles& files) {
  const auto args = files.ranks.front().root().find("args");
  if (!args) return;
  const auto require = [&](const char* name, std::int64_t found) {
    const auto value = args->find(name);
    if (!value || value->is_none()) return;
    if (value->as_int64() != found)
      throw error_at(*value,
                     format("'{}' is {}, but there are folders of {}", name, value->as_int64(), found),
                     "ranks are missing, or the files are of different checkpoints");
  };
  require("tensor_model_parallel_size", files.tp);
  require("pipeline_model_parallel_size", files.pp);
  if (files.virtual_stages > 1) require("virtual_pipeline_model_parallel_size", files.virtual_stages);
}

std::int64_t chunks_of(const RankFile& rank) {
  const PickleValue root = rank.root();
  if (root.has("model")) return 1;
  std::int64_t chunks = 0;
  while (root.has(format("model{}", chunks))) ++chunks;
  if (chunks == 0) throw input_error({.file = rank.name}, "there is no 'model' in the file");
  return chunks;
}

void require_version(const RankFile& rank) {
  const auto version = rank.root().find("checkpoint_version");
  const double number = version ? version->as_double() : 0;  // as Megatron takes it
  if (number < kOldestVersion)
    throw input_error(
        {.file = rank.name},
        format("checkpoint_version {} orders queries, keys and values differently; known is {} and later",
               number, kOldestVersion),
        "load and save it with a newer Megatron-LM first");
}

}  // namespace

RankFiles open_rank_files(const fs::path& iteration) {
  const FoundRanks found = find_ranks(iteration);
  require_all(found, iteration);
  RankFiles files{.tp = found.tp, .pp = found.pp};
  for (const auto& [place, folder] : found.folders) {
    RankFile rank{.place = {.tp = place.second, .pp = place.first},
                  .folder = folder,
                  .name = (folder / kRankFile).string()};
    rank.file = std::make_shared<const TorchFile>(folder / kRankFile,
                                                  TorchFileOptions{.unknown_classes = UnknownClasses::kKeep});
    if (!rank.root().is_dict())
      throw input_error({.file = rank.name},
                        "the file holds no dictionary, as a checkpoint of Megatron-LM does");
    require_version(rank);
    const std::int64_t chunks = chunks_of(rank);
    if (files.ranks.empty()) {
      files.virtual_stages = chunks;
    } else {
      require_agreement(files.ranks.front(), rank);
      if (chunks != files.virtual_stages)
        throw input_error({.file = rank.name},
                          format("the file has {} parts of the model (model0, model1, ...), {} has {}",
                                 chunks, files.ranks.front().name, files.virtual_stages));
    }
    files.ranks.push_back(std::move(rank));
  }
  require_split(files);
  return files;
}

}  // namespace nadi::inline files
