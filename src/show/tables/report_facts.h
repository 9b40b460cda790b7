// Single figures of a report, defined once: for people as labelled lines, for programs as the members of a
// JSON object.
//
//   const std::vector<ReportFact> facts{
//       {{"file", "file", CellKind::kText}, summary.file},
//       {{"bytes", "size", CellKind::kBytes}, std::int64_t{1'500'000}},
//       {{"nodes", "", CellKind::kCount, Shown::kToPrograms}, std::int64_t{12}}};
//   out << facts_text(facts, 10);          // size      1.50 MB
//   Json root = facts_json(facts);         // {"file": "run.0.et", "bytes": 1500000, "nodes": 12}
//   root["tables"] = table_json(table);
//
// Figures are named as columns of a table are (report_table.h).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/tables/report_table.h"

namespace nadi::inline show {

struct ReportFact {
  ReportColumn name;  // an empty key: for people only
  ReportCell value = {};
  // For people, in place of the value. A line may break between two texts, never within one.
  std::vector<std::string> words = {};
};

// The facts that have a key, in their order.
Json facts_json(std::span<const ReportFact> facts);

// "title     value" for each fact that people see; values start at `column`. A fact without value and words
// is left out, as are zeros of Shown::kUnlessZero and all facts of Shown::kToPrograms.
std::string facts_text(std::span<const ReportFact> facts, std::size_t column, std::size_t width = 100);

}  // namespace nadi::inline show
