#include "nadi/checkpoint_inspection/whole_checkpoint.h"

#include <algorithm>

#include "nadi/base/format.h"
#include "nadi/base/json_file.h"
#include "nadi/checkpoint/checkpoint_folder.h"
#include "nadi/checkpoint_conversion/open_checkpoint.h"
#include "nadi/megatron_checkpoint/iteration_folder.h"
#include "nadi/model/architecture.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// Whether config.json names an architecture of ours. A file that does not name any counts as one: its reader
// says what is missing.
bool names_known_model(const fs::path& config) {
  const JsonDocument document = read_json(config);
  const JsonValue root = document.root();
  if (!root.is_object() || !root.has("model_type")) return true;
  if (root.has("nadi_architecture")) return true;
  return find_architecture(root.at("model_type").as_string()) != nullptr;
}

// What the folder holds besides what is shown.
std::vector<std::string> notes_of(const fs::path& folder) {
  std::vector<std::string> notes;
  if (!is_there(folder / "config.json")) {
    if (const CheckpointList found = find_checkpoints(folder); !found.checkpoints.empty())
      notes.push_back(format("{} is the newest of {} checkpoints",
                             found.checkpoints.back().path.filename().string(), found.checkpoints.size()));
    if (const std::vector<std::int64_t> iterations = megatron_iterations(folder); iterations.size() > 1)
      notes.push_back(format("there are checkpoints of {} iterations: {} to {}", iterations.size(),
                             iterations.front(), iterations.back()));
  }
  return notes;
}

class WholeCheckpoint : public StoredTensors {
 public:
  WholeCheckpoint(const fs::path& folder, Verify verify)
      : opened_(open_checkpoint(folder, {.verify = verify})), notes_(notes_of(folder)) {
    for (const std::string& note : model().notes()) notes_.push_back(note);
    const auto padded = std::ranges::find_if(
        tensors(), [](const WholeTensor& tensor) { return tensor.stored_rows > tensor.rows(); });
    if (padded != tensors().end())
      notes_.push_back(format("the vocabulary is padded from {} to {} rows; shapes are without padding",
                              padded->rows(), padded->stored_rows));
  }

  std::string kind() const override { return model().kind(); }
  const ModelConfig* config() const override { return &model().config(); }
  const TrainingProgress* progress() const override {
    const auto& progress = model().progress();
    return progress ? &*progress : nullptr;
  }
  const MegatronSplit* split() const override { return opened_.split ? &*opened_.split : nullptr; }
  std::vector<std::string> notes() const override { return notes_; }
  std::span<const WholeTensor> tensors() const override { return model().tensors(); }
  void read(const WholeTensor& tensor, const TensorBlock& block, std::span<std::byte> out) const override {
    model().read(tensor, block, out);
  }
  std::optional<std::span<const std::byte>> view(const WholeTensor& tensor,
                                                 const TensorBlock& block) const override {
    return model().view(tensor, block);
  }
  void check_rest() const override { model().check_rest(); }
  Bytes checked() const override {
    return model().memory() != nullptr ? model().memory()->checked() : Bytes{};
  }

 private:
  const WholeModel& model() const { return *opened_.model; }

  OpenedCheckpoint opened_;
  std::vector<std::string> notes_;
};

}  // namespace

bool is_whole_checkpoint(const fs::path& folder) {
  if (is_there(folder / "config.json")) return names_known_model(folder / "config.json");
  return find_megatron_checkpoint(folder) || !find_checkpoints(folder).checkpoints.empty();
}

std::unique_ptr<StoredTensors> open_whole_checkpoint(const fs::path& folder, Verify verify) {
  return std::make_unique<WholeCheckpoint>(folder, verify);
}

}  // namespace nadi::inline files
