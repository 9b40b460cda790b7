#include "nadi/cli/plan_flags.h"

#include <array>
#include <charconv>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/command_line/flags.h"
#include "nadi/step/step_question.h"

namespace nadi::inline show {
namespace {

constexpr std::array<std::string_view, 2> kZeroStages{"0", "1"};

}  // namespace

std::vector<std::int64_t> parse_partition(const std::string& text) {
  std::vector<std::int64_t> layers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    std::int64_t count = 0;
    const auto [after, error] = std::from_chars(at, end, count);
    if (error != std::errc{} || *at == '-' || (after != end && *after != '-'))
      throw usage_error(format("--partition takes the layers of each stage, not '{}'", text),
                        "12-12-12-12 are four stages of 12 layers");
    layers.push_back(count);
    if (after == end) return layers;
    at = after + 1;
  }
}

std::vector<PlanFlag> plan_flags() {
  const Plan plan;
  std::vector<std::string_view> names;
  std::string about_schedules = "order in which a stage computes its micro-batches";
  for (const ScheduleEntry& entry : schedules()) {
    names.push_back(entry.name);
    about_schedules += format("; {}: {}", entry.name, entry.summary);
  }
  constexpr bool kGenerating = true, kTrainingOnly = false;
  return {
      {value_flag("--tp", "N", "tensor-parallel ranks: they share each layer", format("{}", plan.tp)),
       kGenerating},
      {value_flag("--cp", "N", "context-parallel ranks: they share each sequence; training",
                  format("{}", plan.cp)),
       kTrainingOnly},
      {value_flag("--dp", "N", "data-parallel ranks: copies of the model, each with its part of the batch",
                  format("{}", plan.dp)),
       kGenerating},
      {value_flag("--pp", "N", "pipeline stages: they share the layers; training", format("{}", plan.pp)),
       kTrainingOnly},
      {value_flag(
           {"--ep", "--expert-model-parallel-size"}, "N",
           "expert-parallel ranks: they share the experts of a layer, and are ranks of --tp x --cp x --dp; "
           "training",
           format("{}", plan.ep)),
       kTrainingOnly},
      {value_flag({"--etp", "--expert-tensor-parallel-size"}, "N", "ranks that share each expert; training",
                  "as many as --tp"),
       kTrainingOnly},
      {switch_flag("--sequence-parallel",
                   "split norms and the residual stream over the --tp ranks, too; training"),
       kTrainingOnly},
      {value_flag("--partition", "A-B-C",
                  "transformer layers of each stage, 0 allowed; with --virtual-stages one number for each of "
                  "those, in the model's order",
                  "as even as possible, larger stages first"),
       kTrainingOnly},
      {value_flag("--schedule", "NAME", about_schedules, std::string(to_string(plan.schedule)),
                  {.choices = names}),
       kTrainingOnly},
      {value_flag("--virtual-stages", "N", "chunks of layers per rank; with --schedule interleaved",
                  format("{}", plan.virtual_stages)),
       kTrainingOnly},
      {value_flag("--zero", "STAGE", "1 splits the optimizer's state over the --dp ranks; training",
                  format("{}", plan.zero_stage), {.choices = {kZeroStages.begin(), kZeroStages.end()}}),
       kTrainingOnly},
  };
}

Plan resolve_plan(const Flags& flags) {
  Plan plan;
  plan.tp = flags.integer("--tp").value_or(plan.tp);
  plan.cp = flags.integer("--cp").value_or(plan.cp);
  plan.dp = flags.integer("--dp").value_or(plan.dp);
  plan.pp = flags.integer("--pp").value_or(plan.pp);
  plan.ep = flags.integer("--ep").value_or(plan.ep);
  plan.etp = flags.integer("--etp").value_or(plan.etp);
  plan.sequence_parallel = flags.given("--sequence-parallel");
  if (const auto choice = flags.choice("--zero")) plan.zero_stage = static_cast<std::int64_t>(*choice);
  if (const auto choice = flags.choice("--schedule")) plan.schedule = schedules()[*choice].kind;
  plan.virtual_stages = flags.integer("--virtual-stages").value_or(plan.virtual_stages);
  check_degrees(plan);
  if (const auto text = flags.text("--partition")) plan.partition = parse_partition(*text);
  return plan;
}

}  // namespace nadi::inline show
