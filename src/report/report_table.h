// A table of figures, written once and printed three ways: aligned with units for people, as CSV and as JSON
// for programs (numbers without units there; the unit is in the column's key).
//
//   ReportTable table{.name = "steps", .title = "Steps", .columns = {
//       {"rank", "rank", CellKind::kCount}, {"span_ns", "span", CellKind::kTime}}};
//   table.rows.push_back({std::int64_t{0}, std::int64_t{1'500'000}});
//   console.out << table_text(table, {.rows = 10});           //    0  1.50 ms
//   console.out << table_csv(table);                          // 0,1500000
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "nadi/base/json.h"

namespace nadi {

enum class CellKind {
  kText,
  kKernel,  // a text: the name of an op or kernel, for people without what all kernels' names share
  kCount,
  kNumber,  // two decimals
  kTime,    // nanoseconds
  kBytes,
  kFlops,
  kByteRate,   // bytes per second
  kFlopRate,   // FLOP per second
  kShare,      // 0.25 is 25%
  kChange,     // a share with its sign: +25%
  kTimeChange  // nanoseconds with their sign
};

// Nothing where there is no figure: "-", an empty field, null.
using ReportCell = std::variant<std::monostate, std::string, std::int64_t, double>;

// Whether people see the column. One without any figure they never do.
enum class Shown {
  kAlways,
  kUnlessZero,  // not where all of its figures are zero
  kIfRoom,      // the same, and only where the table is not too wide with it
  kToPrograms,
};

struct ReportColumn {
  std::string key;
  std::string title;
  CellKind kind = CellKind::kCount;
  Shown shown = Shown::kAlways;
  std::string absent = "-";  // for people, where there is no figure
};

struct ReportTable {
  std::string name;       // as --table takes it
  std::string title;      // for people
  std::string note = {};  // for people, below the title; "" for none
  std::vector<ReportColumn> columns = {};
  std::vector<std::vector<ReportCell>> rows = {};  // a cell for each column
};

std::vector<std::string> names_of(const std::vector<ReportTable>& tables);

struct TableTextOptions {
  std::size_t rows = 10;  // that are shown; 0: all
  bool bold_titles = false;
  std::size_t width = 100;  // in characters
};
// Within the width where that can be had by leaving out columns that are shown if there is room, from the
// right (those without a title belong to the figure before them, and go together), and by shortening texts,
// which stay distinct.
std::string table_text(const ReportTable& table, const TableTextOptions& options);
std::string table_csv(
    const ReportTable& table);              // with a line of keys; fields quoted where RFC 4180 wants it
Json table_json(const ReportTable& table);  // a list of objects

}  // namespace nadi
