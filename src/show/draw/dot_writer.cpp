#include "nadi/draw/dot_writer.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/shorten.h"
#include "nadi/draw/drawn_text.h"
#include "nadi/draw/layer_name.h"
#include "nadi/draw/markup_letter.h"

namespace nadi::inline show {
namespace {

struct Paint {
  std::string_view fill, line, text;
};
// Dark enough on white for the eyes, and told apart by shape as well as by colour.
constexpr Paint kTensorPaint{"#d8f0d2", "#2b8a3e", "#12400f"};
constexpr Paint kOpPaint{"#d9e8fb", "#1c5fb0", "#0c2d57"};
constexpr Paint kCommunicationPaint{"#ffdcd6", "#d02a1e", "#5f0d07"};
constexpr std::size_t kManyNodes = 300;
constexpr std::string_view kRedEdge = "#d02a1e";
constexpr std::string_view kBlackEdge = "#222222";

const Paint& paint_of(GraphNodeKind kind) {
  switch (kind) {
    case GraphNodeKind::kTensor:
      return kTensorPaint;
    case GraphNodeKind::kOp:
      return kOpPaint;
    case GraphNodeKind::kCommunication:
      return kCommunicationPaint;
  }
  unreachable();
}

// Inside a quoted text of the language. `text` has no control characters but line feeds.
std::string dot_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + '"';
}

std::string html(std::string_view text) {
  std::string out;
  for (const char c : text) append_markup_letter(out, c);
  return out;
}

class DotText {
 public:
  DotText(const GraphView& view, const DotOptions& options) : view_(view), options_(options) {
    // A layer has a cluster where an op of it is drawn, not for a tensor alone.
    for (const GraphNode& node : view.nodes)
      if (node.kind != GraphNodeKind::kTensor && !node.is_box)
        drawn_layers_.insert(layer_key(node, layer_box(node.layer)));
  }

  std::string write() {
    put("digraph nadi {{\n");
    put("  graph [rankdir=TB, bgcolor=white, fontname=\"DejaVu Sans,Helvetica,Arial,sans-serif\", "
        "fontsize=16, "
        "nodesep=0.18, ranksep=0.28, labelloc=t, compound=true");
    if (options_.legend) put(", label=<{}>", legend());
    // Fewer rounds of what takes dot most of its time: a picture of 900 nodes in 10 s instead of minutes.
    if (view_.nodes.size() > kManyNodes) put(", nslimit=1, nslimit1=1, mclimit=0.2");
    put("];\n");
    put("  node [fontname=\"DejaVu Sans,Helvetica,Arial,sans-serif\", fontsize=10, style=\"filled,rounded\", "
        "shape=box, margin=\"0.11,0.05\", height=0.3, penwidth=1.2];\n");
    put("  edge [color=\"{}\", arrowsize=0.6, penwidth=0.9];\n", kBlackEdge);
    put_nodes();
    for (const GraphEdge& edge : view_.edges) put_edge(edge);
    put("}}\n");
    return std::move(out_);
  }

 private:
  template <typename... Parts>
  void put(fmt::format_string<Parts...> text, Parts&&... parts) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<Parts>(parts)...);
  }

  std::string legend() const {
    constexpr std::size_t kLongestTitle = 90;
    const auto cell = [](const Paint& paint, std::string_view text) {
      return format("<TD BGCOLOR=\"{}\" COLOR=\"{}\" BORDER=\"2\"><FONT COLOR=\"{}\">{}</FONT></TD>",
                    paint.fill, paint.line, paint.text, text);
    };
    std::string table = "<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"6\" CELLPADDING=\"4\">";
    if (!view_.title.empty())
      table += format("<TR><TD COLSPAN=\"6\"><FONT POINT-SIZE=\"18\"><B>{}</B></FONT></TD></TR>",
                      html(shorten_middle(visible_text(view_.title), kLongestTitle)));
    table +=
        "<TR>" + cell(kTensorPaint, "tensor") + cell(kOpPaint, "operation") +
        cell(kCommunicationPaint, "communication") +
        format(
            "<TD><FONT COLOR=\"{}\">→ communication</FONT></TD><TD>→ data</TD><TD>⇢ order</TD></TR></TABLE>",
            kRedEdge);
    return table;
  }

  static std::string layer_key(const GraphNode& node, const std::string& box) {
    return format("{}:{}:{}:{}", node.rank, node.part, node.pass, box);
  }

  // Names of the clusters around a node, from the outside.
  std::vector<std::string> clusters_of(const GraphNode& node) const {
    std::vector<std::string> clusters;
    if (view_.ranks.size() > 1) clusters.push_back(format("rank {}", node.rank));
    if (!node.part.empty())
      clusters.push_back(node.pass > 0 ? format("{}, pass {}", node.part, node.pass) : node.part);
    const std::string box = node.layer.empty() || node.is_box ? "" : layer_box(node.layer);
    if (options_.layers && layer_number(box) && drawn_layers_.contains(layer_key(node, box)))
      clusters.push_back(box);
    return clusters;
  }

  void put_nodes() {
    // In the order of the first node of each cluster.
    struct Cluster {
      std::string name;
      std::vector<std::uint32_t> nodes = {};
      std::vector<std::size_t> inner = {};
    };
    std::vector<Cluster> clusters{{}};
    std::map<std::vector<std::string>, std::size_t> known{{{}, 0}};
    for (std::uint32_t i = 0; i < view_.nodes.size(); ++i) {
      std::vector<std::string> path;
      std::size_t at = 0;
      for (std::string& name : clusters_of(view_.nodes[i])) {
        path.push_back(name);
        const auto [found, is_new] = known.emplace(path, clusters.size());
        if (is_new) {
          clusters.push_back({.name = std::move(name)});
          clusters[at].inner.push_back(found->second);
        }
        at = found->second;
      }
      clusters[at].nodes.push_back(i);
    }
    const auto put_cluster = [&](const auto& self, std::size_t at, int depth) -> void {
      if (depth > 0) {
        constexpr std::array<std::string_view, 3> kShades{"#f7f7f7", "#efefef", "#e6e6e6"};
        put("{:{}}subgraph cluster_{} {{\n", "", 2 * depth, at);
        put("{:{}}label={}; labeljust=l; fontsize=12; style=\"rounded,filled\"; color=\"#9a9a9a\"; "
            "fillcolor=\"{}\";\n",
            "", 2 * depth + 2, dot_string(shorten_middle(visible_text(clusters[at].name), 60)),
            kShades[static_cast<std::size_t>(std::min(depth - 1, 2))]);
      }
      for (const std::uint32_t node : clusters[at].nodes) put_node(node, 2 * depth + 2);
      for (const std::size_t inner : clusters[at].inner) self(self, inner, depth + 1);
      if (depth > 0) put("{:{}}}}\n", "", 2 * depth);
    };
    put_cluster(put_cluster, 0, 0);
  }

  void put_node(std::uint32_t i, int indent) {
    const GraphNode& node = view_.nodes[i];
    const bool communicates = node.kind == GraphNodeKind::kCommunication;
    const Paint& paint = paint_of(node.kind);
    const NodeLabel label = label_of(node);
    std::string text = label.title;
    for (const std::string* line : {&label.place, &label.figures})
      if (!line->empty()) text += "\n" + *line;
    put("{:{}}n{} [label={}, fillcolor=\"{}\", color=\"{}\", fontcolor=\"{}\"", "", indent, i,
        dot_string(text), paint.fill,
        node.is_box && node.communications > 0 ? kCommunicationPaint.line : paint.line, paint.text);
    if (node.kind == GraphNodeKind::kTensor)
      put(", shape=ellipse, style=filled, margin=\"0.02,0.01\", fontsize=9");
    if (communicates) put(", shape=hexagon, style=filled, penwidth=1.6, margin=\"0.0,0.02\"");
    if (node.is_box) put(", peripheries=2");
    put(", tooltip={}];\n", dot_string(shorten_middle(visible_text(node.name), 200)));
  }

  void put_edge(const GraphEdge& edge) {
    const GraphNode& from = view_.nodes[edge.from];
    const GraphNode& to = view_.nodes[edge.to];
    const bool red = edge.kind == GraphEdgeKind::kCommunication ||
                     from.kind == GraphNodeKind::kCommunication || to.kind == GraphNodeKind::kCommunication;
    put("  n{} -> n{}", edge.from, edge.to);
    std::vector<std::string> attributes;
    if (red) attributes.push_back(format("color=\"{}\"", kRedEdge));
    if (edge.kind == GraphEdgeKind::kControl)
      attributes.push_back("style=dashed, penwidth=0.6, constraint=false");
    if (edge.kind == GraphEdgeKind::kCommunication) {
      const bool message = from.what == "send" || to.what == "receive";
      attributes.push_back("penwidth=2.0");
      if (!message) attributes.push_back("dir=both, constraint=false");
    }
    if (!attributes.empty()) put(" [{}]", fmt::join(attributes, ", "));
    put(";\n");
  }

  const GraphView& view_;
  const DotOptions& options_;
  std::set<std::string> drawn_layers_;
  std::string out_;
};

}  // namespace

std::string to_dot(const GraphView& view, const DotOptions& options) {
  return DotText(view, options).write();
}

}  // namespace nadi::inline show
