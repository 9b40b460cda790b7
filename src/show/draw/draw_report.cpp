#include "nadi/draw/draw_report.h"

#include <ostream>

#include "nadi/base/format.h"
#include "nadi/base/version.h"

namespace nadi::inline show {
namespace {

std::string number(std::uint64_t count) {
  return with_thousands(static_cast<std::int64_t>(count));
}

}  // namespace

Json draw_json(const DrawSummary& summary) {
  Json files = Json::array();
  for (const std::filesystem::path& file : summary.files) files.push_back(file.string());
  return {{"nadi_version", version()},
          {"files", files},
          {"ranks", summary.ranks},
          {"operations", summary.ops},
          {"communications", summary.communications},
          {"tensors", summary.tensors},
          {"edges", summary.edges},
          {"drawn_nodes", summary.drawn_nodes},
          {"drawn_edges", summary.drawn_edges},
          {"outlined", summary.outlined},
          {"passes_left_out", summary.passes_left_out},
          {"without_tensors", summary.without_tensors}};
}

void print_drawn(const DrawSummary& summary, std::ostream& out) {
  for (const std::filesystem::path& file : summary.files) out << file.string() << ": ";
  out << format("{} nodes, {} edges\n", number(summary.drawn_nodes), number(summary.drawn_edges));
}

std::vector<std::string> draw_notes(const DrawSummary& summary) {
  std::vector<std::string> notes;
  if (summary.passes_left_out > 0)
    notes.push_back(
        format("{} more passes (micro-batches, decode steps) do the same and are not drawn: --passes all",
               number(summary.passes_left_out)));
  if (summary.outlined)
    notes.push_back(
        format("{} operations and {} tensors are too many to read, so all but the first layer are boxes: "
               "--layers 0-1 draws "
               "layers in full, --collapse layer a box for each, --collapse none everything",
               number(summary.ops + summary.communications), number(summary.tensors)));
  if (summary.without_tensors > 0)
    notes.push_back(format("the trace lists no tensors of {} of its {} operations: their edges are direct",
                           number(summary.without_tensors), number(summary.ops + summary.communications)));
  return notes;
}

}  // namespace nadi::inline show
