#include "nadi/checkpoint/checkpoint_folder.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <system_error>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"
#include "nadi/checkpoint/training_state.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCheckpointPrefix = "checkpoint-";

// Reads a name that checkpoint_name() makes: 'checkpoint-007' is none.
std::optional<std::int64_t> step_of(const std::string& name) {
  const std::string_view digits = std::string_view(name).substr(kCheckpointPrefix.size());
  std::int64_t step = 0;
  if (!read_number(digits, step)) return std::nullopt;
  return step >= 0 && checkpoint_name(step) == name ? std::optional(step) : std::nullopt;
}

}  // namespace

std::string checkpoint_name(std::int64_t step) {
  return format("{}{}", kCheckpointPrefix, step);
}

CheckpointList find_checkpoints(const fs::path& save_dir) {
  CheckpointList list;
  std::error_code error;
  for (fs::directory_iterator entry(save_dir, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kCheckpointPrefix)) continue;
    std::error_code unreadable;
    const std::optional<std::int64_t> step = step_of(name);
    if (step && fs::is_regular_file(entry->path() / kTrainingStateFile, unreadable)) {
      list.checkpoints.push_back({*step, entry->path()});
    } else {
      ++list.ignored;
    }
  }
  if (error && error != std::errc::no_such_file_or_directory)
    throw Error{ErrorKind::kEnvironment,
                {.file = save_dir.string()},
                format("cannot read the folder: {}", error.message())};
  std::ranges::sort(list.checkpoints, {}, &Checkpoint::step);
  return list;
}

}  // namespace nadi::inline files
