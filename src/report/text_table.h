// Aligned columns of text.
//
//   TextTable table({{"phase", Align::kLeft}, {"FLOPs", Align::kRight}});
//   table.add_row({"forward", "349 GFLOP"});
//   table.add_rule();
//   table.add_row({"total", "1.05 TFLOP"});
//   console.out << table.to_string(console.colour_out);
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nadi {

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

  // Columns as wide as their widest cell, counted in characters, two spaces apart. Bold titles are for
  // terminals.
  std::string to_string(bool bold_titles = false) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // empty: a rule
};

}  // namespace nadi
