// GPT-2's splitter; see splitter.h for how it is called.
#pragma once

namespace nadi::inline files {

class CharacterTable;

const char* gpt2_piece_end(const CharacterTable& table, const char* at, const char* end);

}  // namespace nadi::inline files
