// Fuzz target of the readers of tokenizer.json and of SentencePiece's models (scripts/fuzz.sh).
//
// Any bytes must give either a tokenizer, whose tokens of a text it decodes again, or an Error (input).
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "nadi/base/error.h"
#include "nadi/base/json.h"
#include "nadi/text/byte_level_files.h"
#include "nadi/text/sentencepiece_model.h"
#include "nadi/text/tokenizer.h"
#include "nadi/text/wordpiece_files.h"

namespace nadi::inline files {
namespace {

void read_any(std::string bytes) {
  try {
    if (!bytes.empty() && bytes[0] != '{') {
      check_sentencepiece_model(bytes, "fuzz.model");
      return;
    }
    const JsonDocument document = parse_json(std::move(bytes), "fuzz.json");
    const bool words = document.root().at("model").at("type").as_string() == "WordPiece";
    const std::unique_ptr<Tokenizer> tokenizer =
        words ? read_wordpiece_json(document.root()) : read_byte_level_json(document.root());
    tokenizer->decode(tokenizer->encode("Hello, world: 12 naïve cafés  [MASK]\n"));
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
  }
}

}  // namespace
}  // namespace nadi::inline files

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_any({reinterpret_cast<const char*>(data), size});
  return 0;
}
