// What a run trains on: the data, the tokenizer, and the batches made of both. Data and tokenizers that the
// request does not name are searched for, and the listener hears which were taken.
//
//   const ResolvedTrainData data = resolve_train_data({.data = "squad.json", ...}, config, listener);
//   train(options, {*data.train, data.validation.get(), data.tokenizer.get()}, ...);
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "nadi/data/batch_source.h"
#include "nadi/data/sample_set.h"
#include "nadi/model/model_config.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline runs {

struct TrainDataRequest {
  std::filesystem::path data = {};  // SQuAD file; empty means one in cache_dir, else the shipped sample
  std::filesystem::path validation_data =
      {};             // empty means the file that goes with the data, else a part of it
  bool mock = false;  // random tokens in place of data
  std::filesystem::path cache_dir = {};
  // Hugging Face's cache of datasets (data/hugging_face_cache.h), searched for SQuAD before cache_dir; may be
  // empty.
  std::filesystem::path datasets_cache = {};

  // Megatron's datasets in place of SQuAD (data/megatron_data.h), with the samples that the run reads.
  std::vector<std::string> data_path = {};
  std::vector<std::string> validation_path = {};  // datasets for validation; empty means a part of data_path
  std::string split = {};
  std::filesystem::path data_cache = {};
  std::int64_t train_samples = 0;  // 0 means as many as `passes` over the data have
  std::int64_t passes = 1;
  std::int64_t validation_samples = 0;

  std::filesystem::path tokenizer =
      {};  // empty means the checkpoint's, else in cache_dir, else trained on the data
  std::filesystem::path checkpoint = {};  // folder whose tokenizer goes with the weights; may be empty
  std::unique_ptr<Tokenizer> loaded_tokenizer = {};  // in place of a path
  std::string loaded_name = {};
  std::int64_t vocabulary_multiple = 1;  // a vocabulary that the tokenizer or the data decides is rounded up

  std::int64_t max_seq_length = 0;
  bool mask_document_ends = false;         // Megatron's datasets: the token after a document has no loss
  std::int64_t batch_size = 1;             // samples of a step
  std::int64_t validation_batch_size = 1;  // samples that are validated at a time
  std::uint64_t seed = 0;
  bool validate = true;
};

struct ResolvedTrainData {
  std::string data_name;                 // where the samples come from
  std::string validation_name;           // "" without validation
  std::string tokenizer_name;            // where the tokenizer comes from; "" without one
  std::string description;               // data, validation and tokenizer for the user, a line each
  std::unique_ptr<Tokenizer> tokenizer;  // nullptr where the data came as tokens
  std::unique_ptr<SampleSet> train_samples, validation_samples;  // of SQuAD
  std::unique_ptr<BatchSource> train;
  std::unique_ptr<BatchSource> validation;  // nullptr without validation
};

// Hears how the search goes.
class DataListener {
 public:
  virtual ~DataListener() = default;
  virtual void searched(const std::string& text) = 0;  // a place where nothing was found
  virtual void note(const std::string& text) = 0;      // what was found
  virtual void warning(const std::string& text) = 0;   // what was taken because nothing was found
};

// A model without a vocabulary gets the tokenizer's, else that of the data. Error (input) for damaged files
// and for a tokenizer that does not fit the model.
ResolvedTrainData resolve_train_data(TrainDataRequest request, ModelConfig& config, DataListener& listener);

}  // namespace nadi::inline runs
