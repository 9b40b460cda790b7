#include "nadi/generate/text_stream.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "nadi/base/format.h"

namespace nadi::inline runs {
namespace {

// Bytes at the end of the text with which `stop` begins, all of it left out.
std::size_t beginning_of(std::string_view stop, std::string_view text) {
  if (stop.empty()) return 0;
  for (std::size_t length = std::min(stop.size() - 1, text.size()); length > 0; --length)
    if (text.ends_with(stop.substr(0, length))) return length;
  return 0;
}

}  // namespace

TextStream::TextStream(const Tokenizer& tokenizer, TextStreamOptions options)
    : tokenizer_(tokenizer), stop_(std::move(options.stop)), before_(options.before) {}

std::string TextStream::add(TokenId token) {
  if (stopped_) return {};
  return take(characters_.add(text_of(token)), false);
}

std::string TextStream::finish() {
  if (stopped_) return {};
  return take(characters_.finish(), true);
}

// What a token adds to the one before: WordPiece has spaces between words, which belong to neither.
std::string TextStream::text_of(TokenId token) {
  const std::optional<TokenId> before = std::exchange(before_, token);
  if (token < 0 || token >= tokenizer_.vocabulary_size()) {
    before_.reset();
    return format("<{}>", token);
  }
  if (!before) return tokenizer_.decode(std::array{token});
  const std::array both{*before, token};
  const std::size_t shown = tokenizer_.decode(std::span(both).first(1)).size();
  return tokenizer_.decode(both).substr(shown);
}

std::string TextStream::take(std::string text, bool at_end) {
  held_ += text;
  std::size_t certain = held_.size();
  if (!stop_.empty()) {
    const std::size_t found = held_.find(stop_);
    stopped_ = found != std::string::npos;
    if (stopped_)
      certain = found;
    else if (!at_end)
      certain -= beginning_of(stop_, held_);
  }
  std::string shown = held_.substr(0, certain);
  held_.erase(0, certain);
  return shown;
}

}  // namespace nadi::inline runs
