#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>

#include "nadi/base/format.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/draw/dot_writer.h"
#include "nadi/draw/drawn_text.h"
#include "nadi/draw/graph_for_tests.h"
#include "nadi/draw/graph_from_node_link.h"
#include "nadi/draw/graph_from_trace.h"
#include "nadi/draw/graphml_writer.h"
#include "nadi/draw/node_link_output.h"
#include "nadi/testing/source_folder.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using testing::Not;

GraphView small_view() {
  GraphMaker maker({.members = true});
  maker.add(small_trace(), 0);
  return maker.finish();
}

std::string node_link_of(const GraphView& view, std::string_view key = "edges") {
  std::string text;
  write_graph_node_link(view, key, [&](std::string_view part) { text += part; });
  return text;
}

std::string graphml_of(const GraphView& view) {
  std::string text;
  write_graphml(view, [&](std::string_view part) { text += part; });
  return text;
}

TEST(DrawnText, ShowsWhatIsNotSeen) {
  EXPECT_EQ(visible_text("a\nb\x1b[0m\xff"), "a\\nb\\x1b[0m\\xff");
  EXPECT_EQ(visible_text("\u202eabc \u05d0 \u00e9"), "\\xe2\\x80\\xaeabc \u05d0 \u00e9");
}

TEST(DotWriter, HasColoursShapesAndClusters) {
  const std::string text = to_dot(small_view());
  EXPECT_THAT(text, HasSubstr("label=\"m.h.0\""));
  EXPECT_THAT(text, HasSubstr("label=\"m.h.1\""));
  EXPECT_THAT(text, HasSubstr("tooltip=\"m.h.0.fc.all_reduce\""));
  EXPECT_THAT(text, HasSubstr("shape=hexagon"));
  EXPECT_THAT(text, HasSubstr("shape=ellipse"));
  EXPECT_THAT(text, HasSubstr(">communication<"));  // the legend
  // y -> all_reduce -> z are red, x -> matmul is black.
  std::size_t red = 0, edges = 0;
  for (std::size_t at = text.find(" -> "); at != std::string::npos; at = text.find(" -> ", at + 1)) {
    ++edges;
    red += text.substr(at, text.find('\n', at) - at).find("#d02a1e") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(edges, 9u);
  EXPECT_EQ(red, 2u);
}

TEST(DotWriter, NamesAreNoMoreThanTexts) {
  GraphView view = small_view();
  view.title = "<B>&\"</TABLE>";
  for (GraphNode& node : view.nodes) node.name = node.layer = node.what = "\"]; evil [label=\"\\\n\\N\\\\\"";
  const std::string text = to_dot(view);
  EXPECT_THAT(text, HasSubstr("&lt;B&gt;&amp;&quot;&lt;/TABLE&gt;"));
  EXPECT_THAT(text, Not(HasSubstr("\"]; evil [label=\"")));
  EXPECT_THAT(text, HasSubstr("\\\"]; evil"));
}

TEST(NodeLinkOutput, IsReadBackAsItWas) {
  const GraphView view = small_view();
  for (const std::string_view key : {"edges", "links"}) {
    const std::string text = node_link_of(view, key);
    const GraphView read = graph_from_node_link(read_node_link(text, "g.json"));
    EXPECT_EQ(node_link_of(read, key), text);
    ASSERT_EQ(read.nodes.size(), view.nodes.size());
    for (std::size_t i = 0; i < view.nodes.size(); ++i) {
      EXPECT_EQ(read.nodes[i].kind, view.nodes[i].kind);
      EXPECT_EQ(read.nodes[i].shape, view.nodes[i].shape);
      EXPECT_EQ(read.nodes[i].bytes, view.nodes[i].bytes);
      EXPECT_EQ(read.nodes[i].layer, view.nodes[i].layer);
    }
    EXPECT_EQ(graphml_of(read), graphml_of(view));
  }
}

TEST(GraphmlWriter, DeclaresTypesAndEscapes) {
  GraphView view = small_view();
  view.nodes[0].members.emplace_back("mixed", 1);
  view.nodes[1].members.emplace_back("mixed", 1.5);
  view.nodes[2].members.emplace_back("mixed_up", "<&\x01\x1b>");
  view.nodes[0].members.emplace_back("mixed_up", 3);
  view.nodes[0].members.emplace_back("nothing", nullptr);
  view.nodes[0].members.emplace_back("list", Json::array({1, 2}));
  const std::string text = graphml_of(view);
  EXPECT_THAT(text, HasSubstr("attr.name=\"num_ops\" attr.type=\"long\""));
  EXPECT_THAT(text, HasSubstr("attr.name=\"mixed\" attr.type=\"double\""));
  EXPECT_THAT(text, HasSubstr("attr.name=\"mixed_up\" attr.type=\"string\""));
  EXPECT_THAT(text, HasSubstr("&lt;&amp;\\x01\\x1b&gt;"));
  EXPECT_THAT(text, HasSubstr(">[1,2]<"));
}

// What a Python with NetworkX makes of our files; nothing where there is none.
std::optional<Json> read_with_networkx(const std::string& python, const GraphView& view,
                                       std::string_view key) {
  const TemporaryFolder folder;
  write_text(folder / "g.graphml", graphml_of(view));
  write_text(folder / "g.json", node_link_of(view, key));
  const std::string command = format("{} '{}' '{}' '{}' 2>/dev/null", python,
                                     (source_folder() / "src/show/draw/read_with_networkx.py").string(),
                                     (folder / "g.graphml").string(), (folder / "g.json").string());
  const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(command.c_str(), "r"), &pclose);
  std::string text;
  char buffer[4096];
  for (std::size_t got; (got = fread(buffer, 1, sizeof buffer, output.get())) > 0;) text.append(buffer, got);
  if (text.empty()) return std::nullopt;
  return Json::parse(text);
}

TEST(NetworkX, LoadsBothFormatsWithTypes) {
  GraphView view = small_view();
  view.nodes[0].members.emplace_back("share", 0.25);
  view.nodes[0].members.emplace_back("good", true);
  view.nodes[0].members.emplace_back("hostile", "</data> & \x01 \"quoted\" \u202e");
  bool any = false;
  // The second is Debian's, where another one comes first.
  for (const std::string python : {"python3", "/usr/bin/python3"}) {
    for (const std::string_view key : {"edges", "links"}) {
      const std::optional<Json> read = read_with_networkx(python, view, key);
      if (!read) continue;
      any = true;
      for (const char* form : {"graphml", "node_link"}) {
        const Json& graph = (*read)[form];
        EXPECT_EQ(graph["nodes"], view.nodes.size()) << form;
        EXPECT_EQ(graph["edges"], view.edges.size()) << form;
        const Json& types = graph["types"]["0"];
        EXPECT_EQ(types["num_ops"], "int") << form;
        EXPECT_EQ(types["share"], "float") << form;
        EXPECT_EQ(types["good"], "bool") << form;
        EXPECT_EQ(types["name"], "str") << form;
        EXPECT_EQ(graph["values"]["0"]["num_ops"], 48) << form;
        EXPECT_EQ(graph["types"]["tensor:y"]["bytes"], "int") << form;
      }
      EXPECT_EQ((*read)["node_link"]["values"]["tensor:y"]["shape"], Json::array({2, 4}));
    }
  }
  if (!any) GTEST_SKIP() << "no Python with NetworkX (python3-networkx) is there";
}

}  // namespace
}  // namespace nadi::inline show
