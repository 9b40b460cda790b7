// Finds where reading can continue in a damaged JSON file: the next place that looks like the start of a
// record, a member or the end of the array, and is consistent with the text that follows.
//
// A '{' between '}' "," and a key may also be an element of an array within the damaged record. So what
// follows is looked at, too: its siblings must be whole, and the ']' behind the last of them must be followed
// by what may follow the array of records.
#pragma once

#include <cstdint>

namespace nadi::inline ground {

class JsonWindow;

enum class JsonSurroundings : std::uint8_t {
  kMember,         // records are in an array that is a member of the document
  kTopLevelArray,  // the document is the array
  kDocuments,      // records are documents
};

enum class JsonRecovery : std::uint8_t {
  kRecord,    // the window is at the start of a record
  kArrayEnd,  // the window is at the ']' of the array
  kNothing,   // the input has ended
};

// Moves the window, which starts with damage, to where reading may go on.
JsonRecovery recover_record(JsonWindow& window, JsonSurroundings surroundings);

// Moves the window, which starts with a damaged member of the document, to the ',' before the next member or
// to the document's '}'; false where there is none.
bool recover_member(JsonWindow& window);

}  // namespace nadi::inline ground
