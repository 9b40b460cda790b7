// Fuzz target of the reader of large JSON files (scripts/fuzz.sh).
//
// The first byte is the size of chunks, the rest the file. Any file must
//   - be read strictly, or refused with a byte of it: the same with small chunks as with one;
//   - be read leniently, and to the same records with nothing counted where strict reading takes it;
//   - be taken or refused as the JSON library does, apart from what is no record or a number too large.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/input/json_collector_for_tests.h"

namespace nadi::inline ground {
namespace {

struct Strict {
  std::optional<JsonCollection> read;
  std::optional<Error> refused;
};

Strict read_strictly(std::string_view text, std::size_t chunk) {
  Strict result;
  try {
    result.read = collect_json(text, JsonDamage::kRefuse, chunk);
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
    check(error.place().byte && *error.place().byte <= static_cast<std::int64_t>(text.size()),
          "an error does not name its byte");
    result.refused = error;
  }
  return result;
}

void compare(const JsonCollection& a, const JsonCollection& b) {
  check(a.taken.members == b.taken.members, "the members differ");
  check(a.taken.records == b.taken.records, "the records differ");
}

void compare_with_library(std::string_view text, const Strict& strict) {
  // The library takes a zero for the end of the text.
  if (text.find('\0') != std::string_view::npos) return;
  // The ']' of an array that is the document may be missing.
  const bool array = text.find_first_not_of("\xEF\xBB\xBF \n\r\t") == text.find('[');
  bool is_json = true;
  try {
    const Json parsed = Json::parse(text);
  } catch (const Json::parse_error&) {
    is_json = false;
  } catch (const Json::out_of_range&) {
    return;
  }
  if (strict.read) {
    check(is_json || array, "what is not JSON was taken");
    return;
  }
  const std::string& reason = strict.refused->message();
  const bool too_large = reason.find("number") != std::string::npos;
  check(!is_json || too_large || reason.starts_with("expected a record") ||
            reason.starts_with("expected an object"),
        "JSON was refused");
}

void read_anything(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::size_t chunk = 1 + static_cast<std::size_t>(static_cast<unsigned char>(bytes.front()));
  const std::string_view text = bytes.substr(1);
  // The collector calls itself for each level. And a compressed file is another target's.
  if (std::count_if(text.begin(), text.end(), [](char c) { return c == '[' || c == '{'; }) > 400) return;
  if (text.starts_with("\x1f\x8b\x08") || text.starts_with("\x28\xb5\x2f\xfd")) return;

  const Strict strict = read_strictly(text, chunk);
  const std::size_t all = text.size() + 1;
  const Strict whole = read_strictly(text, all);
  check(strict.read.has_value() == whole.read.has_value(), "the size of chunks decides");
  const JsonCollection lenient = collect_json(text, JsonDamage::kSkip, chunk);
  const JsonCollection lenient_whole = collect_json(text, JsonDamage::kSkip, all);
  compare(lenient, lenient_whole);
  check(lenient.counts.records == lenient.taken.records.size(), "the count of records is wrong");
  if (strict.read) {
    compare(*strict.read, *whole.read);
    compare(*strict.read, lenient);
    check(!lenient.counts.damaged(), "damage was counted in a file without");
  } else {
    check(strict.refused->place().byte == whole.refused->place().byte, "the size of chunks moves the fault");
    check(lenient.counts.damaged(), "damage was not counted");
  }
  compare_with_library(text, strict);
}

}  // namespace
}  // namespace nadi::inline ground

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_anything({reinterpret_cast<const char*>(data), size});
  return 0;
}
