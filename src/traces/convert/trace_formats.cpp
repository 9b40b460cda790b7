#include "nadi/convert/trace_formats.h"

#include <algorithm>
#include <array>

#include "nadi/base/error.h"
#include "nadi/chakra/chakra_json_writer.h"
#include "nadi/chakra/node_link_writer.h"
#include "nadi/recording/trace_kineto_writer.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {
namespace {

constexpr std::size_t kNodesPerStep = 1 << 16;

// Node by node, for writers that need no more of the trace than one node.
template <class Writer>
void write_all(Writer& writer, const NodeSource& nodes, const std::function<void()>& progress) {
  TraceNode node;
  for (std::size_t row = 0; row < nodes.size; ++row) {
    nodes.get(row, node);
    writer.write(node);
    if (row % kNodesPerStep == 0) progress();
  }
  writer.finish();
}

Trace whole_trace(const GlobalMetadata& metadata, const NodeSource& nodes,
                  const std::function<void()>& progress) {
  Trace trace;
  trace.metadata.version = metadata.version;
  for (const TraceAttribute& attribute : metadata.attributes) trace.metadata.attributes.add_copy(attribute);
  trace.reserve(nodes.size);
  TraceNode node;
  for (std::size_t row = 0; row < nodes.size; ++row) {
    nodes.get(row, node);
    trace.add(node);
    if (row % kNodesPerStep == 0) progress();
  }
  return trace;
}

void write_et(const GlobalMetadata& metadata, const NodeSource& nodes, const std::function<void()>& progress,
              const ByteSink& sink) {
  ChakraWriter writer(sink, metadata);
  write_all(writer, nodes, progress);
}

void write_json_document(const GlobalMetadata& metadata, const NodeSource& nodes,
                         const std::function<void()>& progress, const ByteSink& sink) {
  ChakraJsonWriter writer(sink, metadata, ChakraJsonForm::kDocument);
  write_all(writer, nodes, progress);
}

void write_json_lines(const GlobalMetadata& metadata, const NodeSource& nodes,
                      const std::function<void()>& progress, const ByteSink& sink) {
  ChakraJsonWriter writer(sink, metadata, ChakraJsonForm::kLines);
  write_all(writer, nodes, progress);
}

void write_timeline(const GlobalMetadata& metadata, const NodeSource& nodes,
                    const std::function<void()>& progress, const ByteSink& sink) {
  write_trace_kineto(whole_trace(metadata, nodes, progress), {}, sink);
}

void write_graph(const GlobalMetadata& metadata, const NodeSource& nodes,
                 const std::function<void()>& progress, const ByteSink& sink) {
  write_node_link(whole_trace(metadata, nodes, progress), sink);
}

constexpr std::array kFormats{
    TraceFormat{"et", "Chakra", ".et", write_et},
    TraceFormat{"chakra-json", "Chakra as one JSON document", ".json", write_json_document},
    TraceFormat{"chakra-jsonl", "Chakra as JSON lines, a node a line", ".jsonl", write_json_lines},
    TraceFormat{"kineto", "a timeline for Perfetto and chrome://tracing", ".json", write_timeline},
    TraceFormat{"node-link", "a graph for NetworkX", ".json", write_graph},
};

}  // namespace

std::span<const TraceFormat> trace_formats() {
  return kFormats;
}

const TraceFormat& trace_format(std::string_view name) {
  const auto found = std::ranges::find(kFormats, name, &TraceFormat::name);
  check(found != kFormats.end(), "a format of traces that is not in the table");
  return *found;
}

}  // namespace nadi::inline traces
