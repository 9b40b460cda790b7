#include "nadi/draw/graph_boxes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "nadi/base/format.h"
#include "nadi/draw/layer_name.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kFew = 150;    // nodes without a layer that need no box
constexpr std::size_t kInABox = 60;  // else so many have one

class BoxTree {
 public:
  explicit BoxTree(const GraphView& view) : view_(view) {
    std::set<std::pair<std::string, std::int64_t>> passes;
    for (const GraphNode& node : view.nodes) {
      passes.emplace(node.part, node.pass);
      if (node.layer.empty()) ++without_layer_;
      if (node.pass > 0) repeated_.insert(node.part);
    }
    several_passes_ = passes.size() > 1;
  }

  GraphBoxes make() {
    boxes_.of_node.assign(view_.nodes.size(), kNoBox);
    for (std::uint32_t i = 0; i < view_.nodes.size(); ++i)
      if (view_.nodes[i].kind != GraphNodeKind::kTensor) boxes_.of_node[i] = box_of(view_.nodes[i]);
    // A tensor is where it is written, or else where it is first read.
    std::vector<bool> placed(view_.nodes.size(), false);
    const auto place = [&](std::uint32_t tensor, std::uint32_t by) {
      if (view_.nodes[tensor].kind != GraphNodeKind::kTensor ||
          view_.nodes[by].kind == GraphNodeKind::kTensor || placed[tensor])
        return;
      placed[tensor] = true;
      boxes_.of_node[tensor] = boxes_.of_node[by];
    };
    for (const GraphEdge& edge : view_.edges) place(edge.to, edge.from);
    for (const GraphEdge& edge : view_.edges) place(edge.from, edge.to);
    for (std::uint32_t i = 0; i < view_.nodes.size(); ++i)
      if (view_.nodes[i].kind == GraphNodeKind::kTensor && !placed[i])
        boxes_.of_node[i] = box_of(view_.nodes[i]);
    return std::move(boxes_);
  }

 private:
  std::uint32_t box_of(const GraphNode& node) {
    std::uint32_t at = kNoBox;
    if (view_.ranks.size() > 1) at = inside(at, format("rank {}", node.rank));
    if (several_passes_ && !node.part.empty())
      at = inside(at, repeated_.contains(node.part) ? format("{} {}", node.part, node.pass) : node.part);
    if (!node.layer.empty()) {
      // What is before the numbered layers and what is behind them are two boxes, whatever they are called.
      const bool numbered = layer_number(node.layer).has_value();
      if (numbered) has_layers_.insert(at);
      const std::string box = layer_box(node.layer);
      at = inside(at, box, !numbered && has_layers_.contains(at) ? 1 : 0);
      boxes_.all[at].is_layer = true;
      return is_module_path(node.layer) ? inside_modules(at, std::string_view(node.layer).substr(box.size()))
                                        : at;
    }
    if (without_layer_ <= kFew) return at;
    const std::size_t place = loose_[at]++;
    const std::size_t most = kInABox * kInABox;
    if (without_layer_ > most)
      at = inside(at, format("nodes {}–{}", place / most * most, place / most * most + most - 1));
    return inside(at,
                  format("nodes {}–{}", place / kInABox * kInABox, place / kInABox * kInABox + kInABox - 1));
  }

  // Modules of a profile within its layers: ".BertAttention_11.LayerNorm_24".
  std::uint32_t inside_modules(std::uint32_t at, std::string_view modules) {
    while (!modules.empty()) {
      modules.remove_prefix(1);
      const std::size_t end = std::min(modules.find('.'), modules.size());
      at = inside(at, std::string(modules.substr(0, end)));
      modules.remove_prefix(end);
    }
    return at;
  }

  std::uint32_t inside(std::uint32_t parent, std::string title, int which = 0) {
    auto& children = children_[parent];
    const auto [found, is_new] =
        children.try_emplace({std::move(title), which}, static_cast<std::uint32_t>(boxes_.all.size()));
    if (is_new) boxes_.all.push_back({.title = found->first.first, .parent = parent});
    return found->second;
  }

  const GraphView& view_;
  GraphBoxes boxes_;
  std::unordered_map<std::uint32_t, std::map<std::pair<std::string, int>, std::uint32_t>> children_;
  std::map<std::uint32_t, std::size_t> loose_;  // by box around: nodes without a layer so far
  std::set<std::uint32_t> has_layers_;          // boxes with a numbered layer so far
  std::set<std::string> repeated_;              // parts that have several passes
  bool several_passes_ = false;
  std::size_t without_layer_ = 0;
};

}  // namespace

GraphBoxes boxes_of(const GraphView& view) {
  return BoxTree(view).make();
}

}  // namespace nadi::inline show
