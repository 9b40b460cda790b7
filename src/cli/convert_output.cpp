#include "nadi/cli/convert_output.h"

#include <array>
#include <set>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/chakra/chakra_json_writer.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/chakra/node_link_writer.h"
#include "nadi/command_line/flags.h"
#include "nadi/recording/trace_kineto_writer.h"
#include "nadi/trace/trace.h"

namespace nadi {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNodesPerStep = 1 << 16;
constexpr std::size_t kPart = std::size_t{1} << 20;

struct FormatEntry {
  std::string_view name;
  std::string_view summary;
  std::string_view extension;
  ConvertFormat format;
};
constexpr std::array kFormats{
    FormatEntry{"et", "Chakra", ".et", ConvertFormat::kChakra},
    FormatEntry{"chakra-json", "Chakra as JSON, a node a line", ".json", ConvertFormat::kChakraJson},
    FormatEntry{"kineto", "a timeline for Perfetto and chrome://tracing", ".json", ConvertFormat::kKineto},
    FormatEntry{"node-link", "a graph for NetworkX", ".json", ConvertFormat::kNodeLink},
};

const FormatEntry& entry_of(ConvertFormat wanted) {
  return kFormats[static_cast<std::size_t>(wanted)];
}

Trace whole_trace(const GlobalMetadata& metadata, const NodeSource& nodes,
                  const std::function<void(std::size_t)>& progress) {
  Trace trace;
  trace.metadata.version = metadata.version;
  for (const TraceAttribute& attribute : metadata.attributes) trace.metadata.attributes.add_copy(attribute);
  trace.reserve(nodes.size);
  TraceNode node;
  for (std::size_t row = 0; row < nodes.size; ++row) {
    nodes.get(row, node);
    trace.add(node);
    if (row % kNodesPerStep == 0) progress(row);
  }
  return trace;
}

void write_nodes(ConvertFormat wanted, const GlobalMetadata& metadata, const NodeSource& nodes,
                 const std::function<void(std::size_t)>& progress, const ByteSink& sink) {
  TraceNode node;
  switch (wanted) {
    case ConvertFormat::kChakra: {
      ChakraWriter writer(sink, metadata);
      for (std::size_t row = 0; row < nodes.size; ++row) {
        nodes.get(row, node);
        writer.write(node);
        if (row % kNodesPerStep == 0) progress(row);
      }
      writer.finish();
      return;
    }
    case ConvertFormat::kChakraJson: {
      std::string part;
      append_metadata_json(part, metadata);
      part += '\n';
      for (std::size_t row = 0; row < nodes.size; ++row) {
        nodes.get(row, node);
        append_node_json(part, node);
        part += '\n';
        if (row % kNodesPerStep == 0) progress(row);
        if (part.size() < kPart) continue;
        sink(part);
        part.clear();
      }
      sink(part);
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

void add_convert_output_flags(Flags& flags) {
  std::string summaries;
  std::vector<std::string_view> names;
  for (const FormatEntry& entry : kFormats) {
    summaries += format("{}{}: {}", summaries.empty() ? "" : "; ", entry.name, entry.summary);
    names.push_back(entry.name);
  }
  flags.add({.names = {"--output"},
             .value = "OUT",
             .help =
                 "where to write: run.0.et is a file; run is the start of names, run.0.et and so on, a file "
                 "for each rank; missing folders are made",
             .fallback = "required",
             .group = "output"});
  flags.add({.names = {"--format"},
             .value = "FORMAT",
             .help = summaries,
             .fallback = std::string(kFormats[0].name),
             .choices = names,
             .group = "output"});
  flags.add({.names = {"--force"}, .help = "overwrite files that exist", .group = "output"});
}

ConvertOutput resolve_convert_output(const Flags& flags) {
  const std::optional<std::string> name = flags.text("--output");
  if (!name) throw usage_error("-o, --output is missing", "-o run.0.et writes that file");
  if (name->ends_with('/'))
    throw usage_error(format("-o takes a file or the start of file names, and '{}' is a folder", *name),
                      format("-o {0}run writes {0}run.0.et", *name));
  const std::optional<std::size_t> choice = flags.choice("--format");
  const FormatEntry& entry = kFormats[choice.value_or(0)];
  ConvertOutput output{.name = *name,
                       .is_file = false,
                       .format = entry.format,
                       .overwrite = flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse};
  const std::string extension = output.name.extension().string();
  if (extension == ".json" && !choice)
    throw usage_error(format("what is {} to hold?", *name), "--format chakra-json, kineto or node-link");
  if ((extension == ".json" || extension == ".et") && extension != entry.extension)
    throw usage_error(
        format("--format {} writes {} files, and -o names {}", entry.name, entry.extension, *name));
  output.is_file = extension == entry.extension;
  return output;
}

ConvertFiles::ConvertFiles(ConvertOutput output) : output_(std::move(output)) {
  if (output_.overwrite == Overwrite::kRefuse) refuse_existing(output_.groups_file());
}

Bytes ConvertFiles::write(std::int64_t rank, const GlobalMetadata& metadata, const NodeSource& nodes,
                          const std::function<void(std::size_t done)>& progress) {
  AtomicFile& file = files_.emplace_back(output_.file_of(rank), output_.overwrite, files_.size());
  write_nodes(output_.format, metadata, nodes, progress, [&](std::string_view part) { file.write(part); });
  file.close(Durability::kLater);
  return file.size();
}

void ConvertFiles::publish(const std::string& groups) {
  if (!groups.empty()) {
    AtomicFile& file = files_.emplace_back(output_.groups_file(), output_.overwrite, files_.size());
    file.write(groups);
    file.close(Durability::kLater);
  }
  std::set<fs::path> folders;
  for (const AtomicFile& file : files_)
    folders.insert(file.path().has_parent_path() ? file.path().parent_path() : fs::path{"."});
  for (const fs::path& folder : folders) sync_file_system(folder);
  for (AtomicFile& file : files_) file.commit();
  for (const fs::path& folder : folders) sync_folder(folder);
}

}  // namespace nadi
