#include "nadi/shell/variable_name.h"

#include <algorithm>

namespace nadi::inline jobs {

bool is_variable_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto follows = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && letter(text[0]) && std::ranges::all_of(text, follows);
}

}  // namespace nadi::inline jobs
