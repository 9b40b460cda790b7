// Whole characters from bytes that come in pieces: a token of a byte-level tokenizer may end within a
// character.
//
//   Utf8Assembler characters;
//   for (...) print(characters.add(bytes));      // what is complete by now
//   print(characters.finish());
//
// What comes out is UTF-8 always. Bytes that are none become U+FFFD, one for as many as began a character,
// which is how Unicode recommends it and Python decodes with errors="replace".
#pragma once

#include <string>
#include <string_view>

namespace nadi::inline runs {

class Utf8Assembler {
 public:
  std::string add(std::string_view bytes);
  // The end: a character that is not complete never will be.
  std::string finish();

 private:
  std::string take(bool at_end);

  std::string pending_;
};

}  // namespace nadi::inline runs
