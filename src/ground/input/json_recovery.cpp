#include "nadi/input/json_recovery.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "nadi/input/json_text.h"
#include "nadi/input/json_window.h"

namespace nadi::inline ground {

namespace {

// How far a proof may look ahead: records are hundreds of bytes, and lists within one have a few dozen
// elements.
constexpr std::size_t kLookahead = std::size_t{1} << 20;
constexpr int kSiblings = 64;

// Looks ahead in a window without moving it. Offsets count from the start of its text.
class Lookahead {
 public:
  explicit Lookahead(JsonWindow& window) : window_(window) {}

  // The first byte from `at` on that is not white space; '\0' at the end of the input, or too far ahead.
  char next(std::size_t& at) {
    while (true) {
      at = skip_json_space(window_.text(), at);
      if (at < window_.text().size()) return window_.text()[at];
      if (!more()) return '\0';
    }
  }

  // Scans the value at `at` and moves behind it where it is whole.
  JsonScan::State value(std::size_t& at) {
    while (true) {
      const JsonScan scan = scan_json_value(window_.text().substr(at), {.let_control_characters_pass = true});
      if (scan.state == JsonScan::kWhole) at += scan.at;
      if (scan.state != JsonScan::kOpen || !more()) return scan.state;
    }
  }

 private:
  bool more() { return window_.text().size() < kLookahead && window_.more(); }

  JsonWindow& window_;
};

// Whether '}' at `at` may end the document.
bool ends_document(Lookahead ahead, std::size_t at) {
  const char c = ahead.next(++at);
  return c == '\0' || c == '{';
}

// Whether the array of records may end with the ']' at `at`.
bool ends_array(Lookahead ahead, std::size_t at, JsonSurroundings surroundings) {
  char c = ahead.next(++at);
  if (surroundings == JsonSurroundings::kTopLevelArray) return c == '\0' || c == '{' || c == '[';
  for (int member = 0; member < kSiblings; ++member) {
    if (c == '\0') return true;
    if (c == '}') return ends_document(ahead, at);
    if (c != ',' || ahead.next(++at) != '"' || ahead.value(at) != JsonScan::kWhole) return false;
    if (ahead.next(at) != ':') return false;
    // Another array of records may be long, or be damaged itself.
    if (ahead.next(++at) == '[' || ahead.value(at) != JsonScan::kWhole) return true;
    c = ahead.next(at);
  }
  return true;
}

// Whether a record begins with the '{' at `at`.
bool begins_record(Lookahead ahead, std::size_t at, JsonSurroundings surroundings) {
  for (int sibling = 0; sibling < kSiblings; ++sibling) {
    if (ahead.value(at) != JsonScan::kWhole) return sibling > 0;
    if (surroundings == JsonSurroundings::kDocuments) return true;
    const char c = ahead.next(at);
    if (c == '\0') return true;
    if (c == ']') return ends_array(ahead, at, surroundings);
    if (c != ',' || ahead.next(++at) != '{') return sibling > 0;
  }
  return true;
}

// A key follows the '{' at `at`, or the object is empty.
bool begins_object(Lookahead ahead, std::size_t at) {
  const char c = ahead.next(++at);
  return c == '"' || c == '}';
}

}  // namespace

JsonRecovery recover_record(JsonWindow& window, JsonSurroundings surroundings) {
  Lookahead ahead(window);
  const bool separated = surroundings != JsonSurroundings::kDocuments;
  std::size_t from = 0;
  while (true) {
    const std::size_t brace = window.text().find('}', from);
    window.consume(std::min(brace, window.text().size()));
    if (brace == std::string_view::npos) {
      from = 0;
      if (!window.more()) return JsonRecovery::kNothing;
      continue;
    }
    from = 1;
    std::size_t at = 1;
    char c = ahead.next(at);
    if (c == ']' && separated && ends_array(ahead, at, surroundings)) {
      window.consume(at);
      return JsonRecovery::kArrayEnd;
    }
    if (separated && c != ',') continue;
    if (separated) c = ahead.next(++at);
    if (c == '{' && begins_object(ahead, at) && begins_record(ahead, at, surroundings)) {
      window.consume(at);
      return JsonRecovery::kRecord;
    }
  }
}

bool recover_member(JsonWindow& window) {
  Lookahead ahead(window);
  std::size_t from = 1;
  while (true) {
    const std::size_t found = window.text().find_first_of(",}", from);
    window.consume(std::min(found, window.text().size()));
    if (found == std::string_view::npos) {
      from = 0;
      if (!window.more()) return false;
      continue;
    }
    from = 1;
    if (window.text().front() == '}') {
      if (ends_document(ahead, 0)) return true;
      continue;
    }
    std::size_t at = 1;
    if (ahead.next(at) != '"' || ahead.value(at) != JsonScan::kWhole || ahead.next(at) != ':') continue;
    if (ahead.next(++at) == '[') return true;
    if (ahead.value(at) != JsonScan::kWhole) continue;
    const char c = ahead.next(at);
    if (c == ',' || c == '}' || c == '\0') return true;
  }
}

}  // namespace nadi::inline ground
