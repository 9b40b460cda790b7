#include "nadi/tables/report_facts.h"

#include <variant>

#include "nadi/terminal/printable.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

bool is_shown(const ReportFact& fact) {
  if (fact.name.shown == Shown::kToPrograms) return false;
  if (fact.name.shown != Shown::kAlways && is_zero(fact.value)) return false;
  return !fact.words.empty() || !std::holds_alternative<std::monostate>(fact.value);
}

}  // namespace

Json facts_json(std::span<const ReportFact> facts) {
  std::vector<ReportColumn> names;
  std::vector<ReportCell> values;
  for (const ReportFact& fact : facts) {
    if (fact.name.key.empty()) continue;
    names.push_back(fact.name);
    values.push_back(fact.value);
  }
  return row_json(names, values);
}

std::string facts_text(std::span<const ReportFact> facts, std::size_t column, std::size_t width) {
  std::string text;
  for (const ReportFact& fact : facts) {
    if (!is_shown(fact)) continue;
    text += labelled(
        fact.name.title, column,
        fact.words.empty() ? std::vector{printable(cell_text(fact.value, fact.name))} : fact.words, width);
  }
  return text;
}

}  // namespace nadi::inline show
