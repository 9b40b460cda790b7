// Where in a JSON text a value stands. Internal to json.cpp and json_parser.cpp.
//
// A parsed tree does not know where its values came from, and need not until there is an error: then this
// walks the text once more, along the path to the value. Cost: the length of the text before it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace nadi::inline ground {

// Offsets in bytes. Of an object or array, only the opening bracket. Without a key (an element of an array,
// the top), key_begin == key_end.
struct JsonPosition {
  std::size_t key_begin = 0;
  std::size_t key_end = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

// path[d] counts the members or elements before the value at depth d. `text` must be valid JSON up to the
// start of the value (or its key); what follows may be anything.
JsonPosition find_json_position(std::string_view text, std::span<const std::size_t> path);

}  // namespace nadi::inline ground
