// Cuts samples into batches: what a training step reads.
//
//   BatchSource source(samples, tokenizer, {.batch_size = 8, .seed = 1});
//   DataPosition position;                    // or one that was saved
//   const Batch batch = source.batch(position);
//   position = source.after(position);
//
// A batch is a function of samples, options and position: any can be asked for at any time, so a position is
// all there is to save. Each epoch has its own order, and each sample is in it once.
//
// Several ranks share a batch: each asks for its Part, and part i has the i-th run of rows, so that a row's
// number in the whole batch, by which dropout is numbered, is that of the part's first row and its own. The
// batches are the same for any number of ranks, so a position saved by two ranks is good for four.
// Micro-batches are parts, too: micro-batch m of M on rank r of R is Part{r * M + m, R * M}.
//
// Not thread-safe: the order of the epoch asked for last is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nadi/data/masking.h"
#include "nadi/data/sample_set.h"

namespace nadi {

struct Place;

struct BatchOptions {
  std::int64_t batch_size = 1;  // rows, of all parts together
  std::uint64_t seed = 1;
  bool shuffle = true;  // off: in the order of the samples, in every epoch; for validation
};

// Both from 0.
struct DataPosition {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;
  bool operator==(const DataPosition&) const = default;
};

struct Part {
  std::int64_t rank = 0;
  std::int64_t ranks = 1;
};

// Inputs of a step, row-major: all but `lengths` have rows x seq_length elements. Unused places hold the
// padding token (failing that the one for the end of a text, or 0), token type 0 and kIgnoredTarget. When an
// epoch ends within a batch, its last rows have no sample: they are unused, with a length of 1, since
// attention needs a token to look at.
struct Batch {
  std::vector<std::int32_t> input_ids = {};
  std::vector<std::int32_t> token_type_ids = {};  // 1 for the context of kMaskedToken, 0 elsewhere
  std::vector<std::int32_t> targets = {};
  std::vector<std::int32_t> lengths = {};  // one per row: its tokens
  std::int64_t samples = 0;                // rows that have one
  std::int64_t tokens = 0;                 // targets that count
};

class BatchSource {
 public:
  // `samples` must outlive the source; the tokenizer is the one they were made with. Error (usage) when
  // batch_size is below 1, or so large that elements of a batch cannot be numbered with 31 bits.
  BatchSource(const SampleSet& samples, const Tokenizer& tokenizer, const BatchOptions& options);

  std::int64_t samples() const { return samples_->size(); }
  std::int64_t batches_per_epoch() const;

  // The position must be inside of its epoch: one that comes from a file has to pass check_position(). Error
  // (usage) when the number of ranks does not divide batch_size.
  Batch batch(const DataPosition& position, const Part& part = {});

  // The samples in the rows of that batch, fewer than rows at the end of an epoch.
  std::vector<std::int64_t> samples_of(const DataPosition& position, const Part& part = {});

  DataPosition after(const DataPosition& position) const;

  // Error (input) at `place`, the file the position was read from, when there is no such batch.
  void check_position(const DataPosition& position, const Place& place) const;

 private:
  std::int64_t rows_of(const Part& part) const;
  void fill_row(std::int64_t sample, std::int64_t epoch, std::int64_t row, Batch& batch) const;
  bool contains(const DataPosition& position) const;
  void prepare_order(std::int64_t epoch);

  const SampleSet* samples_;
  BatchOptions options_;
  TokenId padding_;
  std::optional<Masking> masking_;  // for kMaskedToken
  std::vector<std::uint32_t> order_;
  std::optional<std::int64_t> order_epoch_;  // whose order that is
};

}  // namespace nadi
