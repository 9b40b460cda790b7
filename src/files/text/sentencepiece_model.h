// What the SentencePiece library takes on trust, and where texts can be cut before it gets them.
//
// The library reads the table of its normaliser and offsets into it without checks, so a damaged file would
// make it read outside of its memory. And it holds some 250 bytes for each byte of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nadi::inline files {

// Where a long text can be cut into parts whose tokens, one after the other, are those of the whole. That is
// so at a space between two words of a model that has no piece across it, as models have unless they were
// trained to have such pieces.
enum class SpaceAtCut : std::uint8_t {
  kNowhere,  // texts are not cut
  kDropped,  // the model puts a space in front of every text: the part behind the space begins without it
  kKept,     // the part begins with the space
};

// `bytes`: the whole of `file`. Error (input) with the byte when it is no such model, is cut off, or has a
// normaliser whose table leads outside of itself.
SpaceAtCut check_sentencepiece_model(std::string_view bytes, const std::string& file);

// The parts of a text: each of at least `part` bytes but the last, and longer where there is no place to cut.
// Cut is at single spaces between ASCII letters, digits and full stops, which no normaliser changes.
std::vector<std::string_view> cut_text(std::string_view text, SpaceAtCut space, std::size_t part);

}  // namespace nadi::inline files
