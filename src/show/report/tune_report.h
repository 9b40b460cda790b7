// A study of settings in tables: its trials, the importance of parameters, and the summary at the end of
// tuning.
#pragma once

#include <iosfwd>

#include "nadi/base/json.h"
#include "nadi/tables/report_style.h"
#include "nadi/tables/report_table.h"
#include "nadi/tune/study_view.h"

namespace nadi::inline show {

// Best first: complete trials by the first objective, then pruned, failed and running ones. Columns of
// parameters have their names as keys.
ReportTable trials_table(const StudyView& view);
ReportTable importance_table(const StudyView& view);

// With so many trials; 0 shows all.
void print_study(const StudyView& view, std::size_t top, std::ostream& out, const ReportStyle& style);
// What `tune` ends with: best, improvement, counts, where the study is, the command to paste.
void print_tune_summary(const StudyView& view, std::ostream& out, const ReportStyle& style);

Json study_json(const StudyView& view);

// A trial as JSON: number, state, values, parameters by name, seconds, outcome and reason.
Json trial_json(const StudyView& view, const StudyTrial& trial);

// Figures as people read them: six significant digits at most.
std::string value_text(double value);

}  // namespace nadi::inline show
