#include "nadi/report/doctor_report.h"

#include <algorithm>
#include <ostream>

#include "nadi/base/format.h"
#include "nadi/base/version.h"
#include "nadi/tables/report_table.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

bool is_well(const MachineCheck& check) {
  return check.state == CheckState::kHas;
}

ReportTable checks_table(std::span<const MachineCheck> checks) {
  ReportTable table{.name = "checks",
                    .title = "This machine",
                    .columns = {{"state", "", CellKind::kText},
                                {"name", "what", CellKind::kText},
                                {"found", "found", CellKind::kText},
                                {"needed_for", "needed for", CellKind::kText, Shown::kIfRoom}}};
  for (const MachineCheck& check : checks)
    table.rows.push_back({std::string(to_string(check.state)), check.name, check.found, check.needed_for});
  return table;
}

}  // namespace

Json doctor_json(std::span<const MachineCheck> checks, std::span<const std::string_view> commands) {
  Json list = Json::array();
  for (const MachineCheck& check : checks)
    list.push_back({{"name", check.name},
                    {"state", to_string(check.state)},
                    {"found", check.found},
                    {"needed_for", check.needed_for},
                    {"commands", check.commands},
                    {"advice", check.advice.empty() ? Json(nullptr) : Json(check.advice)}});
  Json by_command = Json::array();
  for (const std::string_view command : commands) {
    Json lacks = Json::array();
    for (const MachineCheck& check : checks)
      if (!is_well(check) && std::ranges::find(check.commands, command) != check.commands.end())
        lacks.push_back(check.name);
    by_command.push_back({{"command", command}, {"lacks", std::move(lacks)}});
  }
  return {{"nadi_version", version()}, {"checks", std::move(list)}, {"commands", std::move(by_command)}};
}

void print_doctor(std::span<const MachineCheck> checks, std::ostream& out, const ReportStyle& style) {
  // Names of GPUs and libraries may be long; figures are worth more than what they are for.
  out << table_text(checks_table(checks),
                    {.rows = 0, .bold_titles = style.colour, .width = style.table_width});
  if (std::ranges::all_of(checks, is_well)) {
    out << "\nnothing is lacking\n";
    return;
  }
  out << "\n" << style.heading("What to do") << "\n";
  for (const MachineCheck& check : checks) {
    if (is_well(check)) continue;
    std::string commands;
    for (const std::string_view command : check.commands)
      commands += format("{}{}", commands.empty() ? "" : ", ", command);
    out << labelled(check.name, 16,
                    words_of(check.advice + (commands.empty() ? "" : format(" (for {})", commands))),
                    style.width);
  }
  out << "\n" << wrapped_line("Commands that are not named here have what they need.", style.width) << "\n";
}

}  // namespace nadi::inline show
