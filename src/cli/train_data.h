// What a run trains on: the data, the tokenizer, and the batches made of both. Where the user did not say,
// they are looked for, and what was taken instead is said.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "nadi/data/batch_source.h"
#include "nadi/data/sample_set.h"
#include "nadi/model/model_config.h"
#include "nadi/text/tokenizer.h"

namespace nadi {

struct Console;

struct TrainDataRequest {
  std::filesystem::path data = {};             // SQuAD file; empty: in cache_dir, else the shipped sample
  std::filesystem::path validation_data = {};  // empty: the one that goes with the data, else a part of it
  bool shipped_sample = false;                 // and nothing else
  std::filesystem::path cache_dir = {};
  // Hugging Face's cache of datasets (data/hugging_face_cache.h), searched for SQuAD before cache_dir; may be
  // empty.
  std::filesystem::path datasets_cache = {};

  // Megatron's datasets in place of SQuAD (data/megatron_data.h), with the samples that the run reads.
  std::vector<std::string> data_path = {};
  std::vector<std::string> validation_path = {};  // of their own; empty: a part of data_path
  std::string split = {};
  std::filesystem::path data_cache = {};
  std::int64_t train_samples = 0;  // 0: as many passes as `passes`
  std::int64_t passes = 1;
  std::int64_t validation_samples = 0;

  std::filesystem::path tokenizer = {};   // empty: the checkpoint's, in cache_dir, else trained on the data
  std::filesystem::path checkpoint = {};  // folder whose tokenizer goes with the weights; may be empty
  std::unique_ptr<Tokenizer> loaded_tokenizer = {};  // in place of a path
  std::string loaded_name = {};
  std::int64_t vocabulary_multiple = 1;  // a vocabulary that the tokenizer or the data decides is rounded up

  std::int64_t max_seq_length = 0;
  bool mask_document_ends = false;         // Megatron's datasets: what follows a document does not count
  std::int64_t batch_size = 1;             // samples of a step
  std::int64_t validation_batch_size = 1;  // samples that are validated at a time
  std::uint64_t seed = 0;
  bool validate = true;
};

struct ResolvedTrainData {
  std::string data_name;                                         // where the samples come from
  std::string validation_name;                                   // "" without validation
  std::string tokenizer_name;                                    // where the tokenizer comes from; "" without
  std::string description;                                       // what there is, a line each, for the user
  std::unique_ptr<Tokenizer> tokenizer;                          // nullptr where data came as tokens
  std::unique_ptr<SampleSet> train_samples, validation_samples;  // of SQuAD
  std::unique_ptr<BatchSource> train;
  std::unique_ptr<BatchSource> validation;  // nullptr without validation
};

// A model without a vocabulary gets the tokenizer's, or with neither that of the data. Error (input) for
// files that are damaged, or a tokenizer that does not fit the model.
ResolvedTrainData resolve_train_data(TrainDataRequest request, ModelConfig& config, Console& console);

}  // namespace nadi
