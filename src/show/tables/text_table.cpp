#include "nadi/tables/text_table.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

void append_cell(std::string& line, std::string_view text, std::size_t width, Align align) {
  const std::string padding(width - columns_of(text), ' ');
  if (align == Align::kRight) line += padding;
  line += text;
  if (align == Align::kLeft) line += padding;
}

}  // namespace

void TextTable::add_row(std::vector<std::string> cells) {
  check(cells.size() == columns_.size(), "a table's row has a cell for each column");
  rows_.push_back(std::move(cells));
}

std::string TextTable::to_string(const TextOptions& options) const {
  std::vector<std::string> titles;
  std::vector<std::size_t> widths;
  std::size_t total = 2 * (columns_.size() - 1);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    titles.push_back(columns_[c].title);
    std::size_t width = columns_of(columns_[c].title);
    for (const auto& row : rows_)
      if (!row.empty()) width = std::max(width, columns_of(row[c]));
    widths.push_back(width);
    total += width;
  }
  if (total > options.width) return stacked(options);
  const auto line_of = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) line += "  ";
      append_cell(line, cells[c], widths[c], columns_[c].align);
    }
    return line.erase(line.find_last_not_of(' ') + 1);
  };
  std::string text = line_of(titles);
  if (options.bold_titles) text = "\033[1m" + text + "\033[0m";
  text += '\n';
  for (const auto& row : rows_) text += (row.empty() ? std::string(total, '-') : line_of(row)) + '\n';
  return text;
}

std::string TextTable::stacked(const TextOptions& options) const {
  std::size_t column = 0;
  for (const Column& each : columns_) column = std::max(column, columns_of(each.title) + 2);
  column = std::min(column, options.width / 2);
  std::string text;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    if (rows_[r].empty()) continue;  // the rule before totals
    if (r > 0) text += '\n';
    for (std::size_t c = 0; c < columns_.size();) {
      const std::string& title = columns_[c].title;
      std::vector<std::string> words = words_of(rows_[r][c]);
      for (++c; c < columns_.size() && columns_[c].title.empty(); ++c)
        for (std::string& word : words_of(rows_[r][c])) words.push_back(std::move(word));
      if (words.empty()) continue;
      const std::string line = labelled(title, column, words, options.width);
      text += options.bold_titles && !title.empty()
                  ? "\033[1m" + line.substr(0, title.size()) + "\033[0m" + line.substr(title.size())
                  : line;
    }
  }
  return text;
}

}  // namespace nadi::inline show
