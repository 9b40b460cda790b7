#include "nadi/report/written_traces_report.h"

#include <ostream>

#include "nadi/base/format.h"
#include "nadi/base/version.h"
#include "nadi/parallel/rank_list.h"
#include "nadi/step/step_settings.h"

namespace nadi::inline show {

Json written_traces_json(const TraceAnswer& answer) {
  const RankTraceReport& written = answer.written;
  Json root = resolved_json(answer.step);
  root["prefix"] = answer.question.files.prefix;
  root["ranks"] = as_ranges(answer.ranks);
  root["files"] = written.files;
  root["nodes"] = written.nodes;
  root["data_edges"] = written.data_edges;
  root["control_edges"] = written.control_edges;
  root["num_ops"] = written.flops ? Json(written.flops->count()) : Json(nullptr);
  root["bytes"] = written.bytes.count();
  root["groups_file"] = written.groups_file.empty() ? Json(nullptr) : Json(written.groups_file.string());
  return root;
}

void print_written_traces(const TraceAnswer& answer, std::ostream& out) {
  const RankTraceReport& written = answer.written;
  const TraceFiles& where = answer.question.files;
  const std::string files = answer.ranks.size() == 1
                                ? where.file_of(to_number(answer.ranks[0])).string() + ":"
                                : format("{}.*.et: {} files,", where.prefix, with_thousands(written.files));
  out << format("{} {} nodes, {} edges, {}, {}\n", files, with_thousands(written.nodes),
                with_thousands(written.data_edges + written.control_edges),
                written.flops ? to_string(*written.flops) : "more than 9.22 EFLOP", to_string(written.bytes));
  if (!written.groups_file.empty())
    out << format("{}: the groups of ranks that they name\n", written.groups_file.string());
}

Json written_traces_json(const CollectiveAnswer& answer) {
  const CollectiveTraces& collective = answer.collective;
  return {{"nadi_version", version()},
          {"collective",
           {{"kind", collective.kind.name},
            {"op", collective.reduction.empty() ? Json(nullptr) : Json(collective.reduction)},
            {"bytes", collective.size.count()},
            {"ranks", collective.ranks}}},
          {"prefix", answer.question.files.prefix},
          {"files", collective.ranks},
          {"nodes", answer.written.nodes},
          {"bytes", answer.written.bytes.count()}};
}

void print_written_traces(const CollectiveAnswer& answer, std::ostream& out) {
  out << format("{}.*.et: {} files, {} nodes, {}\n", answer.question.files.prefix,
                with_thousands(answer.collective.ranks), with_thousands(answer.written.nodes),
                to_string(answer.written.bytes));
}

}  // namespace nadi::inline show
