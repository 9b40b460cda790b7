// What a run trains on: the data, the tokenizer, and the samples made of both. Where the user did not say,
// they are looked for, and what was taken instead is said.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "nadi/data/sample_set.h"
#include "nadi/model/model_config.h"
#include "nadi/text/tokenizer.h"

namespace nadi {

struct Console;

struct TrainDataRequest {
  std::filesystem::path data = {};             // SQuAD file; empty: in cache_dir, else the shipped sample
  std::filesystem::path validation_data = {};  // empty: the one that goes with the data, else a part of it
  std::filesystem::path tokenizer = {};   // empty: the checkpoint's, in cache_dir, else trained on the data
  std::filesystem::path checkpoint = {};  // folder whose tokenizer goes with the weights; may be empty
  std::filesystem::path cache_dir = {};
  std::int64_t max_seq_length = 0;
  std::uint64_t seed = 0;
  bool validate = true;
};

struct ResolvedTrainData {
  std::string data_name;        // where the samples come from
  std::string validation_name;  // "" without validation
  std::string tokenizer_name;   // where the tokenizer comes from
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<SampleSet> train;
  std::unique_ptr<SampleSet> validation;  // nullptr without validation
};

// Error (input) for files that are damaged, or a tokenizer that does not fit the model.
ResolvedTrainData resolve_train_data(const TrainDataRequest& request, const ModelConfig& config,
                                     Console& console);

}  // namespace nadi
