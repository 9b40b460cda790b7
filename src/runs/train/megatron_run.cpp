#include "nadi/train/megatron_run.h"

#include <algorithm>
#include <thread>

#include "nadi/base/atomic_folder.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/mapped_file.h"
#include "nadi/checkpoint/checkpoint_names.h"
#include "nadi/checkpoint/checksum_manifest.h"
#include "nadi/checkpoint/pretrained_source.h"
#include "nadi/checkpoint/training_state.h"
#include "nadi/checkpoint/weight_file.h"
#include "nadi/checkpoint/whole_model.h"
#include "nadi/checkpoint_conversion/file_filling.h"
#include "nadi/megatron_checkpoint/iteration_folder.h"
#include "nadi/megatron_checkpoint/legacy_source.h"
#include "nadi/megatron_checkpoint/legacy_writer.h"
#include "nadi/megatron_checkpoint/torch_dist_files.h"
#include "nadi/megatron_checkpoint/torch_dist_source.h"
#include "nadi/train/trainer.h"

namespace nadi::inline runs {
namespace {

namespace fs = std::filesystem;

MegatronSplit split_of(const TrainOptions& options) {
  const Plan& plan = options.plan;
  return {.tp = plan.tp,
          .pp = plan.pp,
          .virtual_stages = plan.virtual_stages,
          .partition = plan.partition,
          .naming = options.save_names};
}

// What Megatron has no files for: our training state and the tokenizer.
bool goes_along(const std::string& name) {
  const bool weights =
      std::ranges::any_of(weight_formats(), [&](const auto& entry) { return entry.file == name; });
  return !weights && name != "config.json" && name != kTrainingTensorsFile && name != kChecksumsFile;
}

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

int filling_threads(const TrainOptions& options) {
  if (options.threads > 0) return options.threads;
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace

std::unique_ptr<WholeModel> open_if_megatron(const fs::path& folder, Verify verify) {
  if (folder.empty() || fs::exists(folder / "config.json")) return nullptr;
  const auto found = find_megatron_checkpoint(folder);
  if (!found) return nullptr;
  if (found->form == MegatronForm::kTorchDist) return open_torch_dist_checkpoint(found->path, {}, verify);
  return open_legacy_checkpoint(found->path, {.verify = verify});
}

void save_for_megatron(const fs::path& ours, std::int64_t step, const TrainOptions& options) {
  // Written a moment ago: it is not read back from a disk.
  const std::unique_ptr<WholeModel> model = open_pretrained(ours, "", Verify::kNo);
  const ShardLayout layout(model->config(), split_of(options));
  const bool torch_dist = options.save_form == SaveForm::kTorchDist;
  const MegatronTarget target{.dtype = file_dtype(options.dtype),
                              .iteration = step,
                              .optimizer = options.save_optimizer,
                              .distributed_optimizer = options.plan.zero_stage > 0,
                              .format = torch_dist ? "torch_dist" : "torch"};
  const std::vector<TargetFile> files =
      torch_dist ? torch_dist_files(*model, layout, target) : legacy_files(*model, layout, target);
  AtomicFolder folder(
      options.save_dir / iteration_folder_name(step),
      {.overwrite = Overwrite::kAllow, .removable = is_of_a_checkpoint, .strangers = Strangers::kKeep});
  fill_files(*model, files, folder, {.threads = filling_threads(options)});
  for (const fs::directory_entry& entry : fs::directory_iterator(ours)) {
    const std::string name = entry.path().filename().string();
    if (goes_along(name)) folder.write(name, text_of(MappedFile(entry.path())));
  }
  write_checksums(folder, {});
  folder.commit();
  write_iteration_tracker(options.save_dir, step);
}

void check_savable_for_megatron(const TrainOptions& options) {
  if (options.save_form == SaveForm::kNadi) return;
  const OptimizerKind kind = options.optimizer.kind;
  const bool adam = kind == OptimizerKind::kAdamW || kind == OptimizerKind::kAdam;
  if (!adam && options.save_optimizer)
    throw usage_error(
        format("checkpoints of Megatron-LM are written with the state of adamw, and this run has {}",
               to_string(kind)),
        "save without the optimizer's state, or in Nadi's own form");
  ShardLayout(options.config, split_of(options));
}

}  // namespace nadi::inline runs
