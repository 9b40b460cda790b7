#include "nadi/train/run_folder.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "nadi/base/atomic_folder.h"
#include "nadi/base/format.h"
#include "nadi/base/retire_folder.h"
#include "nadi/base/writable_folder.h"
#include "nadi/checkpoint/checkpoint_names.h"
#include "nadi/megatron_checkpoint/iteration_folder.h"
#include "nadi/model/config_writer.h"
#include "nadi/train/trainer.h"

namespace nadi::inline runs {
namespace {

const std::filesystem::path& writable(const std::filesystem::path& folder) {
  require_writable_folder(folder);
  return folder;
}

// Checkpoints in either form, newest last.
std::vector<Checkpoint> all_checkpoints(const std::filesystem::path& folder) {
  std::vector<Checkpoint> found = find_checkpoints(folder).checkpoints;
  for (const std::int64_t iteration : megatron_iterations(folder))
    found.push_back({iteration, folder / iteration_folder_name(iteration)});
  std::ranges::stable_sort(found, {}, &Checkpoint::step);
  return found;
}

}  // namespace

RunFolder::RunFolder(const TrainOptions& options, TrainListener& listener)
    : options_(options), listener_(listener), lock_(writable(options.save_dir)) {
  if (!lock_.held())
    listener_.note(format("the file system of {} has no locks: see to it that no other run saves there",
                          options.save_dir.string()));
  config_json(options.config);
  if (options.replace_checkpoints) replaced_ = all_checkpoints(options.save_dir);
  if (const int removed = remove_leftovers(options.save_dir); removed > 0)
    listener_.note(format("removed {} that an earlier run left unfinished in {}",
                          removed == 1 ? "a file or folder" : format("{} files and folders", removed),
                          options.save_dir.string()));
}

void RunFolder::remove_old(std::int64_t step, const std::filesystem::path& saved) {
  for (const Checkpoint& old : std::exchange(replaced_, {}))
    if (old.path != saved) remove(old.path);
  remove_beyond_limit(step);
}

void RunFolder::remove_beyond_limit(std::int64_t step) {
  if (options_.save_total_limit == 0) return;
  std::vector<Checkpoint> found = all_checkpoints(options_.save_dir);
  const auto keep = static_cast<std::size_t>(options_.save_total_limit);
  // Later checkpoints belong to a run that went on from an earlier one.
  std::erase_if(found, [&](const Checkpoint& checkpoint) { return checkpoint.step > step; });
  for (std::size_t i = 0; i + keep < found.size(); ++i) remove(found[i].path);
}

void RunFolder::remove(const std::filesystem::path& checkpoint) {
  if (stays_.contains(checkpoint)) return;
  const auto stays = [&](const std::string& note) {
    stays_.insert(checkpoint);  // noted once: the next save asks again
    listener_.note(note);
  };
  if (!std::filesystem::is_symlink(checkpoint)) {
    if (const auto stranger = find_stranger(checkpoint))
      return stays(format("{} stays: it holds '{}', which is not of a checkpoint", checkpoint.string(),
                          stranger->string()));
  }
  if (const std::error_code error = retire_folder(checkpoint))
    stays(format("cannot remove {}: {}", checkpoint.string(), error.message()));
}

}  // namespace nadi::inline runs
