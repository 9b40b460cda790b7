#include "nadi/report/text_table.h"

#include <algorithm>

#include "nadi/base/error.h"

namespace nadi {
namespace {

// UTF-8 code points: bytes that do not continue one.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

void append_cell(std::string& line, std::string_view text, std::size_t width, Align align) {
  const std::string padding(width - width_of(text), ' ');
  if (align == Align::kRight) line += padding;
  line += text;
  if (align == Align::kLeft) line += padding;
}

}  // namespace

void TextTable::add_row(std::vector<std::string> cells) {
  check(cells.size() == columns_.size(), "a table's row has a cell for each column");
  rows_.push_back(std::move(cells));
}

std::string TextTable::to_string(bool bold_titles) const {
  std::vector<std::string> titles;
  std::vector<std::size_t> widths;
  std::size_t total = 2 * (columns_.size() - 1);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    titles.push_back(columns_[c].title);
    std::size_t width = width_of(columns_[c].title);
    for (const auto& row : rows_)
      if (!row.empty()) width = std::max(width, width_of(row[c]));
    widths.push_back(width);
    total += width;
  }
  const auto line_of = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) line += "  ";
      append_cell(line, cells[c], widths[c], columns_[c].align);
    }
    return line.erase(line.find_last_not_of(' ') + 1);
  };
  std::string text = line_of(titles);
  if (bold_titles) text = "\033[1m" + text + "\033[0m";
  text += '\n';
  for (const auto& row : rows_) text += (row.empty() ? std::string(total, '-') : line_of(row)) + '\n';
  return text;
}

}  // namespace nadi
