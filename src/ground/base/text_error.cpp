#include "nadi/base/text_error.h"

#include <algorithm>
#include <utility>

#include "nadi/base/ascii.h"
#include "nadi/base/format.h"

namespace nadi::inline ground {
namespace {

constexpr std::size_t kLongLine = 160;    // bytes; longer lines are cut
constexpr std::size_t kShownBefore = 50;  // of a cut line, before the mistake
constexpr std::size_t kShownInAll = 120;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Bytes of the UTF-8 character at `at`, 0 when there is none that could be shown.
std::size_t printable_length(std::string_view line, std::size_t at) {
  const auto lead = static_cast<unsigned char>(line[at]);
  if (lead == '\t') return 1;
  if (lead < 0x20 || lead == 0x7F) return 0;
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF5 ? 0 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || length > line.size() - at) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(line[at + i])) return 0;
  }
  // U+0080 to U+009F are control characters as well.
  if (lead == 0xC2 && static_cast<unsigned char>(line[at + 1]) < 0xA0) return 0;
  return length;
}

// The part [from, to) of a line that is shown.
struct Window {
  std::size_t from;
  std::size_t to;
};

Window window_of(std::string_view line, std::size_t begin) {
  if (line.size() <= kLongLine) return {0, line.size()};
  Window window{begin > kShownBefore ? begin - kShownBefore : 0, 0};
  window.to = std::min(line.size(), window.from + kShownInAll);
  while (window.from < begin && is_continuation(line[window.from])) ++window.from;
  while (window.to < line.size() && window.to > begin && is_continuation(line[window.to])) --window.to;
  return window;
}

// `begin` and `end` are offsets in `line`.
std::string excerpt_of(std::string_view line, std::int64_t line_number, std::size_t begin, std::size_t end) {
  const Window window = window_of(line, begin);
  const std::string_view cut_before = window.from > 0 ? "..." : "";
  const std::string_view cut_after = window.to < line.size() ? "..." : "";
  std::string shown(cut_before);
  std::string carets(cut_before.size(), ' ');
  for (std::size_t at = window.from; at < window.to;) {
    const std::size_t length = printable_length(line, at);
    shown += length == 0 ? kReplacement : line.substr(at, length);
    // A tab below a tab keeps the carets in their column.
    carets += at >= begin && at < end ? '^' : line[at] == '\t' ? '\t' : ' ';
    at += std::max<std::size_t>(length, 1);
  }
  if (begin >= window.to) carets += '^';  // at the end of the line
  carets.erase(carets.find_last_of('^') + 1);
  return format("{:5} | {}{}\n      | {}", line_number, shown, cut_after, carets);
}

}  // namespace

Error error_in_text(const TextRange& range, std::string message, std::string hint) {
  const std::string_view text = range.text;
  const std::size_t begin = std::min(range.begin, text.size());
  const std::string_view before = text.substr(0, begin);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0: the first line
  std::size_t line_end = std::min(text.find('\n', begin), text.size());
  if (line_end > begin && text[line_end - 1] == '\r') --line_end;
  const std::string_view line = text.substr(line_start, line_end - line_start);
  const std::string_view line_before = before.substr(line_start);
  const std::int64_t line_number = 1 + std::count(before.begin(), before.end(), '\n');
  const auto characters =
      std::count_if(line_before.begin(), line_before.end(), [](char byte) { return !is_continuation(byte); });
  Error error{ErrorKind::kInput,
              {.file = range.file, .line = line_number, .column = characters + 1},
              std::move(message),
              std::move(hint)};
  const std::size_t end = std::max(range.end, begin + 1);
  error.with_excerpt(excerpt_of(line, line_number, begin - line_start, end - line_start));
  return error;
}

}  // namespace nadi::inline ground
