// Writes a Hugging Face folder with made-up weights of any model, to measure how fast checkpoints are
// converted:
//
//   checkpoint_gen llama3.1-8b out/llama3.1-8b             # 16 GB in bf16, in four shards, with its index
//   nadi checkpoint convert --load-dir out/llama3.1-8b --save-dir out/mega --to megatron ...
//
// The weights are numbers between 2^-9 and 2^-6 of either sign. Every tensor is a stretch of one table of
// them, as large as the largest tensor, so that making them takes no longer than writing them; tensors start
// at places of their own. The same model gives the same bytes.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "nadi/base/atomic_folder.h"
#include "nadi/base/error.h"
#include "nadi/checkpoint/whole_parameters.h"
#include "nadi/checkpoint_conversion/file_filling.h"
#include "nadi/checkpoint_conversion/hugging_face_target.h"
#include "nadi/model/config_file.h"
#include "nadi/model/config_writer.h"

namespace nadi {
namespace {

// Tensors start so far apart in the table; odd, so that no two share rows.
constexpr std::size_t kApart = 104'729;

// SplitMix64: a counter, mixed.
std::uint64_t mixed(std::uint64_t counter) {
  std::uint64_t x = counter * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Four bf16 numbers of random sign and mantissa, with exponents -9 to -6 (bits 118 to 121).
std::uint64_t four_numbers(std::uint64_t counter) {
  const std::uint64_t bits = mixed(counter);
  constexpr std::uint64_t kSignAndMantissa = 0x807f807f807f807f;
  constexpr std::uint64_t kExponentChoice = 0x0180018001800180;
  constexpr std::uint64_t kLeastExponent = 0x3b003b003b003b00;
  return (bits & kSignAndMantissa) | ((bits & kExponentChoice) + kLeastExponent);
}

class MadeUpModel : public WholeModel {
 public:
  explicit MadeUpModel(ModelConfig config) : config_(std::move(config)) {
    std::size_t largest = 0;
    for (WantedTensor& wanted : whole_parameters(config_)) {
      tensors_.push_back({.name = std::move(wanted.name),
                          .dtype = FileDType::kBF16,
                          .shape = wanted.shape,
                          .place = "made up"});
      tensors_.back().stored_rows = tensors_.back().rows();
      largest = std::max(largest, static_cast<std::size_t>(wanted.shape.elements()));
    }
    table_.resize((largest + tensors_.size() * kApart) / 4 + 1);
    for (std::size_t i = 0; i < table_.size(); ++i) table_[i] = four_numbers(i);
  }

  const ModelConfig& config() const override { return config_; }
  std::span<const WholeTensor> tensors() const override { return tensors_; }
  std::vector<MappedPiece> pieces(const WholeTensor& tensor, const TensorBlock& block) const override {
    const auto number = static_cast<std::size_t>(&tensor - tensors_.data());
    const std::int64_t row = tensor.columns() * 2;
    const std::byte* data = std::as_bytes(std::span(table_)).data() + number * kApart * 2;
    return {{.block = block,
             .data = data + block.row * row + block.column * 2,
             .row_stride = row,
             .column_stride = 2}};
  }
  const std::optional<TrainingProgress>& progress() const override { return progress_; }
  std::string kind() const override { return "made-up weights"; }

 protected:
  std::string file() const override { return "made up"; }

 private:
  ModelConfig config_;
  std::vector<WholeTensor> tensors_;
  std::vector<std::uint64_t> table_;
  std::optional<TrainingProgress> progress_;
};

void write_made_up(const std::string& model_name, const std::string& target) {
  const MadeUpModel model(load_model_config(model_name));
  AtomicFolder folder(target);
  folder.write("config.json", config_json(model.config(), {.dtype = DType::kBF16}));
  fill_files(model, hugging_face_files(model, {}), folder,
             {.threads = static_cast<int>(std::thread::hardware_concurrency())});
  folder.commit();
}

}  // namespace
}  // namespace nadi

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: checkpoint_gen MODEL FOLDER\n");
    return 2;
  }
  try {
    nadi::write_made_up(argv[1], argv[2]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
