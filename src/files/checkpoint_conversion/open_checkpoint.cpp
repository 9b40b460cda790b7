#include "nadi/checkpoint_conversion/open_checkpoint.h"

#include <system_error>

#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/read_error.h"
#include "nadi/checkpoint/checkpoint_folder.h"
#include "nadi/checkpoint/pretrained_source.h"
#include "nadi/checkpoint/training_state.h"
#include "nadi/megatron_checkpoint/iteration_folder.h"
#include "nadi/megatron_checkpoint/legacy_source.h"
#include "nadi/megatron_checkpoint/torch_dist_source.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

struct FoundCheckpoint {
  CheckpointFormat format = CheckpointFormat::kHuggingFace;
  fs::path path;  // that the format's own reader opens
};

bool has(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

FoundCheckpoint found_in(const fs::path& folder, const std::optional<std::int64_t>& iteration) {
  if (!has(folder)) throw no_such_file(folder.string());
  expect_file_kind(folder, "a checkpoint", {FileKind::kFolder});
  if (has(folder / kTrainingStateFile) && has(folder / "config.json"))
    return {CheckpointFormat::kNadi, folder};
  if (const auto megatron = find_megatron_checkpoint(folder, iteration))
    return {
        megatron->form == MegatronForm::kTorch ? CheckpointFormat::kMegatron : CheckpointFormat::kTorchDist,
        megatron->path};
  if (has(folder / "config.json")) return {CheckpointFormat::kHuggingFace, folder};
  if (const CheckpointList runs = find_checkpoints(folder); !runs.checkpoints.empty())
    return {CheckpointFormat::kNadi, runs.checkpoints.back().path};
  throw input_error(
      {.file = folder.string()},
      format("the folder is no checkpoint: it has neither config.json nor {}", kIterationTracker),
      "give a Hugging Face folder, a checkpoint of nadi train, or a folder of Megatron-LM");
}

OpenedCheckpoint opened_megatron(std::unique_ptr<BlockSource> source, CheckpointFormat format) {
  OpenedCheckpoint opened{
      .format = format, .split = source->split(), .distributed_optimizer = source->distributed_optimizer()};
  opened.model = std::move(source);
  return opened;
}

}  // namespace

CheckpointFormat checkpoint_format(const fs::path& folder) {
  return found_in(folder, std::nullopt).format;
}

OpenedCheckpoint open_checkpoint(const fs::path& folder, const OpenOptions& options) {
  const FoundCheckpoint found = found_in(folder, options.iteration);
  switch (found.format) {
    case CheckpointFormat::kHuggingFace:
    case CheckpointFormat::kNadi:
      return {.model = open_pretrained(found.path, "", options.verify), .format = found.format};
    case CheckpointFormat::kMegatron:
      return opened_megatron(open_legacy_checkpoint(found.path, {.config = options.config,
                                                                 .optimizer = options.optimizer,
                                                                 .verify = options.verify}),
                             found.format);
    case CheckpointFormat::kTorchDist:
      return opened_megatron(open_torch_dist_checkpoint(found.path, options.config, options.verify),
                             found.format);
  }
  unreachable();
}

}  // namespace nadi::inline files
