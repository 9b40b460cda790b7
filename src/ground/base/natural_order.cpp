#include "nadi/base/natural_order.h"
#include "nadi/base/ascii.h"

#include <cstddef>
#include <utility>

namespace nadi::inline ground {
namespace {

// The number that starts at `at`, without leading zeros: a longer one is the larger one. Moves `at` behind
// it.
std::pair<std::size_t, std::string_view> take_number(std::string_view text, std::size_t& at) {
  while (at < text.size() && text[at] == '0') ++at;
  const std::size_t begin = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  return {at - begin, text.substr(begin, at - begin)};
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const auto here = take_number(a, i), there = take_number(b, j);
      if (here != there) return here < there;
      continue;
    }
    if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
    ++i, ++j;
  }
  const std::size_t rest_a = a.size() - i, rest_b = b.size() - j;
  return rest_a != rest_b ? rest_a < rest_b : a < b;
}

}  // namespace nadi::inline ground
