// What `nadi doctor` prints: the checks of a machine (machine_checks.h), and what each command lacks there.
#pragma once

#include <iosfwd>
#include <span>
#include <string_view>

#include "nadi/base/json.h"
#include "nadi/report/machine_checks.h"
#include "nadi/tables/report_style.h"

namespace nadi::inline show {

// `commands` are the names of all commands, in the order of help.
Json doctor_json(std::span<const MachineCheck> checks, std::span<const std::string_view> commands);
void print_doctor(std::span<const MachineCheck> checks, std::ostream& out, const ReportStyle& style);

}  // namespace nadi::inline show
