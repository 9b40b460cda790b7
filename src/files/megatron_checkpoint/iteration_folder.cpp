#include "nadi/megatron_checkpoint/iteration_folder.h"

#include <algorithm>
#include <fstream>
#include <system_error>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIterationPrefix = "iter_";
constexpr std::string_view kRelease = "release";
constexpr std::string_view kRankPrefix = "mp_rank_";

std::optional<std::int64_t> number_in(std::string_view digits) {
  std::int64_t number = 0;
  if (!read_number(digits, number) || number < 0) return std::nullopt;
  return number;
}

// Reads a name that iteration_folder_name() makes.
std::optional<std::int64_t> iteration_of(const std::string& name) {
  if (!name.starts_with(kIterationPrefix)) return std::nullopt;
  const auto number = number_in(std::string_view(name).substr(kIterationPrefix.size()));
  return number && iteration_folder_name(*number) == name ? number : std::nullopt;
}

std::optional<MegatronForm> form_of(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / "metadata.json", error)) return MegatronForm::kTorchDist;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().filename().string().starts_with(kRankPrefix)) return MegatronForm::kTorch;
  return std::nullopt;
}

// The text of the tracker file without blanks around it.
std::string tracked(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  constexpr std::size_t kLongest = 64;
  std::string text(kLongest, '\0');
  in.read(text.data(), kLongest);
  text.resize(static_cast<std::size_t>(in.gcount()));
  const auto blank = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!text.empty() && blank(text.back())) text.pop_back();
  text.erase(text.begin(), std::ranges::find_if_not(text, blank));
  return text;
}

MegatronCheckpoint opened(MegatronCheckpoint checkpoint, const std::string& said_by) {
  if (!fs::is_directory(checkpoint.path))
    throw input_error({.file = said_by}, format("there is no folder {}", checkpoint.path.string()));
  const auto form = form_of(checkpoint.path);
  if (!form)
    throw input_error({.file = checkpoint.path.string()},
                      "the folder has neither metadata.json (torch_dist) nor mp_rank_00 (torch): it is no "
                      "checkpoint of Megatron-LM");
  checkpoint.form = *form;
  return checkpoint;
}

}  // namespace

std::string_view to_string(MegatronForm form) {
  return form == MegatronForm::kTorch ? "torch" : "torch_dist";
}

std::string iteration_folder_name(std::int64_t iteration) {
  return format("{}{:07d}", kIterationPrefix, iteration);
}

std::optional<MegatronCheckpoint> find_megatron_checkpoint(const fs::path& folder,
                                                           std::optional<std::int64_t> iteration) {
  const fs::path tracker = folder / kIterationTracker;
  std::error_code error;
  const bool has_tracker = fs::is_regular_file(tracker, error);
  if (iteration) {
    const fs::path path = folder / iteration_folder_name(*iteration);
    if (!fs::is_directory(path, error)) return std::nullopt;
    return opened({.iteration = *iteration, .path = path}, folder.string());
  }
  if (has_tracker) {
    const std::string text = tracked(tracker);
    if (text == kRelease) return opened({.release = true, .path = folder / kRelease}, tracker.string());
    const auto number = number_in(text);
    if (!number)
      throw input_error({.file = tracker.string()},
                        format("'{}' is neither the number of an iteration nor 'release'", text));
    return opened({.iteration = *number, .path = folder / iteration_folder_name(*number)}, tracker.string());
  }
  const auto form = form_of(folder);
  if (!form) return std::nullopt;
  // The folder of an iteration itself; under another name its files say which one.
  const fs::path named = fs::absolute(folder, error).lexically_normal();
  const std::string name =
      named.has_filename() ? named.filename().string() : named.parent_path().filename().string();
  const auto number = iteration_of(name);
  return MegatronCheckpoint{
      .iteration = number.value_or(0), .release = name == kRelease, .path = folder, .form = *form};
}

std::vector<std::int64_t> megatron_iterations(const fs::path& folder) {
  std::vector<std::int64_t> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (const auto number = iteration_of(entry->path().filename().string()); number && form_of(entry->path()))
      found.push_back(*number);
  std::ranges::sort(found);
  return found;
}

void write_iteration_tracker(const fs::path& folder, std::int64_t iteration) {
  AtomicFile file(folder / kIterationTracker, Overwrite::kAllow);
  file.write(std::to_string(iteration));  // without a newline, as Megatron has it
  file.commit();
}

}  // namespace nadi::inline files
