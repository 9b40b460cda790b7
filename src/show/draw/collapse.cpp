#include "nadi/draw/collapse.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/draw/layer_name.h"

namespace nadi::inline show {
namespace {

constexpr std::uint32_t kNobodys = std::numeric_limits<std::uint32_t>::max();

// The box of each node: a key, the same for all nodes of a box, and what it is called. An empty key: none.
struct BoxPlan {
  std::vector<std::string> keys;
  std::map<std::string, std::string> titles = {};
};

bool is_tensor(const GraphNode& node) {
  return node.kind == GraphNodeKind::kTensor;
}

// "forward", "backward" and "prefill" are said once, by the cluster around.
std::string key_around(const GraphNode& node) {
  return format("{}\x01{}\x01{}\x01", node.rank, node.part, node.pass);
}

BoxPlan plan_by_name(const GraphView& view, bool blocks) {
  BoxPlan plan{.keys = std::vector<std::string>(view.nodes.size())};
  for (std::size_t i = 0; i < view.nodes.size(); ++i) {
    const GraphNode& node = view.nodes[i];
    if (is_tensor(node) || node.layer.empty()) continue;
    // A message between stages stays what it is.
    if (node.kind == GraphNodeKind::kCommunication && !layer_number(node.layer) && node.what != "all_reduce")
      continue;
    const std::string box = blocks ? block_box(node.layer) : layer_box(node.layer);
    plan.keys[i] = key_around(node) + box;
    plan.titles[plan.keys[i]] = box;
  }
  return plan;
}

// Nodes without layers: runs of neighbours, in the order of the trace.
BoxPlan plan_by_place(const GraphView& view) {
  constexpr std::size_t kBoxes = 24;
  BoxPlan plan{.keys = std::vector<std::string>(view.nodes.size())};
  std::map<std::int64_t, std::size_t> ops, seen;
  for (const GraphNode& node : view.nodes)
    if (!is_tensor(node)) ++ops[node.rank];
  std::map<std::string, std::pair<std::size_t, std::size_t>> spans;
  for (std::size_t i = 0; i < view.nodes.size(); ++i) {
    const GraphNode& node = view.nodes[i];
    if (is_tensor(node)) continue;
    const std::size_t place = seen[node.rank]++;
    const std::size_t length = std::max<std::size_t>(1, (ops[node.rank] + kBoxes - 1) / kBoxes);
    plan.keys[i] = format("{}\x01{:06}", node.rank, place / length);
    auto& span = spans.try_emplace(plan.keys[i], place, place).first->second;
    span.second = place;
  }
  for (const auto& [key, span] : spans) plan.titles[key] = format("nodes {}–{}", span.first, span.second);
  return plan;
}

// Names in the order in which they came, each once.
class NameList {
 public:
  void add(std::string name) {
    if (std::ranges::find(names_, name) == names_.end() && names_.size() <= kShown)
      names_.push_back(std::move(name));
  }
  std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < std::min(names_.size(), kShown); ++i)
      text += (i == 0 ? "" : ", ") + names_[i];
    return names_.size() > kShown ? text + ", …" : text;
  }

 private:
  static constexpr std::size_t kShown = 3;
  std::vector<std::string> names_;
};

// What a box outside numbered layers is called: the last part of its name.
std::string short_box(const GraphNode& node) {
  if (node.layer.empty()) return node.what.empty() ? node.name : node.what;
  const std::string box = layer_box(node.layer);
  if (const auto number = layer_number(box)) return format("layer {}", *number);
  return box.substr(box.rfind('.') + 1);
}

class Outline {
 public:
  explicit Outline(const GraphView& view) : view_(view) {
    for (std::uint32_t i = 0; i < view.nodes.size(); ++i) look_at(i);
  }

  BoxPlan plan() {
    if (first_layer_.empty()) return plan_by_place(view_);
    BoxPlan plan{.keys = std::vector<std::string>(view_.nodes.size())};
    std::map<std::string, NameList> names;
    std::map<std::string, std::set<std::int64_t>> numbers;
    for (std::uint32_t i = 0; i < view_.nodes.size(); ++i) {
      const GraphNode& node = view_.nodes[i];
      if (is_tensor(node)) continue;
      const std::string around = key_around(node);
      const auto number = layer_number(node.layer);
      if (number && stays(node, *number)) continue;
      if (!number && node.kind == GraphNodeKind::kCommunication &&
          (node.what == "send" || node.what == "receive"))
        continue;
      const Span& span = spans_[around];
      const char* place = number || (i > span.first && i < span.last) ? "b" : i < span.first ? "a" : "c";
      plan.keys[i] = around + place;
      if (number)
        numbers[plan.keys[i]].insert(*number);
      else
        names[plan.keys[i]].add(short_box(node));
    }
    for (const std::string& key : plan.keys) {
      if (key.empty() || plan.titles.contains(key)) continue;
      const std::set<std::int64_t>& of = numbers[key];
      plan.titles[key] = of.empty()       ? names[key].text()
                         : of.size() == 1 ? format("layer {}", *of.begin())
                                          : format("layers {}–{}", *of.begin(), *of.rbegin());
    }
    return plan;
  }

 private:
  struct Span {
    std::uint32_t first = kNobodys, last = 0;  // nodes of numbered layers
  };

  void look_at(std::uint32_t i) {
    const GraphNode& node = view_.nodes[i];
    if (is_tensor(node)) return;
    const auto number = layer_number(node.layer);
    if (!number) return;
    Span& span = spans_[key_around(node)];
    span.first = std::min(span.first, i);
    span.last = std::max(span.last, i);
    // The first part of the step that has layers, on each rank.
    first_layer_.try_emplace(node.rank, std::pair(node.part, *number));
  }

  bool stays(const GraphNode& node, std::int64_t number) const {
    const auto first = first_layer_.find(node.rank);
    return first != first_layer_.end() && node.pass == 0 && node.rank == view_.ranks[0] &&
           first->second == std::pair(node.part, number);
  }

  const GraphView& view_;
  std::map<std::string, Span> spans_;
  std::map<std::int64_t, std::pair<std::string, std::int64_t>> first_layer_;
};

// With `outline`, all but the first numbered layer of a part are one box, communication included.
BoxPlan plan_between_communications(const GraphView& view, bool outline) {
  BoxPlan plan{.keys = std::vector<std::string>(view.nodes.size())};
  std::map<std::int64_t, std::size_t> segment;
  std::map<std::string, NameList> names;
  std::map<std::string, std::set<std::int64_t>> others;  // layers in one box
  std::map<std::string, std::int64_t> first_layer;       // by part of the step
  for (std::size_t i = 0; i < view.nodes.size(); ++i) {
    const GraphNode& node = view.nodes[i];
    if (is_tensor(node)) continue;
    const std::string around = key_around(node);
    if (const auto number = layer_number(node.layer);
        outline && number && first_layer.try_emplace(around, *number).first->second != *number) {
      plan.keys[i] = around + "layers";
      others[plan.keys[i]].insert(*number);
      ++segment[node.rank];  // what comes behind is another box than what comes before
      continue;
    }
    if (node.kind == GraphNodeKind::kCommunication) {
      ++segment[node.rank];
      continue;
    }
    plan.keys[i] = format("{}{:06}", around, segment[node.rank]);
    names[plan.keys[i]].add(short_box(node));
  }
  for (const auto& [key, list] : names) plan.titles[key] = list.text();
  for (const auto& [key, numbers] : others)
    plan.titles[key] = numbers.size() == 1 ? format("layer {}", *numbers.begin())
                                           : format("layers {}–{}", *numbers.begin(), *numbers.rbegin());
  return plan;
}

class Collapsing {
 public:
  Collapsing(GraphView view, const BoxPlan& plan)
      : view_(std::move(view)), box_of_(view_.nodes.size(), kNobodys) {
    result_.title = std::move(view_.title);
    result_.facts = std::move(view_.facts);
    result_.ranks = view_.ranks;
    result_.without_tensors = view_.without_tensors;
    put_ops(plan);
    put_tensors();
    put_edges();
  }

  GraphView take() { return std::move(result_); }

 private:
  void put_ops(const BoxPlan& plan) {
    std::unordered_map<std::string, std::uint32_t> boxes;
    for (std::uint32_t i = 0; i < view_.nodes.size(); ++i) {
      GraphNode& node = view_.nodes[i];
      if (is_tensor(node)) continue;
      const std::string& key = plan.keys[i];
      if (key.empty()) {
        box_of_[i] = add(std::move(node));
        continue;
      }
      const auto [place, is_new] = boxes.emplace(key, static_cast<std::uint32_t>(result_.nodes.size()));
      if (is_new) {
        GraphNode box;
        box.kind = GraphNodeKind::kOp;
        box.is_box = true;
        box.name = plan.titles.at(key);
        box.layer = layer_box(node.layer);
        box.part = node.part;
        box.pass = node.pass;
        box.rank = node.rank;
        box.id = format("box:{}:{}:{}:{}", node.rank, node.part, node.pass, box.name);
        add(std::move(box));
      }
      box_of_[i] = place->second;
      GraphNode& box = result_.nodes[place->second];
      if (node.kind == GraphNodeKind::kCommunication) {
        ++box.communications;
        box.communicated_bytes = add_known(box.communicated_bytes, node.bytes);
        if (box.what.empty())
          box.what = node.what;
        else if (box.what != node.what)
          box.what = "communications";
      } else {
        ++box.ops;
        box.flops = add_known(box.flops, node.flops);
        box.bytes = add_known(box.bytes, node.bytes);
      }
      box.duration_ns = add_known(box.duration_ns, node.duration_ns);
    }
  }

  std::uint32_t add(GraphNode node) {
    result_.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(result_.nodes.size() - 1);
  }

  bool is_box(std::uint32_t place) const { return place != kNobodys && result_.nodes[place].is_box; }

  void put_tensors() {
    std::vector<std::uint32_t> writer(view_.nodes.size(), kNobodys);
    std::vector<std::vector<std::uint32_t>> readers(view_.nodes.size());
    for (const GraphEdge& edge : view_.edges) {
      if (is_tensor(view_.nodes[edge.to]) && !is_tensor(view_.nodes[edge.from]))
        writer[edge.to] = box_of_[edge.from];
      if (is_tensor(view_.nodes[edge.from]) && !is_tensor(view_.nodes[edge.to]))
        readers[edge.from].push_back(box_of_[edge.to]);
    }
    std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::uint32_t> bundles;
    for (std::uint32_t i = 0; i < view_.nodes.size(); ++i) {
      GraphNode& node = view_.nodes[i];
      if (!is_tensor(node)) continue;
      std::vector<std::uint32_t>& read = readers[i];
      std::ranges::sort(read);
      read.erase(std::unique(read.begin(), read.end()), read.end());
      if (writer[i] == kNobodys) {
        put_outside(i, read);
        continue;
      }
      if (is_box(writer[i]) && (read.empty() || (read.size() == 1 && read[0] == writer[i]))) {
        box_of_[i] = writer[i];
        ++result_.nodes[writer[i]].tensors;
        continue;
      }
      if (!is_box(writer[i]) && std::ranges::none_of(read, [&](std::uint32_t at) { return is_box(at); })) {
        box_of_[i] = add(std::move(node));
        continue;
      }
      const auto [bundle, is_new] = bundles.emplace(std::pair(writer[i], read), kNobodys);
      if (is_new) {
        bundle->second = add(std::move(node));
        box_of_[i] = bundle->second;
        result_.nodes[bundle->second].tensors = 1;
        continue;
      }
      box_of_[i] = bundle->second;
      GraphNode& all = result_.nodes[bundle->second];
      if (!all.is_box) {
        all.is_box = true;
        all.id = format("box:{}", all.id.is_string() ? all.id.get<std::string>() : all.id.dump());
        all.members.clear();
      }
      ++all.tensors;
      all.name = format("{} tensors", all.tensors);
      all.shape.clear();
      all.what.clear();
      all.bytes = add_known(all.bytes, node.bytes);
    }
  }

  // An input or a parameter is drawn for those of its readers that are in no box.
  void put_outside(std::uint32_t tensor, const std::vector<std::uint32_t>& read) {
    if (!read.empty() && std::ranges::all_of(read, [&](std::uint32_t at) { return is_box(at); })) {
      ++result_.nodes[read[0]].tensors;
      return;
    }
    box_of_[tensor] = add(std::move(view_.nodes[tensor]));
    outside_.insert(box_of_[tensor]);
  }

  void put_edges() {
    std::map<std::tuple<std::uint32_t, std::uint32_t, GraphEdgeKind>, bool> known;
    for (GraphEdge& edge : view_.edges) {
      const std::uint32_t from = box_of_[edge.from];
      const std::uint32_t to = box_of_[edge.to];
      if (from == kNobodys || to == kNobodys || from == to) continue;
      const bool between_boxes = is_box(from) || is_box(to);
      if (between_boxes && (edge.kind == GraphEdgeKind::kControl || outside_.contains(from))) continue;
      if (between_boxes && !known.emplace(std::tuple(from, to, edge.kind), true).second) continue;
      // A bundle of tensors is read and written by boxes, never by itself.
      result_.edges.push_back(
          {.from = from, .to = to, .kind = edge.kind, .members = std::move(edge.members)});
    }
  }

  GraphView view_;
  GraphView result_;
  std::vector<std::uint32_t> box_of_;  // by old position: the new one
  std::set<std::uint32_t> outside_;    // new positions of tensors that nobody writes
};

// Without the edges within a rank that a longer way explains, and those of order alone: what is left of a
// rank is mostly a line. Nodes come in the order of the trace, so ways go forward.
GraphView without_detours(GraphView view) {
  constexpr std::size_t kMostNodes = 8192;  // a bit for each pair
  std::erase_if(view.edges, [](const GraphEdge& edge) { return edge.kind == GraphEdgeKind::kControl; });
  const std::size_t n = view.nodes.size();
  if (n > kMostNodes) return view;
  std::vector<std::vector<std::uint32_t>> next(n);
  for (const GraphEdge& edge : view.edges)
    if (edge.kind == GraphEdgeKind::kData && edge.from < edge.to) next[edge.from].push_back(edge.to);
  std::vector<std::vector<bool>> reaches(n, std::vector<bool>(n, false));
  std::set<std::pair<std::uint32_t, std::uint32_t>> needed;
  for (std::size_t i = n; i-- > 0;) {
    std::ranges::sort(next[i]);
    for (const std::uint32_t to : next[i]) {
      if (reaches[i][to]) continue;
      needed.emplace(i, to);
      reaches[i][to] = true;
      for (std::size_t k = to + 1; k < n; ++k)
        if (reaches[to][k]) reaches[i][k] = true;
    }
  }
  std::erase_if(view.edges, [&](const GraphEdge& edge) {
    return edge.kind == GraphEdgeKind::kData && edge.from < edge.to && !needed.contains({edge.from, edge.to});
  });
  return view;
}

}  // namespace

GraphView collapsed(GraphView view, CollapseTo to) {
  BoxPlan plan;
  switch (to) {
    case CollapseTo::kBlock:
      plan = plan_by_name(view, true);
      break;
    case CollapseTo::kLayer:
      plan = plan_by_name(view, false);
      break;
    case CollapseTo::kOutline:
      plan = Outline(view).plan();
      break;
    case CollapseTo::kCommunication:
    case CollapseTo::kCommunicationOutline:
      plan = plan_between_communications(view, to == CollapseTo::kCommunicationOutline);
      return without_detours(without_tensors(Collapsing(std::move(view), plan).take()));
  }
  if (to != CollapseTo::kOutline && plan.titles.empty()) plan = plan_by_place(view);
  return Collapsing(std::move(view), plan).take();
}

GraphView kept_layers(GraphView view, const NumberRanges& layers) {
  std::vector<bool> keep(view.nodes.size(), false);
  for (std::size_t i = 0; i < view.nodes.size(); ++i) {
    const auto number = layer_number(view.nodes[i].layer);
    keep[i] = !is_tensor(view.nodes[i]) && number && layers.contains(*number);
  }
  std::vector<std::uint32_t> tensors;
  for (const GraphEdge& edge : view.edges) {
    if (keep[edge.to] && is_tensor(view.nodes[edge.from])) tensors.push_back(edge.from);
    if (keep[edge.from] && is_tensor(view.nodes[edge.to])) tensors.push_back(edge.to);
  }
  for (const std::uint32_t tensor : tensors) keep[tensor] = true;
  return kept(std::move(view), keep);
}

std::set<std::int64_t> layers_of(const GraphView& view) {
  std::set<std::int64_t> layers;
  for (const GraphNode& node : view.nodes)
    if (const auto number = is_tensor(node) ? std::nullopt : layer_number(node.layer)) layers.insert(*number);
  return layers;
}

GraphView first_passes(GraphView view) {
  std::vector<bool> keep(view.nodes.size());
  for (std::size_t i = 0; i < view.nodes.size(); ++i) keep[i] = view.nodes[i].pass == 0;
  return kept(std::move(view), keep);
}

GraphView without_tensors(GraphView view) {
  std::vector<std::uint32_t> writer(view.nodes.size(), kNobodys);
  std::vector<bool> keep(view.nodes.size());
  for (const GraphEdge& edge : view.edges)
    if (is_tensor(view.nodes[edge.to]) && !is_tensor(view.nodes[edge.from])) writer[edge.to] = edge.from;
  std::set<std::pair<std::uint32_t, std::uint32_t>> known;
  for (const GraphEdge& edge : view.edges)
    if (edge.kind == GraphEdgeKind::kData) known.emplace(edge.from, edge.to);
  std::vector<GraphEdge> direct;
  for (const GraphEdge& edge : view.edges) {
    if (!is_tensor(view.nodes[edge.from]) || is_tensor(view.nodes[edge.to])) continue;
    const std::uint32_t from = writer[edge.from];
    if (from == kNobodys || from == edge.to || !known.emplace(from, edge.to).second) continue;
    direct.push_back({.from = from, .to = edge.to, .kind = GraphEdgeKind::kData});
  }
  std::ranges::move(direct, std::back_inserter(view.edges));
  for (std::size_t i = 0; i < view.nodes.size(); ++i) keep[i] = !is_tensor(view.nodes[i]);
  return kept(std::move(view), keep);
}

GraphView without_unread(GraphView view) {
  std::vector<std::uint32_t> writer(view.nodes.size(), kNobodys);
  std::vector<bool> read(view.nodes.size(), false), has_read_output(view.nodes.size(), false);
  for (const GraphEdge& edge : view.edges) {
    if (is_tensor(view.nodes[edge.to])) writer[edge.to] = edge.from;
    read[edge.from] = true;
  }
  for (std::size_t i = 0; i < view.nodes.size(); ++i)
    if (is_tensor(view.nodes[i]) && read[i] && writer[i] != kNobodys) has_read_output[writer[i]] = true;
  std::vector<bool> keep(view.nodes.size(), true);
  for (std::size_t i = 0; i < view.nodes.size(); ++i)
    if (is_tensor(view.nodes[i]) && !read[i] && writer[i] != kNobodys) keep[i] = !has_read_output[writer[i]];
  return kept(std::move(view), keep);
}

}  // namespace nadi::inline show
