// Writes a Chakra execution trace (.et), schema 0.0.4, node by node.
//
//   std::string bytes;
//   ChakraWriter writer([&](std::string_view part) { bytes += part; });
//   writer.write(node);       // as often as there are nodes
//   writer.finish();          // hands over what is still in the buffer
//
// The sink is called with about 1 MiB at a time, in order. A writer that goes without finish() leaves the
// output cut short, so a file should appear under its name only after finish().
//
// Chakra's times are whole microseconds: starts rounded down, durations so that they add up
// (whole_microseconds.h). A start or duration that is not whole is written a second time, exactly, as the
// int64 attribute `start_ns` or `duration_ns` (the last attributes of the node); ChakraReader puts it back,
// so writing and reading loses nothing. Fields that are zero or empty are left out, as proto3 does; attribute
// values never are. Texts are written as they are, though protobuf wants UTF-8. The same nodes give the same
// bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "nadi/chakra/protobuf_wire.h"
#include "nadi/chakra/whole_microseconds.h"
#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {

class Trace;

using ByteSink = std::function<void(std::string_view)>;

class ChakraWriter {
 public:
  // Starts the file with metadata of schema version 0.0.4 and no attributes.
  explicit ChakraWriter(ByteSink sink);
  // Starts the file with the given metadata.
  ChakraWriter(ByteSink sink, const GlobalMetadata& metadata);

  // The node must have no attribute `start_ns` or `duration_ns` of an integer kind and no negative time.
  void write(const TraceNode& node);

  // To be called once, after the last node.
  void finish();

  std::uint64_t nodes() const { return nodes_; }
  std::uint64_t bytes() const { return flushed_ + out_.size(); }

 private:
  void flush();

  ByteSink sink_;
  WireWriter out_;
  WholeMicroseconds whole_;
  std::uint64_t nodes_ = 0;
  std::uint64_t flushed_ = 0;
  bool finished_ = false;
};

// The content of a node's message, without the length in front of it; and its attributes alone, which a node
// without times has last. So what is shared by many nodes can be encoded once (stage_encoding.h).
void encode_node(WireWriter& out, const TraceNode& node, WholeMicroseconds& whole);
void encode_attributes(WireWriter& out, const TraceNode& node);

// A whole trace with its metadata.
void write_chakra(const Trace& trace, const ByteSink& sink);

}  // namespace nadi::inline traces
