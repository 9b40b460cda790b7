// Batches of samples: what a training step reads.
//
//   SampleBatches source(samples, tokenizer, {.batch_size = 8, .seed = 1});    // or another kind
//   DataPosition position;                    // or one that was saved
//   const Batch batch = source.batch(position);
//   position = source.after(position);
//
// A batch is a function of data, options and position: any can be asked for at any time, so a position is all
// there is to save. Each epoch has its own order, and each sample is in it once.
//
// Several ranks share a batch: each asks for its Part, and part i has the i-th run of rows, so that a row's
// number in the whole batch, by which dropout is numbered, is that of the part's first row and its own. The
// batches are the same for any number of ranks, so a position saved by two ranks is good for four.
// Micro-batches are parts, too: micro-batch m of M on rank r of R is Part{r * M + m, R * M}.
//
// Kinds: SampleBatches (sample_batches.h) of questions and contexts, MegatronBatches (megatron_batches.h) of
// Megatron's datasets. A new kind says how many samples there are, in which order, and how to fill a row.
//
// Not thread-safe: a source may keep what was asked for last.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nadi/text/tokenizer.h"

namespace nadi::inline ground {
struct Place;
}  // namespace nadi::inline ground

namespace nadi::inline files {

// Both from 0.
struct DataPosition {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;
  bool operator==(const DataPosition&) const = default;
};

// Rows in a row, wherever they start: for batches of other sizes than the source's.
struct RowRange {
  std::int64_t epoch = 0;
  std::int64_t first = 0;  // place in the epoch
  std::int64_t rows = 0;   // of all parts together; those beyond the end of the epoch have no sample
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
  std::vector<std::int32_t> token_type_ids = {};  // 1 for the second text of a masked sample, 0 elsewhere
  std::vector<std::int32_t> targets = {};
  std::vector<std::int32_t> lengths = {};  // one per row: its tokens
  std::int64_t samples = 0;                // rows that have one
  std::int64_t tokens = 0;                 // targets that count
};

// A row of a batch, seq_length places long, all of them unused until a sample is written there.
struct BatchRow {
  std::span<std::int32_t> input_ids;
  std::span<std::int32_t> token_type_ids;
  std::span<std::int32_t> targets;
  std::int32_t& length;
};

class BatchSource {
 public:
  virtual ~BatchSource() = default;

  std::int64_t samples() const { return shape_.samples; }  // of an epoch
  std::int64_t seq_length() const { return shape_.seq_length; }
  std::int64_t batch_size() const { return shape_.batch_size; }
  std::int64_t batches_per_epoch() const;

  // Counts the data that the samples are cut from. With samples() a fingerprint: a run that is continued with
  // another figure has other data.
  virtual std::int64_t tokens() const = 0;

  // Whether samples() is the number that the run asked for, not that of the data. Such a run may be extended.
  virtual bool has_as_many_as_wanted() const { return false; }

  // The position must be inside of its epoch: one that comes from a file has to pass check_position(). Error
  // (usage) when the number of ranks does not divide batch_size.
  Batch batch(const DataPosition& position, const Part& part = {});

  // The same for any rows, of which the first is inside of its epoch.
  Batch batch_of(const RowRange& range, const Part& part = {});

  // The samples in the rows of that batch, fewer than rows at the end of an epoch.
  std::vector<std::int64_t> samples_of(const DataPosition& position, const Part& part = {});
  std::vector<std::int64_t> samples_in(const RowRange& range, const Part& part = {});

  DataPosition after(const DataPosition& position) const;

  // Error (input) at `place`, the file the position was read from, when there is no such batch.
  void check_position(const DataPosition& position, const Place& place) const;

 protected:
  struct Shape {
    std::int64_t samples = 0;     // of an epoch
    std::int64_t seq_length = 0;  // places of a row
    std::int64_t batch_size = 0;  // rows, of all parts together
    TokenId padding = 0;          // what stands in unused places
  };

  // Error (usage) when batch_size is below 1, or so large that elements of a batch cannot be numbered with 31
  // bits.
  explicit BatchSource(const Shape& shape);

  // Which sample comes at a place, from 0 to samples() - 1, of an epoch.
  virtual std::int64_t sample_at(std::int64_t epoch, std::int64_t place) = 0;

  // Writes a sample into an unused row. Returns how many of its targets count.
  virtual std::int64_t fill_row(std::int64_t epoch, std::int64_t sample, const BatchRow& row) = 0;

 private:
  static std::int64_t rows_of(const RowRange& range, const Part& part);
  RowRange range_of(const DataPosition& position) const;
  bool contains(const DataPosition& position) const;

  Shape shape_;
};

// The token for unused places: for padding, failing that for the end of a text, failing that 0.
TokenId padding_of(const SpecialTokens& special);

}  // namespace nadi::inline files
