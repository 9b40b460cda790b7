// Takes nodes and metadata out of simdjson's objects, for chakra_json_reader.cpp. Not for use outside
// chakra/; needs simdjson's header.
//
// Texts that are handed out are simdjson's own and valid as long as the object is.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/chakra/chakra_decoder.h"
#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {

class ChakraJsonDecoder {
 public:
  using Object = simdjson::ondemand::object;
  using Value = simdjson::ondemand::value;

  explicit ChakraJsonDecoder(std::string file) : file_(std::move(file)) {}

  // A node in protobuf's mapping. Error (input) at `byte`, where the object starts, or an exception of
  // simdjson.
  void decode_node(Object object, std::uint64_t byte, TraceNode& node);
  // The same for what may be metadata instead: an object that has nothing but "version" and "attr". Returns
  // whether it was a node.
  bool decode_node_or_metadata(Object object, std::uint64_t byte, TraceNode& node, GlobalMetadata& metadata);
  // A node of the feeder's own JSON.
  void decode_feeder_node(Object object, std::uint64_t byte, TraceNode& node);

  // The latest object of these two has members, and none of them is Chakra's.
  bool is_foreign() const { return is_foreign_; }

  // Counts a member that no schema has.
  void pass_over(std::string_view name, std::uint64_t byte);
  const UnknownFields& unknown_fields() const { return unknown_; }
  void forget_unknown_fields() { unknown_ = {}; }

 private:
  [[noreturn]] void fail(std::string message, std::string hint = "") const;

  std::uint64_t unsigned_number(Value value, std::string_view what) const;
  std::int64_t signed_number(Value value, std::string_view what) const;
  double real_number(Value value, std::string_view what) const;
  bool boolean(Value value, std::string_view what) const;
  std::string_view text(Value value, std::string_view what) const;
  std::string_view base64(Value value, std::string_view what, Arena& arena) const;
  NodeType node_type(Value value) const;
  std::int64_t micros(Value value, std::string_view what) const;

  void decode_ids(Value value, std::string_view what, std::vector<TraceNodeId>& ids) const;
  void decode_io(Value value, std::string_view what, IoInfo& io);
  // All of "attr", as they are.
  void decode_attributes(Value value, TraceAttributes& attributes);
  void decode_attribute(Object object, TraceAttribute& attribute, Arena& arena);
  void decode_list(Value value, TraceAttribute& attribute, Arena& arena);
  std::uint64_t number(Value value, TraceAttributeKind kind, std::string_view what) const;
  // Moves exact times among the attributes to where they belong.
  void settle_times(TraceNode& node, std::int64_t start_micros, std::int64_t duration_micros);

  std::string file_;
  std::uint64_t byte_ = 0;  // of the object being decoded
  UnknownFields unknown_;
  bool is_foreign_ = false;
  TraceAttributes attributes_;           // of the node being decoded
  std::vector<std::uint64_t> numbers_;   // list being decoded
  std::vector<std::string_view> texts_;  // list being decoded
};

}  // namespace nadi::inline traces
