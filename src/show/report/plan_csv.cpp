#include "nadi/report/plan_csv.h"

#include <algorithm>

#include "nadi/base/format.h"
#include "nadi/base/rates.h"
#include "nadi/report/plan_texts.h"

namespace nadi::inline show {
namespace {

// Names of nodes are the user's own.
std::string quoted_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + '"';
}

}  // namespace

std::string plans_csv_header() {
  return "tp,dp,pp,micro_batch_size,micro_batches,recompute,zero,sequence_parallel,schedule,virtual_stages,"
         "partition,nodes,estimated_s,memory_bytes,missing_bytes,dollars_per_step\n";
}

void append_plan_csv(std::string& lines, const PlanQuestion& question, const PlanCandidate& candidate,
                     const PlanEstimate& estimate) {
  const Plan& plan = candidate.plan;
  Bytes memory;
  for (const StageEstimate& stage : estimate.stages) memory = std::max(memory, stage.memory);
  lines += format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},", plan.tp, plan.dp, plan.pp,
                  candidate.micro_batch_size, plan.micro_batches, to_string(candidate.recompute.granularity),
                  plan.zero_stage, plan.sequence_parallel, to_string(plan.schedule), plan.virtual_stages,
                  partition_text(plan.partition), quoted_field(nodes_text(question.cluster, candidate.nodes)),
                  to_seconds(estimate.iteration), memory.count(), estimate.missing_memory.count());
  if (estimate.dollars_per_step) lines += format("{}", *estimate.dollars_per_step);
  lines += '\n';
}

}  // namespace nadi::inline show
