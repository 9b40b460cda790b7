// A node whose texts are already in the string table of the Trace that is to take it: what readers of very
// large files add instead of a TraceNode. Names, shapes and attributes repeat from node to node; whoever
// knows that looks up each of them once and keeps its number.
//
//   Trace trace;
//   const TraceKey stream = trace.key("stream", TraceAttributeKind::kInt64);
//   const std::uint32_t name = trace.intern("aten::mm");
//   const InternedAttribute attributes[] = {{stream, number_bits(std::int64_t{7})}};
//   trace.add(InternedNode{.id = TraceNodeId{1}, .name = name, .attributes = attributes});
//
// Numbers of texts are those of Trace::text_number(), 0 for the empty text. Numbers of one trace mean nothing
// to another one.
#pragma once

#include <cstdint>
#include <span>

#include "nadi/base/units.h"
#include "nadi/trace/node_type.h"
#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {

enum class TraceKey : std::uint32_t {};   // name and kind of an attribute
enum class TraceList : std::uint64_t {};  // the values of an attribute that is a list

// `payload`: number_bits() of a number, the number of the text for a string or bytes, that of a TraceList for
// a list.
struct InternedAttribute {
  TraceKey key{};
  std::uint64_t payload = 0;
};

struct InternedIo {
  std::uint32_t values = 0;
  std::uint32_t shapes = 0;
  std::uint32_t types = 0;

  friend bool operator==(const InternedIo&, const InternedIo&) = default;
};

struct InternedNode {
  TraceNodeId id{};
  std::uint32_t name = 0;
  NodeType type = NodeType::kInvalid;
  std::span<const TraceNodeId> ctrl_deps = {};
  std::span<const TraceNodeId> data_deps = {};
  Nanoseconds start = {};
  Nanoseconds duration = {};
  InternedIo inputs = {};
  InternedIo outputs = {};
  std::span<const InternedAttribute> attributes = {};
};

}  // namespace nadi::inline traces
