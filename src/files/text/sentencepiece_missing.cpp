// sentencepiece_files.h in a build without the library.
#include "nadi/base/error.h"
#include "nadi/text/sentencepiece_files.h"

namespace nadi::inline files {

std::unique_ptr<Tokenizer> read_sentencepiece(const SentencePieceFiles& files) {
  throw environment_error(
      files.model.string() + ": this build has no SentencePiece, which this tokenizer needs",
      "install libsentencepiece-dev (Debian, Ubuntu) or sentencepiece (others), run cmake again and rebuild");
}

std::unique_ptr<Tokenizer> read_sentencepiece_folder(const std::filesystem::path& folder) {
  return read_sentencepiece({.model = folder / "tokenizer.model"});
}

bool has_sentencepiece() {
  return false;
}

}  // namespace nadi::inline files
