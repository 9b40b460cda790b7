#include "nadi/base/shorten.h"
#include "nadi/base/ascii.h"

namespace nadi::inline ground {

namespace {

constexpr std::size_t kMostContinuations = 3;

// Bytes of the character that begins at `at`.
std::size_t length_at(std::string_view text, std::size_t at) {
  std::size_t length = 1;
  const bool leads = static_cast<unsigned char>(text[at]) >= 0xc2;
  while (leads && length <= kMostContinuations && at + length < text.size() &&
         is_continuation(text[at + length]))
    ++length;
  return length;
}

}  // namespace

std::string shorten_middle(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::size_t characters = 0;
  for (std::size_t at = 0; at < text.size(); at += length_at(text, at)) ++characters;
  if (characters <= most) return std::string(text);
  if (most == 0) return "";
  // The first half is the longer one.
  const std::size_t kept = most - 1;
  const std::size_t of_end = kept / 2;
  const std::size_t of_start = kept - of_end;
  std::size_t start_end = 0;
  std::size_t end_begin = 0;
  std::size_t character = 0;
  for (std::size_t at = 0; at < text.size(); at += length_at(text, at), ++character) {
    if (character == of_start) start_end = at;
    if (character == characters - of_end) end_begin = at;
  }
  if (of_end == 0) end_begin = text.size();
  return std::string(text.substr(0, start_end)) + "…" + std::string(text.substr(end_begin));
}

}  // namespace nadi::inline ground
