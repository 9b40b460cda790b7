#include "nadi/cli/report_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/units.h"
#include "nadi/cli/printable.h"
#include "nadi/cli/text_table.h"

namespace nadi {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kLeastText = 16;  // below this a cut text says nothing

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

std::string cell_text(const ReportCell& cell, CellKind kind) {
  if (std::holds_alternative<std::monostate>(cell)) return "-";
  switch (kind) {
    case CellKind::kText:
      return std::get<std::string>(cell);
    case CellKind::kCount:
      return with_thousands(rounded(cell));
    case CellKind::kNumber:
      return format("{:.2f}", number_of(cell));
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

// Start and end of a text that is plain ASCII; others are quoted and left alone.
std::string cut(std::string text, std::size_t width) {
  if (text.size() <= width || !is_plain(text)) return text;
  const std::size_t head = (width - 2) * 2 / 3;
  const std::size_t tail = width - 2 - head;
  return text.substr(0, head) + ".." + text.substr(text.size() - tail);
}

bool is_shown(const ReportTable& table, std::size_t column) {
  if (table.rows.empty()) return true;
  const Shown shown = table.columns[column].shown;
  return shown != Shown::kToPrograms && std::ranges::any_of(table.rows, [&](const auto& row) {
           const ReportCell& cell = row[column];
           if (std::holds_alternative<std::monostate>(cell)) return false;
           return shown == Shown::kAlways || std::holds_alternative<std::string>(cell) ||
                  number_of(cell) != 0;
         });
}

std::string csv_field(const ReportCell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) return "";
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return format("{}", *integer);
  if (const auto* real = std::get_if<double>(&cell)) return format("{}", *real);
  const std::string& text = std::get<std::string>(cell);
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + '"';
}

// Texts share what the other columns leave.
void fit_texts(std::vector<std::vector<std::string>>& rows, const std::vector<ReportColumn>& columns) {
  std::size_t taken = 0;
  std::vector<std::size_t> texts;
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::size_t width = columns[c].title.size();
    for (const auto& row : rows) width = std::max(width, row[c].size());
    widths.push_back(width);
    taken += width + (c > 0 ? 2 : 0);
    if (columns[c].kind == CellKind::kText) texts.push_back(c);
  }
  if (texts.empty() || taken <= kWidth) return;
  const std::size_t widest = *std::ranges::max_element(texts, {}, [&](std::size_t c) { return widths[c]; });
  const std::size_t rest = taken - widths[widest];
  const std::size_t room = std::max(rest < kWidth ? kWidth - rest : 0, kLeastText);
  for (auto& row : rows) row[widest] = cut(std::move(row[widest]), room);
}

// Control characters could talk to the terminal.
std::string tame(std::string text) {
  return is_plain(text) ? text : printable(text);
}

}  // namespace

std::vector<std::string> names_of(const std::vector<ReportTable>& tables) {
  std::vector<std::string> names;
  for (const ReportTable& table : tables) names.push_back(table.name);
  return names;
}

std::string table_text(const ReportTable& table, const TableTextOptions& options) {
  std::vector<ReportColumn> columns;
  std::vector<std::size_t> places;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (!is_shown(table, c)) continue;
    columns.push_back(table.columns[c]);
    places.push_back(c);
  }
  const std::size_t shown = options.rows == 0 ? table.rows.size() : std::min(options.rows, table.rows.size());
  std::vector<std::vector<std::string>> rows;
  for (std::size_t r = 0; r < shown; ++r) {
    auto& row = rows.emplace_back();
    for (std::size_t c = 0; c < columns.size(); ++c)
      row.push_back(tame(cell_text(table.rows[r][places[c]], columns[c].kind)));
  }
  fit_texts(rows, columns);
  std::vector<TextTable::Column> titles;
  for (const ReportColumn& column : columns)
    titles.push_back({column.title, column.kind == CellKind::kText ? Align::kLeft : Align::kRight});
  TextTable text(std::move(titles));
  for (auto& row : rows) text.add_row(std::move(row));
  std::string result = text.to_string(options.bold_titles);
  if (shown < table.rows.size())
    result += format("... and {} more: --top {}\n",
                     with_thousands(static_cast<std::int64_t>(table.rows.size() - shown)), table.rows.size());
  return result;
}

std::string table_csv(const ReportTable& table) {
  std::string text;
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    text += (c > 0 ? "," : "") + csv_field(ReportCell(table.columns[c].key));
  text += "\n";
  for (const auto& row : table.rows) {
    for (std::size_t c = 0; c < row.size(); ++c) text += (c > 0 ? "," : "") + csv_field(row[c]);
    text += "\n";
  }
  return text;
}

Json table_json(const ReportTable& table) {
  Json list = Json::array();
  for (const auto& row : table.rows) {
    Json object = Json::object();
    for (std::size_t c = 0; c < row.size(); ++c)
      std::visit(
          [&](const auto& value) {
            if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
              object[table.columns[c].key] = nullptr;
            else
              object[table.columns[c].key] = value;
          },
          row[c]);
    list.push_back(std::move(object));
  }
  return list;
}

}  // namespace nadi
