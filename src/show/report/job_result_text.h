// Everything about a job on one page, in the order and with the headings of get_result.sh of the modified
// Megatron-LM: the last lines of standard output, standard error and GPUs of each node, the settings in
// effect, the times of iterations, and the four rules by which a job is judged.
#pragma once

#include <iosfwd>
#include <vector>

#include "nadi/job_log/setting_comparison.h"
#include "nadi/report/watch_report.h"

namespace nadi::inline show {

void print_job_result(const WatchedState& state, const std::vector<AskedSetting>& asked, std::ostream& out,
                      const ReportStyle& style);

// The four rules as a table with their evidence, as --once has them, too.
void print_four_rules(const std::vector<JobVerdict>& verdicts, std::ostream& out, const ReportStyle& style);

}  // namespace nadi::inline show
