// How the settings of the modified Megatron-LM call models: 'small' and 'xl' are sizes of GPT-2.
#pragma once

#include <array>
#include <string_view>

namespace nadi::inline jobs {

struct OldModelName {
  std::string_view old, name;
};
inline constexpr std::array kOldModelNames{OldModelName{"small", "gpt2"}, OldModelName{"xl", "gpt2-xl"}};

// "gpt2-xl" for "xl"; any other text as it is.
constexpr std::string_view model_of_old_name(std::string_view text) {
  for (const OldModelName& entry : kOldModelNames)
    if (entry.old == text) return entry.name;
  return text;
}

}  // namespace nadi::inline jobs
