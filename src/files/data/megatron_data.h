// Everything that training on Megatron's datasets needs, opened with one call: which datasets, which
// documents of them, index maps, batches.
//
//   MegatronData data = open_megatron_data({.data_path = {"data/arxiv_text_document"}, .seq_length = 1024,
//                                           .batch_size = 8, .train_samples = 1600, .vocabulary = 50257});
//   data.train->batch({.epoch = 0, .batch = 7})
//
// Index maps that are there are used, others are made; several ranks may do that at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nadi/data/batch_source.h"

namespace nadi::inline files {

struct MegatronDataRequest {
  std::vector<std::string> data_path;  // see data_path.h
  std::string split = "969,30,1";      // see document_split.h
  // Separate datasets for validation; empty means a part of `data_path`. With them, `split` is not used.
  std::vector<std::string> validation_path = {};
  std::filesystem::path cache = {};  // where index maps are; empty means beside the datasets
  std::int64_t seq_length = 0;
  std::int64_t batch_size = 0;             // rows of a batch for training, of all ranks together
  std::int64_t validation_batch_size = 0;  // 0 means the same
  std::int64_t train_samples = 0;  // 0 means whole batches of as many as `passes` over the documents give
  std::int64_t passes = 1;
  std::int64_t validation_samples = 0;     // 0 means no validation
  std::uint64_t seed = 1234;               // of index maps, and of masking
  bool masked = false;                     // BERT: datasets of sentences, and a tokenizer to mask with
  const Tokenizer* tokenizer = nullptr;    // outlives the data; may be absent unless `masked`
  std::optional<TokenId> masked_end = {};  // what this token predicts does not count; not where `masked`
  std::int64_t vocabulary = 0;  // of the model: a larger token is an Error; 0 means the tokenizer's, else any
};

struct MegatronDataset {
  std::string prefix;
  double share = 1;            // of the samples, from 0 to 1
  std::int64_t documents = 0;  // sequences of a dataset that is not `masked`, as Megatron counts them
  std::int64_t tokens = 0;
};

struct MegatronData {
  std::unique_ptr<BatchSource> train;
  std::unique_ptr<BatchSource>
      validation;  // nullptr where none was asked for, or the split leaves it nothing
  std::vector<MegatronDataset> datasets;
  // The largest of all datasets, where neither tokenizer nor vocabulary was given: then all tokens are read. Else -1.
  std::int64_t largest_token = -1;
};

// Error (input) for damaged files, or no documents for training; Error (usage) for figures that make no
// sense.
MegatronData open_megatron_data(const MegatronDataRequest& request);

}  // namespace nadi::inline files
