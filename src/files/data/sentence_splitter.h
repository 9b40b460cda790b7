// Cuts English text into sentences.
//
//   std::vector<std::string_view> sentences;
//   split_sentences("Dr. No came at 5 p.m. Nobody knew why.", SentenceGap::kDropped, sentences);
//   // "Dr. No came at 5 p.m." and "Nobody knew why."
//
// By rules, not learnt. Megatron uses the trained model "punkt" of NLTK: most cuts are the same, not all.
// Where a sentence ends:
//   - at one or more of . ? ! with white space behind, or with quotes and brackets that close and then white
//     space; these belong to the sentence that ends. Line breaks without a stop end nothing.
//   - not where the next word begins with a small letter, nor in front of a bracket that closes;
//   - not behind a title (Dr.), an initial (J. Smith) or an abbreviation (etc., U.S., Inc.), except that
//     initials and abbreviations do end a sentence where the next word is one that often begins one (The,
//     He);
//   - not between an abbreviation that takes a number and the number (No. 5, p. 12, Jan. 3);
//   - not behind a number, a letter or a bullet that is all of the sentence so far: "1. First".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace nadi::inline files {

// What becomes of the white space between two sentences. That in front of the first one stays in both cases.
enum class SentenceGap : std::uint8_t {
  kDropped,  // also that behind the last one
  kKept,     // with the sentence in front of it: joined, the sentences are the text
};

// Appends views of `text`, which is UTF-8. A text of white space alone has no sentence.
void split_sentences(std::string_view text, SentenceGap gap, std::vector<std::string_view>& sentences);

}  // namespace nadi::inline files
