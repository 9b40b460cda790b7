// Batches of Megatron's samples, in the order of their index maps, which are shuffled already.
//
//   MegatronBatches source(std::move(samples), {.samples = 1600, .seq_length = 1024, .batch_size = 8});
//
// An epoch is as many samples as the run wants (Megatron: iterations times batch size), whatever the
// documents hold: the maps repeat them. A run that goes on reads the same samples again, masked in another
// way.
#pragma once

#include <cstdint>
#include <memory>

#include "nadi/data/batch_source.h"
#include "nadi/data/megatron_samples.h"

namespace nadi::inline files {

struct MegatronBatchOptions {
  std::int64_t samples = 0;  // of an epoch, at most those there are
  std::int64_t seq_length = 0;
  std::int64_t batch_size = 1;  // rows, of all parts together
  TokenId padding = 0;
};

class MegatronBatches : public BatchSource {
 public:
  MegatronBatches(std::unique_ptr<const MegatronSamples> samples, const MegatronBatchOptions& options);

  std::int64_t tokens() const override { return samples_->tokens(); }
  bool has_as_many_as_wanted() const override { return true; }

 protected:
  std::int64_t sample_at(std::int64_t epoch, std::int64_t place) override;
  std::int64_t fill_row(std::int64_t epoch, std::int64_t sample, const BatchRow& row) override;

 private:
  std::unique_ptr<const MegatronSamples> samples_;
};

}  // namespace nadi::inline files
