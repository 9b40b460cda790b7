// Decodes the records of a Chakra file of schema 0.0.4 or 1.0.0: the bytes of one GlobalMetadata or one Node.
// ChakraReader finds the records; this file knows what is in them. Not for use outside chakra/.
//
// Follows protobuf's rules for what is legal but unusual: a repeated number may come packed, one by one, or
// both; a field that comes twice counts the second time, a message that comes twice is merged; of an
// attribute's values the last counts. Stricter than protobuf in one thing: a known field with the wrong
// wire type is an error, since skipping it would turn a duration into zero.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/chakra/protobuf_wire.h"
#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {

// Fields that the schema does not have, and that were therefore passed over.
struct UnknownFields {
  std::uint64_t count = 0;
  std::uint32_t first_field = 0;  // number of the first one
  std::string first_name = {};    // or its name, in JSON
  std::uint64_t first_byte = 0;   // and where it is in the file, or its record
};

class ChakraDecoder {
 public:
  // The metadata gets copies. Recognises a Node in the place of the metadata, and says so.
  void decode_metadata(WireReader record, GlobalMetadata& metadata);

  // The node's texts point into the record's bytes, its lists into the node's own memory.
  void decode_node(WireReader record, TraceNode& node);

  const UnknownFields& unknown_fields() const { return unknown_; }

 private:
  void decode_dependencies(WireReader& record, WireTag tag, std::vector<TraceNodeId>& ids);
  void decode_io(WireReader message, IoInfo& io);
  void decode_attribute(WireReader message, TraceAttribute& attribute, Arena& arena);
  void decode_list(WireReader message, TraceAttribute& attribute, Arena& arena);
  void skip(WireReader& reader, WireTag tag);

  UnknownFields unknown_;
  std::vector<std::uint64_t> numbers_;   // list being decoded
  std::vector<std::string_view> texts_;  // list being decoded
};

}  // namespace nadi::inline traces
