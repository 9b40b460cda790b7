#include "nadi/terminal/wrap.h"

#include <algorithm>

namespace nadi {
namespace {

constexpr std::size_t kLastColumn = 100;

}  // namespace

std::string labelled(std::string_view label, std::size_t column, const std::vector<std::string>& words) {
  std::string text(label);
  std::size_t at = text.size();
  const auto go_to_column = [&] {
    if (at >= column) {
      text += '\n';
      at = 0;
    }
    text.append(column - at, ' ');
    at = column;
  };
  go_to_column();
  bool first_of_line = true;
  for (const std::string& word : words) {
    if (!first_of_line && at + 1 + word.size() > kLastColumn) {
      go_to_column();
    } else if (!first_of_line) {
      text += ' ';
      ++at;
    }
    first_of_line = false;
    text += word;
    at += word.size();
  }
  return text + '\n';
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::string join(const std::vector<std::string_view>& texts, std::string_view separator) {
  std::string joined;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) joined += separator;
    joined += texts[i];
  }
  return joined;
}

}  // namespace nadi
