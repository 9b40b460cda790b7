#include "nadi/report/checkpoint_conversion_report.h"

#include <algorithm>
#include <ostream>

#include "nadi/base/format.h"
#include "nadi/checkpoint_conversion/convert_checkpoint.h"

namespace nadi::inline show {

Json conversion_json(const ConversionSummary& summary, const ConversionOutcome& outcome) {
  Json files = Json::array();
  for (const ConversionFile& file : summary.files)
    files.push_back(Json{{"name", file.name}, {"bytes", file.size.count()}});
  return Json{{"source", {{"path", outcome.source}, {"kind", summary.source_kind}}},
              {"target", {{"path", outcome.target}, {"kind", summary.target_kind}}},
              {"model", summary.model},
              {"optimizer", summary.optimizer},
              {"dry_run", outcome.dry_run},
              {"verified", outcome.verified},
              {"bytes", summary.total.count()},
              {"files", std::move(files)},
              {"notes", summary.notes}};
}

void print_conversion(const ConversionSummary& summary, const ConversionOutcome& outcome, std::ostream& out) {
  out << format("{:9} {}: {}\n", "from", outcome.source, summary.source_kind);
  out << format("{:9} {}{}\n", "model", summary.model, summary.optimizer ? ", with optimizer state" : "");
  out << format("{:9} {}: {}\n", outcome.dry_run ? "would be" : "to", outcome.target, summary.target_kind);
  out << format("{:9} {} in {} file{}{}\n", "size", to_string(summary.total), summary.files.size(),
                summary.files.size() == 1 ? "" : "s", outcome.verified ? ", read back and compared" : "");
  if (!outcome.dry_run) return;
  std::size_t widest = 0;
  for (const ConversionFile& file : summary.files) widest = std::max(widest, file.name.size());
  out << '\n';
  for (const ConversionFile& file : summary.files)
    out << format("  {:{}}  {:>16}\n", file.name, widest, with_thousands(file.size.count()) + " B");
}

}  // namespace nadi::inline show
