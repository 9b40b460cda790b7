#include "nadi/base/cycle_text.h"

#include "nadi/base/format.h"

namespace nadi::inline ground {
namespace {

constexpr std::size_t kShownAtStart = 5;
constexpr std::size_t kShownAtEnd = 3;

}  // namespace

std::string cycle_text(std::size_t length, const std::function<std::string(std::size_t)>& member,
                       std::string_view first_again) {
  std::string text;
  for (std::size_t i = 0; i < length; ++i) {
    if (length > kShownAtStart + kShownAtEnd + 1 && i == kShownAtStart) {
      i = length - kShownAtEnd;
      text += format("({} more) -> ", i - kShownAtStart);
    }
    text += member(i) + " -> ";
  }
  return text.append(first_again);
}

}  // namespace nadi::inline ground
