// For maps whose keys are strings and that are asked with string_views, without making a string:
//
//   std::unordered_map<std::string, TokenId, StringHash, std::equal_to<>> map;
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace nadi::inline files {

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

}  // namespace nadi::inline files
