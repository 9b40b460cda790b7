// Batches of a SampleSet, each epoch in an order of its own.
//
//   SampleBatches source(samples, tokenizer, {.batch_size = 8, .seed = 1});
//
// The seed decides the orders, and what is masked for kMaskedToken. A next-token row predicts all tokens but
// its first.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nadi/data/batch_source.h"
#include "nadi/data/masking.h"
#include "nadi/data/sample_set.h"

namespace nadi::inline files {

struct BatchOptions {
  std::int64_t batch_size = 1;  // rows, of all parts together
  std::uint64_t seed = 1;
  bool shuffle = true;  // off: in the order of the samples, in every epoch; for validation
};

class SampleBatches : public BatchSource {
 public:
  // `samples` must outlive the source; the tokenizer is the one they were made with.
  SampleBatches(const SampleSet& samples, const Tokenizer& tokenizer, const BatchOptions& options);

  std::int64_t tokens() const override { return samples_->statistics().tokens; }

 protected:
  std::int64_t sample_at(std::int64_t epoch, std::int64_t place) override;
  std::int64_t fill_row(std::int64_t epoch, std::int64_t sample, const BatchRow& row) override;

 private:
  const SampleSet* samples_;
  BatchOptions options_;
  std::optional<Masking> masking_;  // for kMaskedToken
  std::vector<std::uint32_t> order_;
  std::optional<std::int64_t> order_epoch_;  // whose order that is
};

}  // namespace nadi::inline files
