#include "nadi/tables/report_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/shorten_names.h"
#include "nadi/base/units.h"
#include "nadi/tables/kernel_name.h"
#include "nadi/tables/text_table.h"
#include "nadi/terminal/printable.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kLeastText = 16;        // below this a cut text says nothing
constexpr std::size_t kComfortableText = 30;  // columns are left out rather than cut texts below this

double number_of(const ReportCell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*integer);
  return std::get<double>(cell);
}

std::int64_t rounded(const ReportCell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return *integer;
  return std::llround(std::get<double>(cell));
}

std::string signed_text(double value, const std::string& magnitude) {
  return (value < 0 ? "-" : "+") + magnitude;
}

// Powers of 1000, three figures.
std::string byte_rate(double per_second) {
  constexpr std::string_view kPrefixes[] = {"", "k", "M", "G"};
  std::size_t prefix = 0;
  for (; prefix + 1 < std::size(kPrefixes) && per_second >= 999.5; ++prefix) per_second /= 1000;
  return format("{:.{}f} {}B/s", per_second,
                per_second < 9.995   ? 2
                : per_second < 99.95 ? 1
                                     : 0,
                kPrefixes[prefix]);
}

std::string figure_text(const ReportCell& cell, const ReportColumn& column) {
  switch (column.kind) {
    case CellKind::kText:
    case CellKind::kKernel:
    case CellKind::kFigure:
      return std::get<std::string>(cell);
    case CellKind::kYesNo:
      return std::get<bool>(cell) ? "yes" : "no";
    case CellKind::kCount:
      return with_thousands(rounded(cell));
    case CellKind::kNumber:
      return format("{:.2f}", number_of(cell));
    case CellKind::kSpeed:
      return speed_text(number_of(cell));
    case CellKind::kTime:
      return to_string(Nanoseconds{rounded(cell)});
    case CellKind::kBytes:
      return to_string(Bytes{rounded(cell)});
    case CellKind::kFlops:
      return to_string(Flops{rounded(cell)});
    case CellKind::kByteRate:
      return byte_rate(number_of(cell));
    case CellKind::kFlopRate:
      return to_string(Flops{rounded(cell)}) + "/s";
    case CellKind::kShare:
      return format("{:.1f}%", 100 * number_of(cell));
    case CellKind::kChange:
      return format("{:+.1f}%", 100 * number_of(cell));
    case CellKind::kTimeChange:
      return signed_text(number_of(cell), to_string(Nanoseconds{std::llround(std::abs(number_of(cell)))}));
  }
  unreachable();
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char letter) { return letter >= ' ' && letter <= '~'; });
}

bool is_shown(const ReportTable& table, std::size_t column) {
  if (table.rows.empty()) return true;
  const Shown shown = table.columns[column].shown;
  return shown != Shown::kToPrograms && std::ranges::any_of(table.rows, [&](const auto& row) {
           const ReportCell& cell = row[column];
           if (std::holds_alternative<std::monostate>(cell)) return false;
           return shown == Shown::kAlways || !is_zero(cell);
         });
}

std::string csv_field(const ReportCell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) return "";
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return format("{}", *integer);
  if (const auto* real = std::get_if<double>(&cell)) return format("{}", *real);
  if (const auto* yes = std::get_if<bool>(&cell)) return *yes ? "true" : "false";
  const std::string& text = std::get<std::string>(cell);
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + '"';
}

bool is_text(const ReportColumn& column) {
  return column.kind == CellKind::kText || column.kind == CellKind::kKernel;
}

// The texts that are printed: one for each column in each row. A total is the last row.
struct Layout {
  std::vector<ReportColumn> columns;
  std::vector<std::vector<std::string>> rows;
  std::optional<std::size_t> wrapped = {};  // the column whose texts take several lines
  std::size_t wrapped_width = 0;

  std::size_t width_of(std::size_t column) const {
    std::size_t width = columns[column].title.size();
    for (const auto& row : rows) width = std::max(width, row[column].size());
    return width;
  }
  std::size_t width() const {
    std::size_t sum = 0;
    for (std::size_t c = 0; c < columns.size(); ++c) sum += width_of(c) + (c > 0 ? 2 : 0);
    return sum;
  }
  void remove(std::size_t column) {
    columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(column));
    for (auto& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  }
};

void name_kernels(Layout& layout) {
  for (std::size_t c = 0; c < layout.columns.size(); ++c) {
    if (layout.columns[c].kind != CellKind::kKernel) continue;
    std::vector<std::string> names;
    for (const auto& row : layout.rows) names.push_back(row[c]);
    names = kernel_names(names);
    for (std::size_t r = 0; r < names.size(); ++r) layout.rows[r][c] = std::move(names[r]);
  }
}

// The width of the table when its widest text is shortened as far as it may be.
std::size_t least_width(const Layout& layout) {
  std::size_t gain = 0;
  for (std::size_t c = 0; c < layout.columns.size(); ++c)
    if (is_text(layout.columns[c]))
      gain = std::max(gain, layout.width_of(c) - std::min(layout.width_of(c), kComfortableText));
  return layout.width() - gain;
}

void leave_out_columns(Layout& layout, std::size_t width) {
  const auto remove_if = [&](const auto& unwanted) {
    for (std::size_t c = layout.columns.size(); c-- > 0;)
      if (layout.columns[c].shown == Shown::kIfRoom && unwanted(layout.columns[c])) layout.remove(c);
  };
  for (std::size_t c = layout.columns.size(); c-- > 0 && least_width(layout) > width;) {
    if (c >= layout.columns.size() || layout.columns[c].shown != Shown::kIfRoom) continue;
    if (layout.columns[c].title.empty())
      remove_if([](const ReportColumn& column) { return column.title.empty(); });
    else
      layout.remove(c);
  }
}

// The widest text column gets the width that the other columns leave. Its sentences are wrapped, its names
// shortened.
void fit_texts(Layout& layout, std::size_t width) {
  const std::size_t taken = layout.width();
  if (taken <= width) return;
  std::optional<std::size_t> widest;
  for (std::size_t c = 0; c < layout.columns.size(); ++c)
    if (is_text(layout.columns[c]) && (!widest || layout.width_of(c) > layout.width_of(*widest))) widest = c;
  if (!widest) return;
  const std::size_t rest = taken - layout.width_of(*widest);
  const std::size_t room = rest < width ? width - rest : 0;
  if (room < kLeastText) return;  // the rows will be stacked
  // A name may have two words: "void kernel<4>".
  bool has_sentences = false;
  std::size_t longest_word = 0;
  for (const auto& row : layout.rows) {
    const std::vector<std::string> words = words_of(row[*widest]);
    has_sentences = has_sentences || words.size() > 2;
    for (const std::string& word : words) longest_word = std::max(longest_word, columns_of(word));
  }
  if (layout.columns[*widest].kind == CellKind::kText && has_sentences && longest_word <= room) {
    layout.wrapped = *widest;
    layout.wrapped_width = room;
    return;
  }
  std::vector<std::string> texts;
  for (const auto& row : layout.rows) texts.push_back(row[*widest]);
  texts = shorten_names(texts, room);
  for (std::size_t r = 0; r < texts.size(); ++r) layout.rows[r][*widest] = std::move(texts[r]);
}

// The lines of a row: several where a text is wrapped.
std::vector<std::vector<std::string>> lines_of_row(const Layout& layout, std::vector<std::string> row) {
  if (!layout.wrapped) return {std::move(row)};
  const std::string text = labelled("", 0, words_of(row[*layout.wrapped]), layout.wrapped_width);
  std::vector<std::vector<std::string>> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    std::vector<std::string> line = lines.empty() ? row : std::vector<std::string>(row.size());
    line[*layout.wrapped] = text.substr(at, end - at);
    lines.push_back(std::move(line));
    at = end + 1;
  }
  return lines;
}

// Control characters are commands to the terminal.
std::string tame(std::string text) {
  return is_plain(text) ? text : printable(text);
}

}  // namespace

std::vector<std::string> names_of(const std::vector<ReportTable>& tables) {
  std::vector<std::string> names;
  for (const ReportTable& table : tables) names.push_back(table.name);
  return names;
}

bool is_zero(const ReportCell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return *integer == 0;
  const auto* real = std::get_if<double>(&cell);
  return real != nullptr && *real == 0;
}

std::string cell_text(const ReportCell& cell, const ReportColumn& column) {
  const bool absent =
      std::holds_alternative<std::monostate>(cell) || (column.zero == Zero::kAsAbsent && is_zero(cell));
  return absent ? column.absent : figure_text(cell, column);
}

std::string table_text(const ReportTable& table, const TableTextOptions& options) {
  Layout layout;
  std::vector<std::size_t> places;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (!is_shown(table, c)) continue;
    layout.columns.push_back(table.columns[c]);
    places.push_back(c);
  }
  const std::size_t shown = options.rows == 0 ? table.rows.size() : std::min(options.rows, table.rows.size());
  for (std::size_t r = 0; r < shown; ++r) {
    auto& row = layout.rows.emplace_back();
    for (std::size_t c = 0; c < layout.columns.size(); ++c)
      row.push_back(tame(cell_text(table.rows[r][places[c]], layout.columns[c])));
  }
  if (!table.total.empty()) {
    auto& row = layout.rows.emplace_back();
    for (std::size_t c = 0; c < layout.columns.size(); ++c) {
      const ReportCell& cell = table.total[places[c]];
      const bool known = !std::holds_alternative<std::monostate>(cell);
      row.push_back(known ? tame(cell_text(cell, layout.columns[c])) : "");
    }
  }
  name_kernels(layout);
  const std::size_t known = layout.columns.size();
  leave_out_columns(layout, options.width);
  const std::size_t left_out = known - layout.columns.size();
  fit_texts(layout, options.width);
  std::vector<TextTable::Column> titles;
  for (const ReportColumn& column : layout.columns)
    titles.push_back({column.title, is_text(column) ? Align::kLeft : Align::kRight});
  TextTable text(std::move(titles));
  for (std::size_t r = 0; r < layout.rows.size(); ++r) {
    if (r == shown) text.add_rule();
    for (auto& line : lines_of_row(layout, std::move(layout.rows[r]))) text.add_row(std::move(line));
  }
  std::string result = text.to_string({.bold_titles = options.bold_titles, .width = options.width});
  if (shown < table.rows.size())
    result += format("... and {} more{}\n",
                     with_thousands(static_cast<std::int64_t>(table.rows.size() - shown)), options.more);
  if (left_out > 0 && !options.wide.empty())
    result += wrapped_line(
                  format("{} column{} left out; {}", left_out, left_out == 1 ? " is" : "s are", options.wide),
                  options.width) +
              '\n';
  return result;
}

std::string table_csv(const ReportTable& table) {
  std::string text;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      if (!table.columns[c].key.empty()) line += "," + csv_field(cell_of(c));
    text += line.substr(std::min<std::size_t>(line.size(), 1)) + "\n";
  };
  add_line([&](std::size_t c) { return ReportCell(table.columns[c].key); });
  for (const auto& row : table.rows) add_line([&](std::size_t c) { return row[c]; });
  return text;
}

Json table_json(const ReportTable& table) {
  Json list = Json::array();
  for (const auto& row : table.rows) list.push_back(row_json(table.columns, row));
  return list;
}

Json row_json(std::span<const ReportColumn> columns, std::span<const ReportCell> cells) {
  check(columns.size() == cells.size(), "a row of a table has a cell for each column");
  Json object = Json::object();
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (columns[c].key.empty()) continue;
    std::visit(
        [&](const auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
            object[columns[c].key] = nullptr;
          else
            object[columns[c].key] = value;
        },
        cells[c]);
  }
  return object;
}

std::string speed_text(double per_second) {
  if (per_second >= 999.5) return with_thousands(std::llround(per_second));
  return format("{:.{}f}", per_second, per_second < 9.995 ? 2 : per_second < 99.95 ? 1 : 0);
}

}  // namespace nadi::inline show
