// A model as one whole, wherever it comes from: a Hugging Face folder, a checkpoint of ours, a checkpoint of
// Megatron-LM split over any number of files. Everything that converts, compares or loads checkpoints reads
// this interface, and so does not know the formats.
//
//   const std::unique_ptr<WholeModel> model = ...;               // pretrained_source.h, megatron_source.h, ...
//   const WholeTensor& w = model->at("model.layers.0.self_attn.q_proj.weight");
//   const TensorBlock block{.row = 8, .rows = 4, .columns = w.columns()};
//   std::vector<std::byte> rows(w.bytes_of(block));
//   model->read(w, block, rows);
//
// Tensors have the names that Hugging Face gives them, which are those of our graphs' parameters. Optimizer
// state has the names of our training state: "<parameter>.m" and "<parameter>.v" (Adam's moments) and
// "<parameter>.master" (the fp32 copy of a parameter of fewer bits), all f32 and shaped as the parameter.
//
// Every tensor is read as a matrix: its first axis are the rows, all others together the columns; a vector
// has one column. Reading copies out of mapped files, changes nothing and may be done by several threads at
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/checked_memory.h"
#include "nadi/checkpoint/training_state.h"
#include "nadi/graph/file_dtype.h"
#include "nadi/graph/shape.h"
#include "nadi/model/model_config.h"

namespace nadi::inline files {

inline constexpr std::string_view kFirstMoment = ".m", kSecondMoment = ".v", kMasterWeights = ".master";

// A rectangle of a tensor seen as a matrix.
struct TensorBlock {
  std::int64_t row = 0;
  std::int64_t rows = 0;
  std::int64_t column = 0;
  std::int64_t columns = 0;

  std::int64_t elements() const { return rows * columns; }
  bool operator==(const TensorBlock&) const = default;
};

struct WholeTensor {
  std::string name;
  FileDType dtype = FileDType::kF32;
  Shape shape = {};
  // Rows that can be read. More than the shape has where the source pads the vocabulary: Megatron trains its
  // added rows as well, so that one split of Megatron's becomes another only with them.
  std::int64_t stored_rows = 0;
  std::string place = {};  // the file, or "FILE and 7 others"

  std::int64_t rows() const { return shape.rank() == 0 ? 1 : shape[0]; }
  std::int64_t columns() const { return shape.rank() == 0 ? 1 : shape.elements(1, shape.rank()); }
  TensorBlock whole() const { return {.rows = rows(), .columns = columns()}; }
  std::size_t bytes_of(const TensorBlock& block) const {
    return static_cast<std::size_t>(block.elements() * size_of(dtype));
  }
};

// A rectangle of a tensor as it lies in a mapped file: its element (i, j) is at
// data + i * row_stride + j * column_stride, strides in bytes.
struct MappedPiece {
  TensorBlock block = {};  // in the tensor
  const std::byte* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
};

// Adam's numbers and the schedule of learning rate and weight decay, as Megatron counts them: in samples.
struct ScheduleNumbers {
  double max_rate = 0;
  double min_rate = 0;
  std::string decay = "linear";  // constant, linear, cosine, inverse-square-root, WSD
  std::int64_t warmup_samples = 0;
  std::int64_t decay_samples = 0;
  std::int64_t samples_done = 0;
  double start_weight_decay = 0;
  double end_weight_decay = 0;
  std::string weight_decay_growth = "constant";
  std::int64_t weight_decay_samples = 0;

  bool operator==(const ScheduleNumbers&) const = default;
};

struct AdamNumbers {
  std::int64_t updates = 0;  // done: the t of the bias correction
  double rate = 0;           // as it stands: of the next update
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;  // of matrices; biases and norms have none

  bool operator==(const AdamNumbers&) const = default;
};

// Where the training stands that wrote a checkpoint. What a source does not say is absent.
struct TrainingProgress {
  std::int64_t iteration = 0;  // steps done
  std::int64_t samples = 0;    // consumed
  std::optional<AdamNumbers> adam = {};
  std::optional<ScheduleNumbers> schedule = {};
  std::optional<double> loss_scale = {};
  // Numbers of the run by name: seed, global_batch_size, micro_batch_size, seq_length, train_iters, ...
  std::map<std::string, double> settings = {};
  std::map<std::string, std::string> texts = {};  // likewise: tokenizer_type, tokenizer_model
  std::optional<TrainingState> own = {};          // of a checkpoint of ours, complete
};

class WholeModel {
 public:
  virtual ~WholeModel() = default;

  virtual const ModelConfig& config() const = 0;
  // Parameters in the order of the model, then optimizer state; then whatever else the
  // source has that the model does not ask for (poolers, masks), as the source names it.
  virtual std::span<const WholeTensor> tensors() const = 0;
  // Where the elements of a block lie in mapped files: every one in exactly one piece. The block lies within
  // stored_rows. Valid as long as the model.
  virtual std::vector<MappedPiece> pieces(const WholeTensor& tensor, const TensorBlock& block) const = 0;
  // Known for a checkpoint of a training; nothing for weights alone.
  virtual const std::optional<TrainingProgress>& progress() const = 0;
  // In words: "Hugging Face folder", "Megatron-LM checkpoint (torch), tp 2, pp 2".
  virtual std::string kind() const = 0;
  // The folder or file, for messages.
  virtual std::string file() const = 0;
  // What a user should know: archives that were saved without checksums.
  virtual std::vector<std::string> notes() const { return {}; }

  // Checks data against its checksums. read() and view() do so with what they give; nullptr means nothing is
  // checked.
  virtual const CheckedMemory* memory() const { return nullptr; }
  // At the end of reading: checks the rest of what has one checksum for all of it and was read in part, and
  // copies of what was read. Error (input).
  virtual void check_rest() const;

  // The block's elements, row by row, in the tensor's own type. `out` has exactly their size.
  void read(const WholeTensor& tensor, const TensorBlock& block, std::span<std::byte> out) const;
  // The same without a copy, where the elements follow each other in a mapped file; nothing where they do
  // not. It may be unaligned.
  std::optional<std::span<const std::byte>> view(const WholeTensor& tensor, const TensorBlock& block) const;

  // nullptr when there is none of that name. at() throws Error (input) with the nearest name.
  const WholeTensor* find(std::string_view name) const;
  const WholeTensor& at(std::string_view name) const;

 private:
  mutable std::once_flag indexed_;
  mutable std::map<std::string_view, const WholeTensor*> by_name_;  // made at the first find()
};

}  // namespace nadi::inline files
