#include "nadi/chakra/trace_files.h"

#include <string>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/chakra/chakra_json_reader.h"
#include "nadi/chakra/chakra_reader.h"
#include "nadi/chakra/node_link_trace.h"
#include "nadi/input/content_kind.h"

namespace nadi::inline traces {
namespace {

Trace read_node_link_trace(const std::filesystem::path& path, const ChakraReadOptions& options,
                           ChakraReadStats& stats) {
  const JsonDamage damage =
      options.damaged_records == DamagedRecords::kSkip ? JsonDamage::kSkip : JsonDamage::kRefuse;
  const NodeLinkGraph graph =
      read_node_link(path, {.memory = options.memory, .damage = damage, .progress = options.progress});
  std::uint64_t dropped = 0;
  std::vector<RankTrace> ranks = traces_of(graph, options, &dropped);
  if (ranks.size() > 1)
    throw input_error({.file = path.string()},
                      format("the graph is of {} ranks, and one is read", ranks.size()),
                      "write it as a trace for each rank first");
  stats.nodes = ranks[0].trace.size();
  stats.bytes = graph.counts.bytes;
  stats.dropped_dependencies = dropped;
  stats.dropped_records = graph.counts.dropped_records;
  stats.replaced_characters = graph.counts.replaced_characters;
  stats.cut_short = graph.counts.cut_short;
  stats.first_dropped_byte = graph.counts.first_dropped_byte;
  stats.first_dropped_reason = graph.counts.first_dropped_reason;
  return std::move(ranks[0].trace);
}

}  // namespace

std::string_view to_string(TraceFileKind kind) {
  switch (kind) {
    case TraceFileKind::kChakra:
      return "Chakra";
    case TraceFileKind::kChakraJson:
      return "Chakra JSON";
    case TraceFileKind::kNodeLink:
      return "node-link";
  }
  unreachable();
}

Trace read_any_trace(const std::filesystem::path& path, const ChakraReadOptions& options,
                     TraceFileReport* report) {
  TraceFileReport here;
  TraceFileReport& to = report != nullptr ? *report : here;
  const FileKind kind = content_kind(path);
  if (kind == FileKind::kNodeLink) {
    to.kind = TraceFileKind::kNodeLink;
    return read_node_link_trace(path, options, to.stats);
  }
  const bool in_json = is_json(kind);
  to.kind = in_json ? TraceFileKind::kChakraJson : TraceFileKind::kChakra;
  return in_json ? read_chakra_json(path, options, &to.stats) : read_chakra(path, options, &to.stats);
}

}  // namespace nadi::inline traces
