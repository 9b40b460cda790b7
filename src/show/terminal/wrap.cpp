#include "nadi/terminal/wrap.h"

#include <algorithm>
#include <array>

namespace nadi::inline show {
namespace {

constexpr char kEscape = '\033';

// How many bytes the character at `at` has: an escape code, or the bytes of one code point.
std::size_t bytes_of_character(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  if (text[at] == kEscape) {
    if (end < text.size() && text[end] == '[') ++end;
    while (end < text.size() && !(text[end] >= '@' && text[end] <= '~')) ++end;
    return std::min(end + 1, text.size()) - at;
  }
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return end - at;
}

// The bytes of the longest beginning of a word that fits into `room` columns: behind one of the letters where
// words may be broken, else anywhere.
std::size_t breaking_point(std::string_view word, std::size_t room) {
  std::size_t at = 0, columns = 0, good = 0;
  while (at < word.size() && columns < room) {
    const std::size_t bytes = bytes_of_character(word, at);
    if (word[at] != kEscape) ++columns;
    at += bytes;
    if (columns > room / 2 && std::string_view("/-_,|").find(word[at - 1]) != std::string_view::npos)
      good = at;
  }
  return good > 0 ? good : at;
}

// Puts words one after the other, on lines that start at `column`. `text` comes before them.
class LineFiller {
 public:
  LineFiller(std::string text, std::size_t column, std::size_t width)
      : text_(std::move(text)),
        at_(columns_of(std::string_view(text_).substr(text_.rfind('\n') + 1))),
        column_(column),
        width_(width) {}

  void go_to_column() {
    if (at_ >= column_ && !text_.empty()) {
      text_ += '\n';
      at_ = 0;
    }
    text_.append(column_ - at_, ' ');
    at_ = column_;
    first_of_line_ = true;
  }

  void add(std::string_view word) {
    const std::size_t columns = columns_of(word);
    if (!first_of_line_ && at_ + 1 + columns > width_) go_to_column();
    if (!first_of_line_) put(" ");
    first_of_line_ = false;
    while (at_ + columns_of(word) > width_ && width_ > at_) {
      const std::size_t bytes = breaking_point(word, width_ - at_);
      put(word.substr(0, bytes));
      word.remove_prefix(bytes);
      if (word.empty()) return;
      go_to_column();
      first_of_line_ = false;
    }
    put(word);
  }

  std::string take() { return std::move(text_); }

 private:
  void put(std::string_view text) {
    text_ += text;
    at_ += columns_of(text);
  }

  std::string text_;
  std::size_t at_;
  std::size_t column_;
  std::size_t width_;
  bool first_of_line_ = true;
};

std::string without_colours(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = bytes_of_character(text, at);
    if (text[at] != kEscape) plain += text.substr(at, bytes);
    at += bytes;
  }
  return plain;
}

// How a line is continued, in columns.
struct Hanging {
  std::size_t start;   // what comes before it stays as it is, with its spaces
  std::size_t column;  // where the lines below begin
};

Hanging hanging_of(std::string_view line, std::size_t width) {
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const std::string_view text = line.substr(indent);
  constexpr std::array<std::string_view, 7> kPrefixes{
      "error: ", "warning: ", "note: ", "hint: ", "debug: ", "- ", "* "};
  for (const std::string_view prefix : kPrefixes)
    if (text.starts_with(prefix)) return {indent + prefix.size(), indent + prefix.size()};
  if (const std::size_t gap = text.find("  "); gap != std::string_view::npos) {
    const std::size_t words = text.find_first_not_of(' ', gap);
    const std::size_t column = indent + columns_of(text.substr(0, words));
    if (words != std::string_view::npos && column <= width / 2) return {column, column};
  }
  return {indent, std::min(indent + 2, width / 2)};
}

// The bytes that the first columns take.
std::size_t bytes_of_columns(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  for (std::size_t taken = 0; at < text.size() && taken < columns; at += bytes_of_character(text, at))
    if (text[at] != kEscape) ++taken;
  return at;
}

// The words of a command line; quotes hold words together.
std::vector<std::string> shell_words(std::string_view command) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  for (const char letter : command) {
    if (quote == 0 && letter == ' ') {
      if (!word.empty()) words.push_back(std::move(word));
      word.clear();
      continue;
    }
    if (quote != 0 && letter == quote)
      quote = 0;
    else if (quote == 0 && (letter == '\'' || letter == '"'))
      quote = letter;
    word += letter;
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size(); at += bytes_of_character(text, at))
    if (text[at] != kEscape) ++columns;
  return columns;
}

std::string labelled(std::string_view label, std::size_t column, const std::vector<std::string>& words,
                     std::size_t width) {
  // A column that leaves too little room moves to the left.
  column = std::min(column, width / 2);
  LineFiller lines(wrapped_line(label, width), column, width);
  lines.go_to_column();
  for (const std::string& word : words) {
    if (column + columns_of(word) <= width) {
      lines.add(word);
    } else {
      for (const std::string& part : words_of(word)) lines.add(part);
    }
  }
  return lines.take() + '\n';
}

std::string wrapped_line(std::string_view line, std::size_t width) {
  if (columns_of(line) <= width) return std::string(line);
  const Hanging hanging = hanging_of(without_colours(line), width);
  const std::size_t start = bytes_of_columns(line, hanging.start);
  LineFiller lines(std::string(line.substr(0, start)), hanging.column, width);
  for (const std::string& word : words_of(line.substr(start))) lines.add(word);
  return lines.take();
}

std::string cut_line(std::string_view line, std::size_t width) {
  if (columns_of(line) <= width) return std::string(line);
  constexpr std::string_view kMore = " ...", kInsideWord = "...";
  const std::size_t end = bytes_of_columns(line, width - kMore.size() + 1);
  // Back to the end of a word; a word that fills the line is cut, and says so.
  const std::size_t space = line.substr(0, end).rfind(' ');
  if (space == std::string_view::npos || space == 0)
    return std::string(line.substr(0, bytes_of_columns(line, width - kInsideWord.size()))) +
           std::string(kInsideWord);
  const std::size_t last = line.substr(0, space).find_last_not_of(" ,;:");
  return std::string(line.substr(0, last == std::string_view::npos ? space : last + 1)) + std::string(kMore);
}

std::string wrapped_command(std::string_view command, std::size_t indent, std::size_t width) {
  const std::string first(indent, ' ');
  if (indent + columns_of(command) <= width) return first + std::string(command) + '\n';
  constexpr std::string_view kContinued = " \\";
  const std::string next(indent + 4, ' ');
  std::string text, line = first;
  bool empty = true;
  const std::vector<std::string> words = shell_words(command);
  for (std::size_t i = 0; i < words.size(); ++i) {
    // A flag takes its value along.
    std::string piece = words[i];
    if (piece.starts_with('-') && i + 1 < words.size() && !words[i + 1].starts_with('-') &&
        next.size() + columns_of(piece) + 1 + columns_of(words[i + 1]) + kContinued.size() <= width)
      piece += " " + words[++i];
    if (!empty && columns_of(line) + 1 + columns_of(piece) + kContinued.size() > width) {
      text += line + std::string(kContinued) + '\n';
      line = next;
      empty = true;
    }
    line += (empty ? "" : " ") + piece;
    empty = false;
  }
  return text + line + '\n';
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

}  // namespace nadi::inline show
