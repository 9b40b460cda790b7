// The splitters of Llama 3 and of Qwen2, which differ in how many digits a piece has; see splitter.h for how
// they are called.
#pragma once

namespace nadi::inline files {

class CharacterTable;

const char* llama3_piece_end(const CharacterTable& table, const char* at, const char* end);
const char* qwen2_piece_end(const CharacterTable& table, const char* at, const char* end);

}  // namespace nadi::inline files
