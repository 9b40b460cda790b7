#include "nadi/command_line/flag_aliases.h"

#include <algorithm>

namespace nadi::inline show {

std::span<const std::vector<std::string_view>> flag_aliases() {
  static const std::vector<std::vector<std::string_view>> kGroups{
      {"--tp", "--tensor-model-parallel-size"},
      {"--cp", "--context-parallel-size"},
      {"--pp", "--pipeline-model-parallel-size"},
      {"--seq-length", "--max-seq-length", "--encoder-seq-length"},
      {"--partition", "--balance"},
      {"--recompute", "--recompute-granularity"},
      {"--output", "-o"},
      {"--num-samples", "--max-num-samples"},
      {"--num-ranks", "--num-gpus"},
  };
  return kGroups;
}

std::vector<std::string_view> with_aliases(std::vector<std::string_view> names) {
  for (const std::vector<std::string_view>& group : flag_aliases()) {
    if (std::ranges::find(group, names[0]) == group.end()) continue;
    for (const std::string_view name : group)
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace nadi::inline show
