#include "nadi/data/megatron_batches.h"

#include <utility>

#include "nadi/base/error.h"

namespace nadi::inline files {

MegatronBatches::MegatronBatches(std::unique_ptr<const MegatronSamples> samples,
                                 const MegatronBatchOptions& options)
    : BatchSource({.samples = options.samples,
                   .seq_length = options.seq_length,
                   .batch_size = options.batch_size,
                   .padding = options.padding}),
      samples_(std::move(samples)) {
  check(options.samples <= samples_->size(), "more samples than the index map has");
}

std::int64_t MegatronBatches::sample_at(std::int64_t /*epoch*/, std::int64_t place) {
  return place;
}

std::int64_t MegatronBatches::fill_row(std::int64_t epoch, std::int64_t sample, const BatchRow& row) {
  return samples_->fill(epoch, sample, row);
}

}  // namespace nadi::inline files
