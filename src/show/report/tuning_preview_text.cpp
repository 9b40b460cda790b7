#include "nadi/report/tuning_preview_text.h"

#include <ostream>

#include "nadi/base/format.h"

namespace nadi::inline show {

void print_tuning_preview(const TuneStudy& tune, const PlanGuide* guide, const TuningPreview& preview,
                          std::ostream& out) {
  for (const TuneParameter& parameter : tune.space.parameters)
    out << format("{}: {}{}\n", parameter.name, values_text(*parameter.distribution),
                  parameter.when ? format(", when {}", parameter.when->text()) : "");
  for (const TuneConstraint& constraint : tune.space.constraints)
    out << format("constraint: {}\n", constraint.expression.text());
  if (preview.grid) out << format("grid: {} points\n", with_thousands(*preview.grid));
  if (guide != nullptr)
    out << format("planner: {} plans looked at, {} do not fit\n", with_thousands(guide->looked_at()),
                  with_thousands(guide->refused()));
  for (const FirstCommand& first : preview.commands)
    out << format("{}: {}\n", first.role, shell_text(first.command));
}

}  // namespace nadi::inline show
