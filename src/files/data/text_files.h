// The texts of a file, one after the other: what a tokenizer is trained on.
//
//   const auto tokenizer = train_bpe(read_texts("corpus.jsonl"), {.vocabulary_size = 8192});
//
// What a text is depends on the end of the file's name:
//   .txt    a line
//   .jsonl  the string under `key` of the JSON object in each line; other keys are left alone
//   .json   a context or a question of a SQuAD file (squad.h); each paragraph once
// Empty texts are passed over. Lines are streamed: memory is that of the longest (line_reader.h).
//
// Error (input): another kind of file, a line that is not JSON or lacks the key, with the number of the line;
// what is not UTF-8, with the byte; a file without any text, when its end is reached.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "nadi/base/units.h"
#include "nadi/text/text_source.h"

namespace nadi::inline files {

struct SquadSet;

// To be read once: through the source or through a copy of it, not both.
TextSource read_texts(const std::filesystem::path& path, std::string_view key = "text");

// Contexts, then questions, of a set in memory.
TextSource texts_of(SquadSet set);

struct TextTotals {
  std::int64_t texts = 0;
  Bytes bytes = {};
};

}  // namespace nadi::inline files
