// Tells from the start of a JSON text which kind of trace it may be, by the keys of its first object. Never
// fails: damage is named by the reader that is chosen. Not for use outside trace/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nadi {

enum class JsonLayout : std::uint8_t {
  kNotJson,    // starts neither with an object nor with an array
  kDocuments,  // an object that is metadata or a node: documents one after the other
  kDocument,   // an object that has nodes
  kArray,      // an array
  kKineto,     // an object with "traceEvents": not a Chakra trace
  kPyTorch,    // an object with "schema" and "nodes": PyTorch's execution trace
  kNodeLink,   // an object with "links": what node_link_writer.h writes
};

// How much of a text json_layout() wants to see.
inline constexpr std::size_t kLayoutBytes = std::size_t{64} << 10;

JsonLayout json_layout(std::string_view start_of_text);

}  // namespace nadi
