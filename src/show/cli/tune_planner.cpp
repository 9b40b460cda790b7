#include "nadi/cli/tune_planner.h"

#include <algorithm>
#include <array>
#include <functional>
#include <ostream>
#include <string>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/cli/cluster_flag.h"
#include "nadi/cli/computation_choices.h"
#include "nadi/cli/step_flags.h"
#include "nadi/command_line/flags.h"
#include "nadi/megatron/megatron_command.h"
#include "nadi/model/compute_dtypes.h"
#include "nadi/model/config_file.h"
#include "nadi/parallel/step_program.h"
#include "nadi/plan/plan_file.h"
#include "nadi/prediction/planning_question.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/progress_line.h"

namespace nadi::inline show {
namespace {

constexpr std::string_view kLayoutFlag = "--pipeline-model-parallel-layout";
constexpr std::array<std::string_view, 3> kPartitionFlags{"--decoder-first-pipeline-num-layers",
                                                          "--decoder-last-pipeline-num-layers", kLayoutFlag};

std::vector<std::string> partition_words(const ModelConfig& config, const PlanFile& file) {
  std::vector<std::string> words;
  for (const MegatronPlanFlag& flag : megatron_plan_flags(config, file).flags) {
    if (flag.use != MegatronPlanFlag::Use::kGiven ||
        std::ranges::find(kPartitionFlags, flag.name) == kPartitionFlags.end())
      continue;
    words.push_back(flag.name);
    words.insert(words.end(), flag.values.begin(), flag.values.end());
  }
  return words;
}

// Names that the study keeps as texts.
DType dtype_of(const std::string& name) {
  for (const auto& [known, dtype] : kDTypes)
    if (known == name) return dtype;
  throw usage_error(format("--dtype does not take '{}'", name), did_you_mean(name, dtype_names()));
}

OptimizerKind optimizer_of(const std::string& name) {
  for (const OptimizerKind kind : kOptimizers)
    if (to_string(kind) == name) return kind;
  throw usage_error(format("--optimizer does not take '{}'", name), did_you_mean(name, optimizer_names()));
}

// Says what the planner does, once it takes longer than a moment.
class PlannerProgress {
 public:
  PlannerProgress(const PlannedRun& planned, Console& console)
      : planned_(planned),
        console_(console),
        clock_(steady_clock()),
        start_(clock_()),
        line_(console, "plans simulated", clock_) {}

  void operator()(const GuideProgress& at) {
    constexpr Nanoseconds kMoment{1'000'000'000};
    console_.check_interrupted();
    if (clock_() - start_ < kMoment) return;
    if (!at.simulates && !std::exchange(said_ranking_, true))
      console_.info() << format("note: the planner estimates the plans of the space for {} on {}\n",
                                planned_.model, planned_.cluster);
    if (!at.simulates) return;
    if (!std::exchange(said_simulating_, true))
      console_.info() << format("note: the planner simulates the best {} by its estimates\n",
                                at.total == 1 ? "plan" : format("{} plans", at.total));
    line_.show(at.done, at.total);
  }

 private:
  const PlannedRun& planned_;
  Console& console_;
  Clock clock_;
  Nanoseconds start_;
  ProgressLine line_;
  bool said_ranking_ = false, said_simulating_ = false;
};

}  // namespace

void add_planner_flags(Flags& flags) {
  FlagHeading group(flags, "the planner, for spaces of plans (--preset megatron)");
  group.value("--model", "MODEL", "what PROGRAM trains: a built-in model, a config.json, a checkpoint folder",
              "none");
  group.value({"--cluster", "--hw-config"}, "NAME",
              "the hardware: the planner's best plan is tried first, and what does not fit is never tried",
              "none");
  group.value("--gpus", "N", "GPUs that PROGRAM uses", "all of --cluster");
  group.value("--global-batch-size", "N", "sequences of a step", "the preset's");
  group.value("--seq-length", "N", "tokens per sequence", "the model's");
  group.value("--dtype", "TYPE", "type of parameters and activations: fp32, bf16, fp16", kDefaultDtypeRule);
  group.value(
      "--plan", "FILE",
      "a plan of 'nadi plan --emit', which is tried first; its model, cluster and batch stand in for the "
      "flags "
      "above",
      "none");
}

PlannedRun resolve_planned(const Flags& flags) {
  PlannedRun planned{.model = flags.text("--model").value_or(""),
                     .cluster = flags.text("--cluster").value_or(""),
                     .plan_file = flags.text("--plan").value_or(""),
                     .gpus = flags.integer("--gpus").value_or(0),
                     .global_batch_size = flags.integer("--global-batch-size").value_or(0),
                     .seq_length = flags.integer("--seq-length").value_or(0),
                     .dtype = flags.text("--dtype").value_or("")};
  if (!planned.plan_file.empty()) {
    for (const std::string_view flag :
         {"--model", "--cluster", "--global-batch-size", "--seq-length", "--dtype"})
      if (flags.given(flag))
        throw usage_error(format("--plan and {} contradict each other", flag), "the plan says it");
    const PlanFile file = read_plan_file(planned.plan_file);
    planned.model = file.model;
    planned.cluster = file.cluster;
    planned.global_batch_size = file.global_batch_size;
    planned.seq_length = file.seq_length;
    planned.dtype = std::string(name_of(file.dtype));
    planned.fp8 = file.fp8;
    planned.attention = attention_name(file.fused_attention);
    planned.optimizer = to_string(file.optimizer);
    const std::int64_t ranks = file.plan.world_size();
    if (planned.gpus != 0 && planned.gpus != ranks)
      throw usage_error(
          format("--gpus {}, and the plan of {} is for {}", planned.gpus, planned.plan_file, ranks),
          "leave --gpus out");
    planned.gpus = ranks;
    if (planned.cluster.empty())
      throw usage_error(format("{} names no cluster", planned.plan_file), "plan with --cluster");
  }
  if (!planned.cluster.empty() && planned.model.empty())
    throw usage_error("--cluster needs --model", "the planner plans a model");
  if (!planned.cluster.empty() && planned.global_batch_size == 0)
    throw usage_error("--cluster needs --global-batch-size", "the planner splits that batch over the ranks");
  // Constraints of the space divide them.
  if (!planned.cluster.empty() && planned.gpus == 0) planned.gpus = given_cluster(flags)->device_count();
  return planned;
}

void add_planned_partition(const PlannedRun& planned, TuneSpace& space) {
  const std::string name = space.plan.partition;
  if (planned.plan_file.empty() || space.find_constant(name) == nullptr ||
      space.find(space.plan.pp) == nullptr)
    return;
  const PlanFile file = read_plan_file(planned.plan_file);
  if (file.plan.partition.empty()) return;
  const std::string layers = partition_value(file.plan.partition);
  if (layers == kEvenPartition) return;
  const ModelConfig config = load_model_config(planned.model);
  check_plan_file(file, planned.plan_file, config);
  const std::string even(kEvenPartition);
  TuneParameter parameter{.name = name, .fallback = even};
  parameter.distribution =
      std::make_shared<const ParameterDistribution>(CategoricalDistribution{.choices = {even, layers}});
  parameter.words.emplace(layers, partition_words(config, file));
  std::erase_if(space.constants, [&](const auto& constant) { return constant.first == name; });
  // Behind the number of stages: what follows is decided under both.
  const auto stages = std::ranges::find(space.parameters, space.plan.pp, &TuneParameter::name);
  space.parameters.insert(stages + 1, std::move(parameter));
  space.constraints.push_back(
      {.expression = Expression::parse(
           format("{} == '{}' or {} == {}", name, even, space.plan.pp, file.plan.pp), planned.plan_file),
       .because = format("{} are layers of {} stages", layers, file.plan.pp)});
}

TunePlanner::TunePlanner(const TuneStudy& tune, Console& console) : tune_(tune) {
  if (!tune.planned.any()) return;
  const PlannedRun& planned = tune.planned;
  StepQuestion step{
      .model = planned.model, .global_batch_size = planned.global_batch_size, .fp8 = planned.fp8};
  if (planned.seq_length > 0) step.seq_length = planned.seq_length;
  if (!planned.dtype.empty()) step.dtype = dtype_of(planned.dtype);
  if (!planned.attention.empty()) step.fused_attention = planned.attention == attention_name(true);
  if (!planned.optimizer.empty()) step.optimizer.kind = optimizer_of(planned.optimizer);
  ResolvedPlanning asked = resolve({.step = std::move(step), .on = {.cluster = planned.cluster}});
  name_ignored_keys(asked.question.config, console);
  question_ = std::move(asked.question);
  points_.emplace(tune.space);
  guide_.emplace(*question_, *points_, GuideOptions{.gpus = planned.gpus});
}

std::vector<NewTrial> TunePlanner::first_trials(Console& console) const {
  PlannerProgress progress(tune_.planned, console);
  return nadi::first_trials(tune_, guide(), plan_of_file(console), std::ref(progress));
}

std::optional<std::vector<double>> TunePlanner::plan_of_file(Console& console) const {
  const std::string& path = tune_.planned.plan_file;
  if (path.empty()) return std::nullopt;
  PlanFile file = read_plan_file(path);
  check_plan_file(file, path, question_->config);
  note_partition(file, console);
  std::vector<double> point;
  try {
    point = guide_->point_of_plan(file.plan, file.micro_batch_size, file.recompute);
  } catch (const Error& error) {
    throw usage_error(format("the space does not have the plan of {}: {}", path, error.message()),
                      error.hint());
  }
  if (const auto why = points_->violated(point))
    throw usage_error(format("the space does not have the plan of {}: {}", path, *why),
                      "'nadi plan --even' spreads layers as Megatron does");
  const std::vector<DeviceId> devices = placed_devices(file);
  for (std::size_t rank = 0; rank < devices.size(); ++rank)
    if (static_cast<std::size_t>(devices[rank]) != rank) {
      console.info() << format(
          "note: {} places ranks on devices of its choice; the trials take the first {}\n", path,
          devices.size());
      break;
    }
  if (const auto why = guide_->refusal(point))
    console.info() << format("note: by the planner's estimate the plan of {} cannot run: {}\n", path, *why);
  return point;
}

// Takes a partition that the space does not have out of the plan.
void TunePlanner::note_partition(PlanFile& file, Console& console) const {
  const std::string& path = tune_.planned.plan_file;
  const TuneParameter* parameter = tune_.space.find(tune_.space.plan.partition);
  if (parameter != nullptr) {
    for (const auto& [layers, words] : parameter->words)
      if (std::ranges::find(words, kLayoutFlag) != words.end())
        console.info() << format(
            "note: the layers {} of {} are given by {}, which Megatron-LM has since Megatron Core 0.13\n",
            layers, path, kLayoutFlag);
    return;
  }
  const std::vector<std::int64_t> planned = std::exchange(file.plan.partition, {});
  const std::vector<std::int64_t> spread = resolved_partition(question_->config, file.plan);
  if (!planned.empty() && planned != spread)
    console.info() << format("note: {} spreads layers as {}; the trials spread them as {}\n", path,
                             fmt::join(planned, "-"), fmt::join(spread, "-"));
}

}  // namespace nadi::inline show
