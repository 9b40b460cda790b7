#include "nadi/draw/draw_files.h"

#include <algorithm>
#include <array>
#include <utility>

#include "nadi/analysis/run_reading.h"
#include "nadi/base/atomic_file_set.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_error.h"
#include "nadi/base/units.h"
#include "nadi/chakra/chakra_json_writer.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/chakra/node_link_trace.h"
#include "nadi/draw/collapse.h"
#include "nadi/draw/dot_writer.h"
#include "nadi/draw/graph_from_node_link.h"
#include "nadi/draw/graph_from_trace.h"
#include "nadi/draw/graph_page.h"
#include "nadi/draw/graphml_writer.h"
#include "nadi/draw/node_link_output.h"
#include "nadi/draw/run_dot.h"
#include "nadi/input/content_kind.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;

constexpr std::array kDrawFormats{
    DrawFormatEntry{"svg", ".svg", "a picture for browsers and documents", DrawFormat::kSvg},
    DrawFormatEntry{"png", ".png", "a picture of pixels", DrawFormat::kPng},
    DrawFormatEntry{"pdf", ".pdf", "a picture for print", DrawFormat::kPdf},
    DrawFormatEntry{"dot", ".dot", "Graphviz's language", DrawFormat::kDot},
    DrawFormatEntry{"graphml", ".graphml", "a graph for NetworkX, Gephi and yEd", DrawFormat::kGraphml},
    DrawFormatEntry{"json", ".json", "node-link JSON for NetworkX", DrawFormat::kJson},
    DrawFormatEntry{"html", ".html", "a page to look around in", DrawFormat::kHtml},
    DrawFormatEntry{"chakra", ".et",
                    "a Chakra trace; as a JSON document where the file's name ends in .json, as lines of "
                    "JSON where it ends in .jsonl",
                    DrawFormat::kChakra},
};

bool is_picture(DrawFormat format) {
  return format == DrawFormat::kSvg || format == DrawFormat::kPng || format == DrawFormat::kPdf ||
         format == DrawFormat::kDot;
}

// The names of Error are few; this one is told by what it says.
constexpr std::string_view kTooLarge = "the drawing has ";

class TooLarge : public Error {
 public:
  explicit TooLarge(const GraphView& view)
      : Error(ErrorKind::kInfeasible, {},
              format("{}{} nodes and {} edges, and no more than {} and {} are laid out", kTooLarge,
                     with_thousands(static_cast<std::int64_t>(view.nodes.size())),
                     with_thousands(static_cast<std::int64_t>(view.edges.size())),
                     with_thousands(kMostDrawnNodes), with_thousands(kMostDrawnEdges))) {}
};

constexpr std::size_t kReadableCalls = 24;  // of communication, one below the other

class Drawing {
 public:
  Drawing(const std::vector<fs::path>& files, const DrawOutput& output, const DrawOptions& options)
      : files_(files), output_(output), options_(options) {
    for (const fs::path& file : files) {
      std::error_code ignored;
      if (!fs::exists(file, ignored)) throw no_such_file(file.string());
    }
    if (output.overwrite == Overwrite::kRefuse && output.format != DrawFormat::kChakra)
      refuse_existing(output.file);
  }

  DrawSummary draw() {
    if (output_.format == DrawFormat::kChakra) {
      write_traces();
      return std::move(summary_);
    }
    GraphView view = read();
    summary_.ranks = view.ranks.size();
    summary_.ops = view.count(GraphNodeKind::kOp);
    summary_.communications = view.count(GraphNodeKind::kCommunication);
    summary_.tensors = view.count(GraphNodeKind::kTensor);
    summary_.edges = view.edges.size();
    summary_.without_tensors = view.without_tensors;
    view.title = title_of(view);
    view = cut(std::move(view));
    summary_.drawn_nodes = view.nodes.size();
    summary_.drawn_edges = view.edges.size();
    write(view);
    summary_.files.push_back(output_.file);
    return std::move(summary_);
  }

 private:
  bool keeps_members() const {
    return output_.format == DrawFormat::kJson || output_.format == DrawFormat::kGraphml;
  }

  std::optional<NodeLinkGraph> read_graph() const {
    if (files_.size() != 1 || content_kind(files_[0]) != FileKind::kNodeLink) return std::nullopt;
    return read_node_link(files_[0], {.memory = options_.memory,
                                      .damage = options_.lenient ? JsonDamage::kSkip : JsonDamage::kRefuse});
  }

  void for_each_trace(const std::function<void(const Trace& trace, std::int64_t rank)>& take) {
    if (const std::optional<NodeLinkGraph> graph = read_graph()) {
      for (const RankTrace& rank : traces_of(*graph, reading())) take(rank.trace, rank.rank);
      return;
    }
    read_run(files_,
             {.memory = options_.memory,
              .lenient = options_.lenient,
              .strict = options_.strict,
              .progress = options_.progress,
              .note = options_.note},
             [&](const ReadRank& rank) { take(rank.trace, rank.rank); });
  }

  ChakraReadOptions reading() const {
    ChakraReadOptions reading;
    if (!options_.strict) reading.missing_parents = MissingParents::kDrop;
    return reading;
  }

  GraphView read() {
    if (std::optional<NodeLinkGraph> graph = read_graph()) {
      if (has_tensors(*graph)) return graph_from_node_link(std::move(*graph));
      const std::vector<RankTrace> ranks = traces_of(*graph, reading());
      GraphMaker maker({.members = keeps_members(), .many_ranks = ranks.size() > 1});
      for (const RankTrace& rank : ranks) maker.add(rank.trace, rank.rank);
      return maker.finish();
    }
    GraphMaker maker({.members = keeps_members(), .many_ranks = files_.size() > 1});
    for_each_trace([&](const Trace& trace, std::int64_t rank) { maker.add(trace, rank); });
    return maker.finish();
  }

  std::string title_of(const GraphView& view) const {
    const auto text = [&](const char* name) -> std::string {
      const auto found = view.facts.find(name);
      return found != view.facts.end() && found->is_string() ? found->get<std::string>() : "";
    };
    std::string title = text("model");
    if (const std::string step = text("step"); !title.empty() && !step.empty()) title += ", " + step;
    for (const char* degree : {"tp", "cp", "pp", "dp"})
      if (const std::string many = text(degree); !many.empty() && many != "1")
        title += format(", {} {}", degree, many);
    if (title.empty()) title = files_[0].filename().string();
    if (view.ranks.size() == 1)
      title += format(", rank {}", view.ranks[0]);
    else if (view.ranks.size() > 1)
      title += format(", {} ranks", view.ranks.size());
    return title;
  }

  GraphView cut(GraphView view) {
    const bool picture = is_picture(output_.format);
    if (!options_.layers.is_all()) {
      check_layers(view);
      view = kept_layers(std::move(view), options_.layers);
    }
    if (!options_.all_passes.value_or(!picture)) {
      std::int64_t last = 0;
      for (const GraphNode& node : view.nodes) last = std::max(last, node.pass);
      summary_.passes_left_out = static_cast<std::uint64_t>(last);
      view = first_passes(std::move(view));
    }
    if (options_.communication) {
      const std::size_t calls = view.count(GraphNodeKind::kCommunication);
      summary_.outlined = picture && options_.collapse == DrawCollapse::kAuto && options_.layers.is_all() &&
                          calls > kReadableCalls * view.ranks.size();
      return collapsed(std::move(view),
                       summary_.outlined ? CollapseTo::kCommunicationOutline : CollapseTo::kCommunication);
    }
    if (!options_.tensors) view = without_tensors(std::move(view));
    if (picture) view = without_unread(std::move(view));
    switch (options_.collapse) {
      case DrawCollapse::kNone:
        return view;
      case DrawCollapse::kBlock:
        return collapsed(std::move(view), CollapseTo::kBlock);
      case DrawCollapse::kLayer:
        return collapsed(std::move(view), CollapseTo::kLayer);
      case DrawCollapse::kAuto:
        break;
    }
    if (!picture || !options_.layers.is_all() || view.nodes.size() <= kReadableNodes) return view;
    summary_.outlined = true;
    std::erase_if(view.edges, [](const GraphEdge& edge) { return edge.kind == GraphEdgeKind::kControl; });
    return collapsed(std::move(view), CollapseTo::kOutline);
  }

  void check_layers(const GraphView& view) const {
    const std::set<std::int64_t> known = layers_of(view);
    if (std::ranges::any_of(known, [&](std::int64_t layer) { return options_.layers.contains(layer); }))
      return;
    throw usage_error(format("the graph has no layer {}", options_.layers.to_string()),
                      known.empty() ? "its nodes do not name layers"
                                    : format("it has {} to {}", *known.begin(), *known.rbegin()));
  }

  void write(const GraphView& view) {
    switch (output_.format) {
      case DrawFormat::kSvg:
      case DrawFormat::kPng:
      case DrawFormat::kPdf:
        write_picture(view);
        return;
      case DrawFormat::kDot:
        write_atomically(output_.file, dot_of(view), output_.overwrite);
        return;
      case DrawFormat::kGraphml:
        write_parts([&](const ByteSink& sink) { write_graphml(view, sink); });
        return;
      case DrawFormat::kJson:
        write_parts([&](const ByteSink& sink) { write_graph_node_link(view, output_.edges_key, sink); });
        return;
      case DrawFormat::kHtml:
        write_graph_page(view, output_.file, output_.overwrite);
        return;
      case DrawFormat::kChakra:
        break;
    }
    unreachable();
  }

  std::string dot_of(const GraphView& view) const {
    return to_dot(view, {.layers = !options_.communication});
  }

  void write_picture(const GraphView& view) {
    if (view.nodes.size() > kMostDrawnNodes || view.edges.size() > kMostDrawnEdges) throw TooLarge(view);
    const std::string_view format = kDrawFormats[static_cast<std::size_t>(output_.format)].name;
    DotPicture picture = run_dot(
        dot_of(view), {.format = std::string(format), .limit = options_.limit, .wait = options_.wait});
    summary_.remarks = std::move(picture.remarks);
    write_atomically(output_.file, picture.bytes, output_.overwrite);
  }

  void write_parts(const std::function<void(const ByteSink&)>& produce) {
    AtomicFile file(output_.file, output_.overwrite);
    produce([&](std::string_view part) {
      if (options_.wait) options_.wait();
      file.write(part);
    });
    file.commit();
  }

  fs::path trace_file(std::int64_t rank, bool many) const {
    if (!many) return output_.file;
    fs::path file = output_.file;
    const std::string extension = file.extension().string();
    return file.replace_extension().string() + format(".{}{}", rank, extension);
  }

  void write_traces() {
    const std::string extension = output_.file.extension().string();
    const bool as_json = extension == ".json" || extension == ".jsonl";
    AtomicFileSet files(output_.overwrite, Durability::kNow);
    const auto write_one = [&](const Trace& trace, std::int64_t rank, bool many) {
      const fs::path path = trace_file(rank, many);
      AtomicFile& file = files.add(path);
      const auto sink = [&](std::string_view part) { file.write(part); };
      if (as_json)
        write_chakra_json(trace, sink, chakra_json_form(output_.file));
      else
        write_chakra(trace, sink);
      files.close(file);
      summary_.files.push_back(path);
      ++summary_.ranks;
      count(trace);
    };
    if (const std::optional<NodeLinkGraph> graph = read_graph()) {
      const std::vector<RankTrace> ranks = traces_of(*graph, reading());
      for (const RankTrace& rank : ranks) write_one(rank.trace, rank.rank, ranks.size() > 1);
    } else {
      for_each_trace(
          [&](const Trace& trace, std::int64_t rank) { write_one(trace, rank, files_.size() > 1); });
    }
    files.publish();
  }

  void count(const Trace& trace) {
    for (std::size_t row = 0; row < trace.size(); ++row) {
      const NodeType type = trace.type(row);
      const bool communicates =
          type == NodeType::kCommColl || type == NodeType::kCommSend || type == NodeType::kCommRecv;
      ++(communicates ? summary_.communications : summary_.ops);
      summary_.edges += trace.ctrl_deps(row).size() + trace.data_deps(row).size();
    }
    summary_.drawn_nodes = summary_.ops + summary_.communications;
    summary_.drawn_edges = summary_.edges;
  }

  const std::vector<fs::path>& files_;
  const DrawOutput& output_;
  const DrawOptions& options_;
  DrawSummary summary_;
};

}  // namespace

std::span<const DrawFormatEntry> draw_formats() {
  return kDrawFormats;
}

bool is_too_large(const Error& error) {
  return error.kind() == ErrorKind::kInfeasible && error.message().starts_with(kTooLarge);
}

DrawSummary draw_files(const std::vector<fs::path>& files, const DrawOutput& output,
                       const DrawOptions& options) {
  return Drawing(files, output, options).draw();
}

}  // namespace nadi::inline show
