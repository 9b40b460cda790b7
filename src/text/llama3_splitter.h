// Llama 3's splitter; see splitter.h for how it is called.
#pragma once

namespace nadi {

class CharacterTable;

const char* llama3_piece_end(const CharacterTable& table, const char* at, const char* end);

}  // namespace nadi
