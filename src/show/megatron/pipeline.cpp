#include "nadi/megatron/pipeline.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/command_line/flags.h"

namespace nadi::inline show {
namespace {

// Several chunks of layers per rank.
void apply_chunks(const Flags& flags, const ModelConfig& config, Plan& plan) {
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

// A first and a last stage of other sizes than the stages between them.
void apply_partition(const Flags& flags, const ModelConfig& config, Plan& plan) {
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

void apply_pipeline_flags(const Flags& flags, const ModelConfig& config, Plan& plan) {
  apply_chunks(flags, config, plan);
  apply_partition(flags, config, plan);
}

}  // namespace nadi::inline show
