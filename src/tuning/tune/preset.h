// Spaces that come with the program: share/tune/presets/*.json, which are built into it.
//
//   const TuneSpace space = preset_space("megatron");
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nadi/tune/tune_space.h"

namespace nadi::inline tuning {

struct PresetEntry {
  std::string_view name;
  std::string about;
};
std::vector<PresetEntry> tune_presets();
std::vector<std::string_view> preset_names();

// Error (usage) with the names that there are.
TuneSpace preset_space(std::string_view name);

// The JSON schema of files with spaces, as a text.
std::string_view tune_space_schema();

}  // namespace nadi::inline tuning
