// Aligned columns of text.
//
//   TextTable table({{"phase", Align::kLeft}, {"FLOPs", Align::kRight}});
//   table.add_row({"forward", "349 GFLOP"});
//   table.add_rule();
//   table.add_row({"total", "1.05 TFLOP"});
//   console.out << table.to_string({.bold_titles = style.colour, .width = style.table_width});
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nadi/terminal/output_width.h"

namespace nadi::inline show {

enum class Align { kLeft, kRight };

class TextTable {
 public:
  struct Column {
    std::string title;
    Align align = Align::kRight;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell per column.
  void add_row(std::vector<std::string> cells);
  // A line across, before totals.
  void add_rule() { rows_.emplace_back(); }

  struct TextOptions {
    bool bold_titles = false;           // for terminals
    std::size_t width = kNoWidthLimit;  // in characters
  };
  // Columns as wide as their widest cell, counted in characters, two spaces apart. A table that is too wide
  // has its rows one below the other instead, a line for each cell with the title of its column; a cell of a
  // column without a title stands behind the one before it.
  std::string to_string(const TextOptions& options) const;
  std::string to_string() const { return to_string(TextOptions()); }

 private:
  std::string stacked(const TextOptions& options) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // empty means a rule
};

}  // namespace nadi::inline show
