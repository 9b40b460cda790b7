#include "nadi/cli/train_plan.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cli/plan_flags.h"
#include "nadi/command_line/flags.h"

namespace nadi {
namespace {

// Megatron's flags for pipelines of several chunks per rank.
void resolve_chunks(const Flags& flags, const ModelConfig& config, Plan& plan) {
  constexpr std::string_view kLayers = "--num-layers-per-virtual-pipeline-stage";
  constexpr std::string_view kChunks = "--num-virtual-stages-per-pipeline-rank";
  const auto layers = flags.integer(kLayers);
  const auto chunks = flags.integer(kChunks);
  if (!layers && !chunks) return;
  for (const std::string_view own : {"--virtual-stages", "--schedule"})
    if (flags.given(own))
      throw usage_error(format("{} and {} contradict each other", own, layers ? kLayers : kChunks));
  if (layers && chunks) throw usage_error(format("{} and {} contradict each other", kLayers, kChunks));
  if (layers && config.layers / plan.pp % *layers != 0)
    throw usage_error(
        format("{} layers on {} stages do not divide into chunks of {}", config.layers, plan.pp, *layers),
        format("{} divides --num-layers / --pp", kLayers));
  if (layers && config.layers % plan.pp != 0)
    throw usage_error(format("{} layers do not divide over {} stages", config.layers, plan.pp));
  if (chunks && *chunks > config.layers / plan.pp)
    throw usage_error(
        format("{} layers on {} stages do not make {} chunks each", config.layers, plan.pp, *chunks));
  plan.virtual_stages = layers ? config.layers / plan.pp / *layers : *chunks;
  if (plan.virtual_stages > 1) plan.schedule = ScheduleKind::kInterleaved;
}

// Megatron's flags for a first and a last stage of other sizes than those between.
void resolve_partition(const Flags& flags, const ModelConfig& config, Plan& plan) {
  constexpr std::string_view kFirst = "--decoder-first-pipeline-num-layers",
                             kLast = "--decoder-last-pipeline-num-layers";
  const auto first = flags.integer(kFirst), last = flags.integer(kLast);
  if (!first && !last) return;
  const std::string_view given = first ? kFirst : kLast;
  if (flags.given("--partition"))
    throw usage_error(format("{} and --partition contradict each other", given));
  if (plan.virtual_stages > 1)
    throw usage_error(format("{}: not with several chunks per stage", given), "give --partition");
  const std::int64_t others = plan.pp - (first ? 1 : 0) - (last ? 1 : 0);
  const std::int64_t left = config.layers - first.value_or(0) - last.value_or(0);
  if (others < 0 || left < 0 || (others == 0 && left != 0) || (others > 0 && left % others != 0))
    throw usage_error(
        format("{} layers: {} on the first and the last of {} stages leave {} for the {} between",
               config.layers, first.value_or(0) + last.value_or(0), plan.pp, left,
               std::max<std::int64_t>(others, 0)),
        "what is left divides over the stages that are left");
  if (first) plan.partition.push_back(*first);
  for (std::int64_t i = 0; i < others; ++i) plan.partition.push_back(left / others);
  if (last) plan.partition.push_back(*last);
}

}  // namespace

std::int64_t ranks_to_start(const Flags& flags) {
  return flags.integer("--num-ranks").value_or(1);
}

Plan resolve_train_plan(const Flags& flags, const ModelConfig& config, std::int64_t ranks,
                        std::vector<std::string>& notes) {
  if (const auto wanted = flags.integer("--num-ranks"); wanted && *wanted != ranks)
    throw usage_error(
        format("--num-ranks is {}; {} rank{} running", *wanted, ranks, ranks == 1 ? " is" : "s are"),
        "leave it out where mpirun or srun starts the ranks");
  Plan plan = resolve_plan(flags);
  if (flags.given("--use-distributed-optimizer")) {
    if (flags.given("--zero") && plan.zero_stage == 0)
      throw usage_error("--zero 0 and --use-distributed-optimizer contradict each other");
    plan.zero_stage = 1;
  }
  resolve_chunks(flags, config, plan);
  resolve_partition(flags, config, plan);
  const std::int64_t model_ranks = plan.tp * plan.cp * plan.pp;
  const std::string sizes = format("tp {} x cp {} x pp {}", plan.tp, plan.cp, plan.pp);
  const std::string start = "start as many ranks as the plan needs: --num-ranks N, or mpirun -n N";
  if (flags.given("--dp") && plan.world_size() != ranks)
    throw usage_error(format("the plan needs {} x dp {} = {} ranks; {} {} running", sizes, plan.dp,
                             plan.world_size(), ranks, ranks == 1 ? "is" : "are"),
                      start);
  if (ranks % model_ranks != 0)
    throw usage_error(format("{} rank{} not divide into copies of the model on {} = {} ranks", ranks,
                             ranks == 1 ? " does" : "s do", sizes, model_ranks),
                      start);
  plan.dp = ranks / model_ranks;
  if (std::string note = empty_stages_note(config, plan); !note.empty()) notes.push_back(std::move(note));
  if (plan.sequence_parallel && plan.tp == 1) {
    plan.sequence_parallel = false;
    notes.push_back("--sequence-parallel has no effect with one tensor-parallel rank");
  }
  return plan;
}

}  // namespace nadi
