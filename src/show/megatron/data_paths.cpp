#include "nadi/megatron/data_paths.h"

#include <algorithm>
#include <array>
#include <fstream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/command_line/flags.h"

namespace nadi::inline show {
namespace {

constexpr std::string_view kPath = "--data-path", kArguments = "--data-args-path",
                           kTrain = "--train-data-path", kValidation = "--valid-data-path",
                           kPerSplit = "--per-split-data-args-path";
// Ways to name the data for training, of which one may be used.
constexpr std::array kWays{kPath, kArguments, kTrain, kPerSplit};

std::vector<std::string> words_of(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  if (words.empty())
    throw input_error({.file = path},
                      in.bad() || !in.eof() ? "cannot be read" : "there are no datasets in it",
                      format("{} takes a file with the words of {}", kArguments, kPath));
  return words;
}

// {"train": ["0.3", "a", "0.7", "b"], "valid": [...], "test": [...]}
TrainDataPaths per_split(const std::string& path) {
  const JsonDocument document = read_json(path);
  const JsonValue root = document.root();
  const auto words = [&](const char* key) {
    std::vector<std::string> list;
    const auto found = root.find(key);
    if (!found || found->is_null()) return list;
    for (const JsonValue& word : found->elements())
      list.push_back(word.is_number() ? format("{}", word.as_double()) : word.as_string());
    return list;
  };
  TrainDataPaths paths{words("train"), words("valid")};
  if (paths.train.empty()) throw error_at(root, "'train' names no datasets");
  return paths;
}

}  // namespace

bool reads_indexed_data(const Flags& flags) {
  return std::ranges::any_of(kWays, [&](std::string_view flag) { return flags.given(flag); });
}

TrainDataPaths resolve_data_paths(const Flags& flags) {
  std::string_view way;
  for (const std::string_view flag : kWays) {
    if (!flags.given(flag)) continue;
    if (!way.empty()) throw usage_error(format("{} and {} contradict each other", way, flag));
    way = flag;
  }
  if (flags.given(kValidation) && way != kTrain)
    throw usage_error(format("{} needs {}", kValidation, kTrain),
                      "datasets for training and validation are given apart, or split by --split");
  if ((way == kTrain || way == kPerSplit) && flags.given("--split"))
    throw usage_error(format("--split and {} contradict each other", way),
                      "datasets for training and validation apart are not split");
  if (way == kArguments) return {words_of(*flags.text(kArguments)), {}};
  if (way == kPerSplit) return per_split(*flags.text(kPerSplit));
  if (way == kTrain) {
    TrainDataPaths paths{flags.texts(kTrain),
                         flags.given(kValidation) ? flags.texts(kValidation) : std::vector<std::string>()};
    return paths;
  }
  return {flags.texts(kPath), {}};
}

}  // namespace nadi::inline show
