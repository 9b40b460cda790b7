#include "nadi/chakra/json_output.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "nadi/base/base64.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"

namespace nadi::inline traces {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

void append_real(std::string& out, double value, bool single) {
  if (!std::isfinite(value)) {
    out += "null";
  } else if (single) {
    fmt::format_to(std::back_inserter(out), "{}", static_cast<float>(value));
  } else {
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
}

void append_number(std::string& out, TraceAttributeKind kind, std::uint64_t bits) {
  using Kind = TraceAttributeKind;
  if (kind == Kind::kDouble) {
    append_real(out, std::bit_cast<double>(bits), false);
  } else if (kind == Kind::kFloat) {
    append_real(out, std::bit_cast<float>(static_cast<std::uint32_t>(bits)), true);
  } else if (kind == Kind::kBool) {
    out += bits != 0 ? "true" : "false";
  } else if (kind == Kind::kUint64 || kind == Kind::kFixed64) {
    fmt::format_to(std::back_inserter(out), "{}", bits);
  } else {
    fmt::format_to(std::back_inserter(out), "{}", static_cast<std::int64_t>(bits));
  }
}

}  // namespace

void append_json_text(std::string& out, std::string_view text) {
  const auto plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  out += '"';
  while (!text.empty()) {
    const auto end = std::ranges::find_if_not(text, plain);
    const auto run = static_cast<std::size_t>(end - text.begin());
    out.append(text.substr(0, run));
    text.remove_prefix(run);
    if (text.empty()) break;
    const char c = text.front();
    std::size_t length = 1;
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x80) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
    } else if ((length = utf8_character(text)) != 0) {
      out.append(text.substr(0, length));
    } else {
      out += kReplacement;
      length = 1;
    }
    text.remove_prefix(length);
  }
  out += '"';
}

void append_json_bytes(std::string& out, std::string_view bytes) {
  out += '"';
  append_base64(out, bytes);
  out += '"';
}

void append_json_value(std::string& out, const TraceAttribute& attribute) {
  using Kind = TraceAttributeKind;
  const auto append_one = [&](Kind kind, std::uint64_t bits, std::string_view text) {
    if (kind == Kind::kString) {
      append_json_text(out, text);
    } else if (kind == Kind::kBytes) {
      append_json_bytes(out, text);
    } else {
      append_number(out, kind, bits);
    }
  };
  if (attribute.kind == Kind::kNone) {
    out += "null";
  } else if (is_list(attribute.kind)) {
    const Kind element = element_kind(attribute.kind);
    const char* comma = "";
    out += '[';
    for (const std::uint64_t bits : attribute.numbers) {
      out += std::exchange(comma, ", ");
      append_one(element, bits, {});
    }
    for (const std::string_view text : attribute.texts) {
      out += std::exchange(comma, ", ");
      append_one(element, 0, text);
    }
    out += ']';
  } else {
    append_one(attribute.kind, attribute.bits, attribute.text);
  }
}

}  // namespace nadi::inline traces
