// Decodes the records of a Chakra file of schema 0.0.2 or 0.0.3, of the summer of 2023, into the nodes that a
// file of today would have. ChakraReader finds the records. Not for use outside chakra/.
//
// What changes on the way:
//   - `parent` becomes data dependencies: the simulator of that time waited for these and for nothing else;
//   - the attribute `runtime` (microseconds) becomes the duration;
//   - `comm_type` gets the number that the collective has today;
//   - the attributes that simulators read (common_attributes.h) get the kind that simulators ask for: then
//     there were only integers of 64 bits;
//   - types of 0.0.2, which had no METADATA, move up by one.
// All other attributes stay, as float, int64, uint64, bool, string and lists of these.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "nadi/chakra/chakra_decoder.h"
#include "nadi/chakra/chakra_recognition.h"
#include "nadi/chakra/protobuf_wire.h"
#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {

class Chakra2023Decoder {
 public:
  // Not of the current schema.
  explicit Chakra2023Decoder(ChakraSchema schema);

  // The metadata gets copies, and as version that of the nodes that are handed out.
  void decode_metadata(WireReader record, GlobalMetadata& metadata);

  // The node's texts point into the record's bytes, its lists into the node's own memory.
  void decode_node(WireReader record, TraceNode& node);

  const UnknownFields& unknown_fields() const { return unknown_; }

 private:
  void decode_attribute(WireReader message, TraceAttribute& attribute, Arena& arena);
  void decode_value(WireReader& message, WireTag tag, TraceAttribute& attribute);
  void skip(WireReader& reader, WireTag tag);

  ChakraSchema schema_;
  UnknownFields unknown_;
  std::vector<std::uint64_t> numbers_;   // list being decoded
  std::vector<std::string_view> texts_;  // list being decoded
};

}  // namespace nadi::inline traces
