#include "nadi/pytorch/json_texts.h"

#include <charconv>
#include <span>

#include "nadi/input/json_text.h"

namespace nadi::inline traces {

namespace {

constexpr std::uint32_t kReplacement = 0xFFFD;  // for halves of characters that stand alone

// Four hexadecimal digits; nothing where they are not there.
std::optional<std::uint32_t> hex4(std::string_view text) {
  std::uint32_t value = 0;
  if (text.size() < 4) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + 4, value, 16);
  if (error != std::errc{} || end != text.data() + 4) return std::nullopt;
  return value;
}

char* put_utf8(std::uint32_t code, char* to) {
  const auto put = [&](std::uint32_t byte) { *to++ = static_cast<char>(byte); };
  const auto tail = [&](int shift) { put(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    put(0xF0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
  return to;
}

// The whole numbers of "[1, 2, 3]", as int64; false for any other JSON.
bool read_whole_numbers(std::string_view text, std::vector<std::uint64_t>& numbers) {
  numbers.clear();
  text = text.substr(1, text.size() - 2);
  while (true) {
    while (!text.empty() && is_json_space(text.front())) text.remove_prefix(1);
    if (text.empty()) return numbers.empty();
    const std::size_t end = text.find(',');
    const JsonNumber number = read_json_number(text.substr(0, end));
    if (number.kind != JsonNumber::kInt64) return false;
    numbers.push_back(number.bits);
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

// No escape is shorter than what it stands for.
std::string_view JsonTexts::unescaped(std::string_view raw) {
  constexpr std::string_view kShort = "\"\\/bfnrt";
  constexpr std::string_view kMeaning = "\"\\/\b\f\n\r\t";
  const std::span<char> room = arena_.array<char>(raw.size());
  char* to = room.data();
  for (std::size_t at = 0; at < raw.size(); ++at) {
    if (raw[at] != '\\') {
      *to++ = raw[at];
      continue;
    }
    const char escape = at + 1 < raw.size() ? raw[++at] : '\0';
    if (const std::size_t known = kShort.find(escape); known != std::string_view::npos) {
      *to++ = kMeaning[known];
      continue;
    }
    std::optional<std::uint32_t> code = escape == 'u' ? hex4(raw.substr(at + 1)) : std::nullopt;
    if (!code) place_->fail(raw.data(), "a text has an escape that JSON does not have");
    at += 4;
    if (*code >= 0xD800 && *code < 0xE000) {
      const bool pair = *code < 0xDC00 && raw.substr(at + 1, 2) == "\\u";
      const std::optional<std::uint32_t> low = pair ? hex4(raw.substr(at + 3)) : std::nullopt;
      if (low && *low >= 0xDC00 && *low < 0xE000) {
        code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
        at += 6;
      } else {
        code = kReplacement;
      }
    }
    to = put_utf8(*code, to);
  }
  return {room.data(), static_cast<std::size_t>(to - room.data())};
}

void JsonTexts::look_into(std::uint32_t text, std::string_view json) {
  // Whoever cut the text out of the file has found bad characters before.
  if (!is_json(json, {.final = true, .any_characters = true})) place_->fail(json.data(), "this is not JSON");
  if (text >= known_.size()) known_.resize(trace_->text_count());
  known_[text] = kJson;
}

JsonTexts::Text JsonTexts::take_text(JsonTokens& tokens) {
  const char first = tokens.front();
  if (first == '"') return {.text = take_content(tokens), .is_json = false};
  if (first == '[' || first == '{') return {.text = tokens.take_container(), .is_json = true};
  const std::string_view text = without_space(tokens.take_scalar());
  if (text == "null") return {};
  return {.text = text, .is_json = true};
}

JsonTexts::Array JsonTexts::take_array(JsonTokens& tokens) {
  const std::string_view text = tokens.take_container();
  const std::uint32_t number = trace_->intern(text);
  std::uint64_t& list = known(number, text);
  if (list == kJson)
    list = read_whole_numbers(text, numbers_)
               ? kFirstList + static_cast<std::uint64_t>(trace_->add_list(numbers_))
               : kNoNumbers;
  if (list == kNoNumbers) return {.text = number};
  return {.text = number, .numbers = TraceList{list - kFirstList}};
}

}  // namespace nadi::inline traces
