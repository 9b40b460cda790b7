// A table of figures, defined once and printed three ways: for people as aligned text with units, for
// programs as CSV and JSON (numbers without units; the unit is in the column's key).
//
//   ReportTable table{.name = "steps", .title = "Steps", .columns = {
//       {"rank", "rank", CellKind::kCount}, {"span_ns", "span", CellKind::kTime}}};
//   table.rows.push_back({std::int64_t{0}, std::int64_t{1'500'000}});
//   out << table_text(table, {.rows = 10});                   //    0  1.50 ms
//   out << table_csv(table);                                  // 0,1500000
//   out << dump_json(table_json(table));                      // [{"rank": 0, "span_ns": 1500000}]
//
// Single figures are facts: report_facts.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/terminal/output_width.h"

namespace nadi::inline show {

enum class CellKind {
  kText,
  kKernel,  // a text: the name of an op or kernel; people see it without the parts that all kernels share
  kFigure,  // a text that is aligned as a number: "32/8"
  kYesNo,
  kCount,
  kNumber,  // two decimals
  kSpeed,   // things per second: 1.20, 33,702
  kTime,    // nanoseconds
  kBytes,
  kFlops,
  kByteRate,   // bytes per second
  kFlopRate,   // FLOP per second
  kShare,      // 0.25 is 25%
  kChange,     // a share with its sign: +25%
  kTimeChange  // nanoseconds with their sign
};

// std::monostate: the figure is not known. Printed as "-", as an empty CSV field, as null.
using ReportCell = std::variant<std::monostate, std::string, std::int64_t, double, bool>;

// Whether people see the column. They never see a column without any figure.
enum class Shown {
  kAlways,
  kUnlessZero,  // hidden when all of its figures are zero
  kIfRoom,      // the same, and hidden when the table would be too wide
  kToPrograms,
};

enum class Zero { kShown, kAsAbsent };

struct ReportColumn {
  std::string key;  // empty means the column is for people only
  std::string title;
  CellKind kind = CellKind::kCount;
  Shown shown = Shown::kAlways;
  std::string absent = "-";  // for people, where there is no figure
  Zero zero = Zero::kShown;  // for people: kAsAbsent prints a zero as `absent`
};

struct ReportTable {
  std::string name;       // identifies the table: "critical-path"
  std::string title;      // for people
  std::string note = {};  // for people, below the title; "" for none
  std::vector<ReportColumn> columns = {};
  std::vector<std::vector<ReportCell>> rows = {};  // a cell for each column
  std::vector<ReportCell> total = {};              // for people, below a rule; empty for none
};

std::vector<std::string> names_of(const std::vector<ReportTable>& tables);

constexpr std::size_t kAnyWidth = kNoWidthLimit;

struct TableTextOptions {
  std::size_t rows = 10;  // rows that are shown; 0 shows all
  bool bold_titles = false;
  std::size_t width = 100;  // in characters, or kAnyWidth
  std::string more = {};    // where the other rows are; printed after "... and 12 more"
  std::string wide = {};    // where the other columns are; printed after "3 columns are left out"; "": silent
};
// Keeps within the width: first it leaves out columns that are shown if there is room, from the right
// (columns without a title belong to the figure before them, and are left out together), then it wraps or
// shortens texts (names, which stay distinct), and where all that is not enough it puts the cells of a row
// one below the other.
std::string table_text(const ReportTable& table, const TableTextOptions& options);

// Starts with a line of keys; fields are quoted where RFC 4180 asks for quotes.
std::string table_csv(const ReportTable& table);

// A list of objects, and one of these objects.
Json table_json(const ReportTable& table);
Json row_json(std::span<const ReportColumn> columns, std::span<const ReportCell> cells);

// One cell, for people. A total's cells without a figure are empty: `absent` is for rows.
std::string cell_text(const ReportCell& cell, const ReportColumn& column);

// Things per second, in one form wherever they are said: "1.20", "940", "33,702".
std::string speed_text(double per_second);
bool is_zero(const ReportCell& cell);  // a number that is 0; false for texts and where there is no figure

}  // namespace nadi::inline show
