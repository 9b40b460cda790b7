// Tells from the start of a Chakra trace in JSON how it is laid out, by the names in its first object. Never
// fails: damage is named by the reader. Not for use outside chakra/.
#pragma once

#include <cstdint>
#include <string_view>

namespace nadi::inline traces {

enum class JsonLayout : std::uint8_t {
  kDocuments,  // an object that is metadata or a node: documents one after the other
  kDocument,   // an object that has nodes
  kArray,      // an array
};

// `start` begins as JSON (base/json_start.h).
JsonLayout json_layout(std::string_view start);

}  // namespace nadi::inline traces
