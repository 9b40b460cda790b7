#include "nadi/tune/preset.h"

#include <algorithm>
#include <span>

#include "nadi/base/embedded_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"

namespace nadi::inline tuning {

std::span<const EmbeddedFile> tune_preset_files();
std::span<const EmbeddedFile> tune_share_files();

std::vector<std::string_view> preset_names() {
  std::vector<std::string_view> names;
  for (const EmbeddedFile& file : tune_preset_files()) names.push_back(file.name);
  return names;
}

std::vector<PresetEntry> tune_presets() {
  std::vector<PresetEntry> entries;
  for (const std::string_view name : preset_names())
    entries.push_back({.name = name, .about = preset_space(name).about});
  return entries;
}

TuneSpace preset_space(std::string_view name) {
  const auto files = tune_preset_files();
  const auto found = std::ranges::find(files, name, &EmbeddedFile::name);
  if (found == files.end())
    throw usage_error(format("no preset '{}'", name), did_you_mean(name, preset_names()));
  return parse_tune_space(std::string(found->text), format("preset {}", name));
}

std::string_view tune_space_schema() {
  return embedded_text(tune_share_files(), "space.schema");
}

}  // namespace nadi::inline tuning
