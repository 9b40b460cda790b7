// The document around the records: its members, and what may stand before, between and behind documents.
#include "nadi/input/json_records.h"

#include <algorithm>
#include <optional>
#include <string>

#include "nadi/base/error.h"
#include "nadi/input/json_reading.h"
#include "nadi/input/json_record_array.h"
#include "nadi/input/json_recovery.h"
#include "nadi/input/json_text.h"

namespace nadi::inline ground {

namespace {

// A member at the start of a text.
struct MemberScan {
  JsonScan scan;             // of name, colon, value and the byte behind it
  std::size_t name_end = 0;  // behind its quotes
  std::size_t value = 0;     // its first byte; 0 where the scan did not get that far
};

JsonScan fault(std::size_t at, std::string reason) {
  return {.state = JsonScan::kFault, .at = at, .reason = std::move(reason)};
}

// Name and colon, up to the first byte of the value.
MemberScan scan_name(std::string_view text, const JsonScanOptions& options) {
  if (text.front() != '"') return {.scan = fault(0, "expected the name of a member, in quotes")};
  MemberScan member{.scan = scan_json_value(text, options)};
  if (member.scan.state != JsonScan::kWhole) return member;
  member.name_end = member.scan.at;
  std::size_t at = skip_json_space(text, member.name_end);
  if (at < text.size() && text[at] != ':') {
    member.scan = fault(at, "expected ':' after the name of a member");
    return member;
  }
  at = skip_json_space(text, std::min(at + 1, text.size()));
  if (at == text.size())
    member.scan.state = JsonScan::kOpen;
  else
    member.value = at;
  return member;
}

// The value, and whether something follows it that may.
void scan_value(std::string_view text, const JsonScanOptions& options, MemberScan& member) {
  const std::size_t in_name = member.scan.raw_control_characters;
  member.scan = scan_json_value(text.substr(member.value), options);
  member.scan.at += member.value;
  member.scan.raw_control_characters += in_name;
  if (member.scan.state != JsonScan::kWhole) return;
  const std::size_t next = skip_json_space(text, member.scan.at);
  if (next == text.size()) member.scan.state = JsonScan::kOpen;
  if (next < text.size() && text[next] != ',' && text[next] != '}')
    member.scan = fault(next, "expected ',' or '}' after a member");
}

// The text of a name in quotes; control characters, where they were let pass, are spaces.
std::string unescaped(std::string name) {
  blank_control_characters(name.data(), name.size());
  if (name.find('\\') == std::string::npos) return name.substr(1, name.size() - 2);
  simdjson::ondemand::parser parser;
  const simdjson::padded_string padded(name);
  simdjson::ondemand::document document = parser.iterate(padded);
  return std::string(std::string_view(document.get_string()));
}

class DocumentReader {
 public:
  DocumentReader(ChunkedInput& input, const JsonRecordOptions& options, JsonRecordTaker& taker)
      : reading_(input, options, taker), records_(reading_) {}

  JsonRecordCounts read_records();
  JsonRecordCounts read_documents();

 private:
  JsonWindow& window() { return reading_.window; }
  std::optional<std::size_t> array_number(std::string_view name) const;
  bool begins_document(bool first);
  void pass_over(const std::string& reason);
  void document();
  bool member();
  void give_member(std::string_view name, std::string_view json, std::uint64_t byte);
  JsonRecordCounts finish();

  JsonReading reading_;
  JsonRecordArray records_;
};

JsonRecordCounts DocumentReader::read_records() {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  while (window().text().size() < kByteOrderMark.size() && window().more()) {
  }
  if (window().text().starts_with(kByteOrderMark)) window().consume(kByteOrderMark.size());
  bool seen = false;
  while (window().skip_space()) {
    if (!begins_document(!seen && !reading_.counts.damaged())) {
      pass_over(seen ? "something follows the end of the document" : "expected an object or an array");
      continue;
    }
    if (seen) {
      if (!reading_.lenient()) reading_.damage(window().position(), "another document follows");
      ++reading_.counts.dropped_documents;
      reading_.counts.records = 0;
      reading_.taker.restart();
    }
    seen = true;
    document();
  }
  if (!seen) reading_.cut_short();
  return finish();
}

JsonRecordCounts DocumentReader::read_documents() {
  records_.read(0, JsonSurroundings::kDocuments);
  return finish();
}

JsonRecordCounts DocumentReader::finish() {
  JsonRecordCounts counts = std::move(reading_.counts);
  if (!window().failure().empty()) {
    counts.cut_short = true;
    if (counts.first_dropped_reason.empty()) counts.first_dropped_reason = window().failure();
  }
  counts.bytes = window().position();
  return counts;
}

std::optional<std::size_t> DocumentReader::array_number(std::string_view name) const {
  const auto& arrays = reading_.options.arrays;
  const auto found = std::find(arrays.begin(), arrays.end(), name);
  if (found == arrays.end()) return std::nullopt;
  return static_cast<std::size_t>(found - arrays.begin());
}

// An object, or an array where that is wanted. Behind a document, and behind damage, a bracket alone is not
// enough to make one forget what was read before: it must hold something.
bool DocumentReader::begins_document(bool first) {
  const char bracket = reading_.front();
  if (bracket != '{' && !(bracket == '[' && array_number(""))) return false;
  if (first || !reading_.lenient()) return true;
  std::size_t next = skip_json_space(window().text(), 1);
  while (next == window().text().size() && window().more()) next = skip_json_space(window().text(), 1);
  return next < window().text().size() && window().text()[next] == (bracket == '{' ? '"' : '{');
}

// To the next bracket that may begin a document.
void DocumentReader::pass_over(const std::string& reason) {
  reading_.damage(window().position(), reason);
  std::size_t from = 1;
  do {
    const std::string_view text = window().text();
    const std::size_t bracket = text.find_first_of("{[", from);
    window().consume(std::min(bracket, text.size()));
    from = 1;
    if (window().text().empty())
      from = 0;
    else if (begins_document(false))
      return;
  } while (from == 1 || window().more());
}

// One document, at its bracket.
void DocumentReader::document() {
  const bool object = reading_.front() == '{';
  window().consume(1);
  if (!object) {
    records_.read(*array_number(""), JsonSurroundings::kTopLevelArray);
    return;
  }
  for (bool first = true; window().skip_space(); first = false) {
    if (first && reading_.front() == '}') {
      window().consume(1);
      return;
    }
    if (!member() || !window().skip_space()) break;
    if (reading_.front() != ',' && reading_.front() != '}') {
      reading_.damage(window().position(), "expected ',' or '}' after a member of the document");
      if (!recover_member(window())) break;
    }
    const bool last = reading_.front() == '}';
    window().consume(1);
    if (last) return;
  }
  if (!reading_.counts.left_open) reading_.cut_short();
}

// A name and its value. False where the input ends within it.
bool DocumentReader::member() {
  while (true) {
    const std::string_view text = window().text();
    const JsonScanOptions scanning{.final = window().ended(),
                                   .let_control_characters_pass = reading_.lenient()};
    MemberScan found = scan_name(text, scanning);
    if (found.value > 0) {
      const std::string name = unescaped(std::string(text.substr(0, found.name_end)));
      const std::optional<std::size_t> array = name.empty() ? std::nullopt : array_number(name);
      if (array && text[found.value] == '[') {
        window().consume(found.value + 1);
        records_.read(*array, JsonSurroundings::kMember);
        return true;
      }
      scan_value(text, scanning, found);
      if (found.scan.state == JsonScan::kWhole) {
        reading_.counts.replaced_characters += found.scan.raw_control_characters;
        if (found.scan.raw_control_characters > 0) blank_control_characters(window().data(), found.scan.at);
        give_member(name, text.substr(found.value, found.scan.at - found.value),
                    window().position() + found.value);
        window().consume(found.scan.at);
        return true;
      }
    }
    if (found.scan.state == JsonScan::kFault) {
      reading_.damage(window().position() + found.scan.at, found.scan.reason);
      return recover_member(window());
    }
    if (!window().more()) return false;
  }
}

void DocumentReader::give_member(std::string_view name, std::string_view json, std::uint64_t byte) {
  try {
    reading_.taker.member(name, json, byte);
  } catch (const simdjson::simdjson_error& error) {
    reading_.refused(input_error({}, simdjson::error_message(error.error())), byte);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;
    reading_.refused(error, byte);
  }
}

}  // namespace

JsonRecordCounts read_json_records(ChunkedInput& input, const JsonRecordOptions& options,
                                   JsonRecordTaker& taker) {
  return DocumentReader(input, options, taker).read_records();
}

JsonRecordCounts read_json_documents(ChunkedInput& input, JsonDamage damage, JsonRecordTaker& taker,
                                     std::size_t chunk) {
  return DocumentReader(input, {.arrays = {}, .damage = damage, .chunk = chunk}, taker).read_documents();
}

}  // namespace nadi::inline ground
