// What of a SentencePiece model the library takes on trust. It reads the table of its normaliser and offsets
// into it without checks, so a damaged file would make it read outside of its memory.
#pragma once

#include <string>
#include <string_view>

namespace nadi {

// `bytes`: the whole of `file`. Error (input) with the byte when it is no such model, is cut off, or has a
// normaliser whose table leads outside of itself.
void check_sentencepiece_model(std::string_view bytes, const std::string& file);

}  // namespace nadi
