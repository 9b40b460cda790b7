// How the figures of an analysis are computed: a sentence for each table and each column, and where a figure
// follows from others that the report has, the formula.
//
//   for (const ReportColumn& column : table.columns)
//     if (const FigureDefinition* definition = find_definition(table.name, column.key))
//       use(definition->text, definition->formula);             // "(a_ns - b_ns) / a_ns"
//
// A formula has + - * / and parentheses, numbers, and these names, where `key` is a column of the same table:
//
//   key                 the figure in the same row
//   table.key           in the row of another table with the same rank; of "headline" the single figure
//   sum(key)            over all rows; sum(table.key) over those of another table
//   rank_sum(key)       over the rows with the same rank
//   median(key)         over all rows; of an even number the lower one in the middle
//
// A formula with a name that has no figure has none, either.
#pragma once

#include <string_view>

namespace nadi::inline show {

struct FigureDefinition {
  std::string_view table;  // "breakdown", or "headline"
  std::string_view key;
  std::string_view text;
  std::string_view formula = {};  // "" where the nodes say it
};

// nullptr where there is none.
const FigureDefinition* find_definition(std::string_view table, std::string_view key);

// How the table as a whole is made; "" where there is none.
std::string_view table_definition(std::string_view table);

}  // namespace nadi::inline show
