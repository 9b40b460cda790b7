// Megatron-LM's list of the arguments in effect, which it prints before it trains: a line for each argument,
// between two rules.
//
//   lines << to_text(ArgumentList{{{"micro_batch_size", "4"}, ...}}) << "\n";
#pragma once

#include <string>
#include <vector>

namespace nadi::inline files {

struct ArgumentList {
  struct Argument {
    std::string name;  // "micro_batch_size"
    std::string value;
  };
  std::vector<Argument> arguments = {};
};
// Sorted by name. Ends without a newline.
std::string to_text(ArgumentList list);

}  // namespace nadi::inline files
