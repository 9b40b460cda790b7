// The formats that traces are written in: one table, from which help, completion and `nadi convert` follow. A new format is a function in
// a file of its own and a row in trace_formats.cpp.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "nadi/chakra/chakra_writer.h"
#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {

// Yields the nodes of a trace, one after the other.
struct NodeSource {
  std::size_t size = 0;
  std::function<void(std::size_t row, TraceNode& node)> get;
};

// Gives the sink the bytes of the trace in order. `progress` is called now and then and may throw to stop.
using TraceFormatWriter = void (*)(const GlobalMetadata& metadata, const NodeSource& nodes,
                                   const std::function<void()>& progress, const ByteSink& sink);

struct TraceFormat {
  std::string_view name;       // "chakra-json"
  std::string_view summary;    // for people
  std::string_view extension;  // ".json"
  TraceFormatWriter write;
};

// The first is what is written when nothing else is asked for.
std::span<const TraceFormat> trace_formats();
const TraceFormat& trace_format(std::string_view name);  // one of the table

}  // namespace nadi::inline traces
