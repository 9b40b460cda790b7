#include "nadi/draw/graph_page.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/shorten.h"
#include "nadi/base/units.h"
#include "nadi/draw/graph_boxes.h"
#include "nadi/draw/html_page.h"
#include "nadi/draw/varint_block.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kLongestText = 300;

// Each text once, by number.
class PageTexts {
 public:
  std::uint32_t number(std::string_view text) {
    const auto [found, is_new] =
        numbers_.try_emplace(shorten_middle(text, kLongestText), static_cast<std::uint32_t>(order_.size()));
    if (is_new) order_.push_back(&found->first);
    return found->second;
  }

  void write(HtmlPage& page) const {
    VarintBlock block(page, "texts");
    block.write(order_.size());
    for (const std::string* text : order_) {
      block.write(text->size());
      block.write_bytes(*text);
    }
  }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<const std::string*> order_;
};

std::string counts_text(const GraphView& view) {
  const auto number = [](std::uint64_t count) { return with_thousands(static_cast<std::int64_t>(count)); };
  std::string text =
      format("{} operations, {} communications, {} tensors, {} edges", number(view.count(GraphNodeKind::kOp)),
             number(view.count(GraphNodeKind::kCommunication)), number(view.count(GraphNodeKind::kTensor)),
             number(view.edges.size()));
  if (view.without_tensors > 0)
    text += format("; the trace lists no tensors of {} operations", number(view.without_tensors));
  return text;
}

}  // namespace

void write_graph_page(const GraphView& view, const std::filesystem::path& path, Overwrite overwrite) {
  HtmlPage page(path, overwrite, graph_bundle(), view.title);
  const Json head{{"title", view.title},
                  {"subtitle", counts_text(view)},
                  {"nodes", view.nodes.size()},
                  {"edges", view.edges.size()},
                  {"ranks", view.ranks.size()}};
  page.head(head.dump(-1, ' ', false, Json::error_handler_t::replace));
  PageTexts texts;
  const GraphBoxes boxes = boxes_of(view);
  {
    VarintBlock block(page, "boxes");
    block.write(boxes.all.size());
    for (const GraphBox& box : boxes.all) {
      block.write(texts.number(box.title));
      block.write(box.parent == kNoBox ? 0 : box.parent + 1);
      block.write(box.is_layer ? 1 : 0);
    }
  }
  {
    // Figures are one more than they are; 0 is not known.
    const auto figure = [](const std::optional<std::int64_t>& value) {
      return value && *value >= 0 ? static_cast<std::uint64_t>(*value) + 1 : 0;
    };
    VarintBlock block(page, "nodes");
    block.write(view.nodes.size());
    for (std::size_t i = 0; i < view.nodes.size(); ++i) {
      const GraphNode& node = view.nodes[i];
      block.write(static_cast<std::uint64_t>(node.kind));
      block.write(boxes.of_node[i] == kNoBox ? 0 : boxes.of_node[i] + 1);
      for (const std::string* text : {&node.name, &node.what, &node.layer, &node.part, &node.shape})
        block.write(texts.number(*text));
      block.write_signed(node.rank);
      block.write_signed(node.pass);
      block.write(figure(node.bytes));
      block.write(figure(node.flops));
      block.write(figure(node.duration_ns));
    }
  }
  {
    VarintBlock block(page, "edges");
    block.write(view.edges.size());
    std::int64_t before = 0;
    for (const GraphEdge& edge : view.edges) {
      block.write_signed(static_cast<std::int64_t>(edge.from) - before);
      block.write_signed(static_cast<std::int64_t>(edge.to) - static_cast<std::int64_t>(edge.from));
      block.write(static_cast<std::uint64_t>(edge.kind));
      before = edge.from;
    }
  }
  texts.write(page);
  page.commit();
}

}  // namespace nadi::inline show
