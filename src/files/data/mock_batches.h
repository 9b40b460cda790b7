// Batches of random tokens, for runs that are not about what is learned: of any model, with no data and no
// tokenizer. Each sample fills its row.
//
//   MockBatches source({.samples = 1000, .seq_length = 1024, .batch_size = 8, .vocabulary = 50257, .seed = 1});
//
// A token is a function of seed, epoch, sample and place. For BERT a sample is two texts of equal length, and a
// token is to be predicted with probability 0.15, at least one of each sample: another random token stands in its
// place.
#pragma once

#include <cstdint>

#include "nadi/data/batch_source.h"

namespace nadi::inline files {

struct MockBatchOptions {
  std::int64_t samples = 0;  // of an epoch
  std::int64_t seq_length = 0;
  std::int64_t batch_size = 1;  // rows, of all parts together
  std::int64_t vocabulary = 0;  // tokens are below it
  std::uint64_t seed = 1;
  bool masked = false;  // as BERT predicts; else the next token
};

class MockBatches : public BatchSource {
 public:
  explicit MockBatches(const MockBatchOptions& options);

  std::int64_t tokens() const override { return samples() * seq_length(); }

 protected:
  std::int64_t sample_at(std::int64_t epoch, std::int64_t place) override;
  std::int64_t fill_row(std::int64_t epoch, std::int64_t sample, const BatchRow& row) override;

 private:
  std::int32_t token(std::int64_t epoch, std::int64_t sample, std::int64_t place) const;
  std::int64_t hide_tokens(std::int64_t epoch, std::int64_t sample, const BatchRow& row) const;

  MockBatchOptions options_;
};

}  // namespace nadi::inline files
