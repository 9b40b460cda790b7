#include "nadi/convert/convert_output.h"

#include <array>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/chakra/chakra_json_writer.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/chakra/node_link_writer.h"
#include "nadi/recording/trace_kineto_writer.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNodesPerStep = 1 << 16;

constexpr std::array kFormats{
    ConvertFormatEntry{"et", "Chakra", ".et", ConvertFormat::kChakra},
    ConvertFormatEntry{"chakra-json", "Chakra as one JSON document", ".json", ConvertFormat::kChakraJson},
    ConvertFormatEntry{"chakra-jsonl", "Chakra as JSON lines, a node a line", ".jsonl",
                       ConvertFormat::kChakraJsonLines},
    ConvertFormatEntry{"kineto", "a timeline for Perfetto and chrome://tracing", ".json",
                       ConvertFormat::kKineto},
    ConvertFormatEntry{"node-link", "a graph for NetworkX", ".json", ConvertFormat::kNodeLink},
};

const ConvertFormatEntry& entry_of(ConvertFormat wanted) {
  return kFormats[static_cast<std::size_t>(wanted)];
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

void write_nodes(ConvertFormat wanted, const GlobalMetadata& metadata, const NodeSource& nodes,
                 const std::function<void()>& progress, const ByteSink& sink) {
  TraceNode node;
  switch (wanted) {
    case ConvertFormat::kChakra: {
      ChakraWriter writer(sink, metadata);
      for (std::size_t row = 0; row < nodes.size; ++row) {
        nodes.get(row, node);
        writer.write(node);
        if (row % kNodesPerStep == 0) progress();
      }
      writer.finish();
      return;
    }
    case ConvertFormat::kChakraJson:
    case ConvertFormat::kChakraJsonLines: {
      ChakraJsonWriter writer(
          sink, metadata,
          wanted == ConvertFormat::kChakraJson ? ChakraJsonForm::kDocument : ChakraJsonForm::kLines);
      for (std::size_t row = 0; row < nodes.size; ++row) {
        nodes.get(row, node);
        writer.write(node);
        if (row % kNodesPerStep == 0) progress();
      }
      writer.finish();
      return;
    }
    case ConvertFormat::kKineto:
      write_trace_kineto(whole_trace(metadata, nodes, progress), {}, sink);
      return;
    case ConvertFormat::kNodeLink:
      write_node_link(whole_trace(metadata, nodes, progress), sink);
      return;
  }
  unreachable();
}

}  // namespace

std::span<const ConvertFormatEntry> convert_formats() {
  return kFormats;
}

std::string_view to_string(ConvertFormat wanted) {
  return entry_of(wanted).name;
}

fs::path ConvertOutput::file_of(std::int64_t rank) const {
  return is_file ? name : fs::path(nadi::format("{}.{}{}", name.string(), rank, entry_of(format).extension));
}

fs::path ConvertOutput::groups_file() const {
  std::string start = name.string();
  if (is_file) {
    start.resize(start.size() - name.extension().string().size());
    const std::size_t before_rank = start.find_last_not_of("0123456789");
    if (before_rank != std::string::npos && before_rank + 1 < start.size() && start[before_rank] == '.')
      start.resize(before_rank);
  }
  return start + ".groups.json";
}

ConvertFiles::ConvertFiles(ConvertOutput output)
    : output_(std::move(output)), files_(output_.overwrite, Durability::kLater) {
  if (output_.overwrite == Overwrite::kRefuse) refuse_existing(output_.groups_file());
}

Bytes ConvertFiles::write(std::int64_t rank, const GlobalMetadata& metadata, const NodeSource& nodes,
                          const std::function<void()>& progress) {
  AtomicFile& file = files_.add(output_.file_of(rank));
  write_nodes(output_.format, metadata, nodes, progress, [&](std::string_view part) { file.write(part); });
  files_.close(file);
  return file.size();
}

void ConvertFiles::publish(const std::string& groups) {
  if (!groups.empty()) files_.write(output_.groups_file(), groups);
  files_.publish();
}

}  // namespace nadi::inline traces
