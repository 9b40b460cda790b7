// Fuzz target of the unpacking of compressed files (scripts/fuzz.sh).
//
// Any bytes must give either their unpacked text or an Error (input) that names a byte, and the same through
// the window as through read(), whatever the sizes asked for.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/input/chunked_input.h"

namespace nadi::inline ground {
namespace {

// The beginning of what a bomb unpacks to will do.
constexpr std::size_t kEnough = std::size_t{4} << 20;

struct Unpacked {
  std::string text;
  bool failed = false;
};

template <typename Step>
Unpacked unpack(std::string_view bytes, Step step) {
  Unpacked result;
  try {
    ChunkedInput input(bytes, "fuzz");
    while (result.text.size() < kEnough && step(input, result.text)) {
      check(input.position() == result.text.size(), "the position is not what was read");
    }
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
    check(error.place().byte && *error.place().byte <= static_cast<std::int64_t>(bytes.size()),
          "an error does not name its byte");
    result.failed = true;
  }
  return result;
}

void read_anything(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::size_t size = 1 + static_cast<std::size_t>(static_cast<unsigned char>(bytes.front())) * 37;
  bytes.remove_prefix(1);
  const Unpacked through_window = unpack(bytes, [&](ChunkedInput& input, std::string& text) {
    const std::string_view ahead = input.ahead(1).substr(0, size);
    text += ahead;
    input.consume(ahead.size());
    return !ahead.empty();
  });
  const Unpacked directly = unpack(bytes, [&](ChunkedInput& input, std::string& text) {
    const std::size_t held = text.size();
    text.resize(held + size);
    std::size_t got = 0;
    try {
      got = input.read(text.data() + held, size);
    } catch (...) {
      text.resize(held);
      throw;
    }
    text.resize(held + got);
    return got > 0;
  });
  if (through_window.text.size() >= kEnough || directly.text.size() >= kEnough) return;
  check(through_window.failed == directly.failed, "the window refuses something else than read()");
  const std::size_t common = std::min(through_window.text.size(), directly.text.size());
  check(through_window.text.compare(0, common, directly.text, 0, common) == 0,
        "the window shows something else");
  check(through_window.failed || through_window.text.size() == directly.text.size(),
        "the window shows less or more");
}

}  // namespace
}  // namespace nadi::inline ground

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_anything({reinterpret_cast<const char*>(data), size});
  return 0;
}
