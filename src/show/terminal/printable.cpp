#include "nadi/terminal/printable.h"

#include <algorithm>

#include "nadi/base/message_text.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kLongestPlainText = 60;

}  // namespace

std::string printable(std::string_view text) {
  const bool plain = text.size() <= kLongestPlainText &&
                     std::ranges::all_of(text, [](char letter) { return letter >= ' ' && letter <= '~'; });
  return plain ? std::string(text) : quote_for_message(text);
}

}  // namespace nadi::inline show
