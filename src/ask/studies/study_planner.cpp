#include "nadi/studies/study_planner.h"

#include <algorithm>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/model/compute_dtypes.h"
#include "nadi/prediction/planning_question.h"

namespace nadi::inline ask {
namespace {

// A flag that says more than Megatron-LM of before could be told.
constexpr std::string_view kLayoutFlag = "--pipeline-model-parallel-layout";

// Names that the study keeps as texts.
DType dtype_of(const std::string& name) {
  std::vector<std::string_view> known;
  for (const auto& [each, dtype] : kDTypes) {
    if (each == name) return dtype;
    known.push_back(each);
  }
  throw usage_error(format("there is no type '{}'", name), did_you_mean(name, known));
}

OptimizerKind optimizer_of(const std::string& name) {
  constexpr OptimizerKind kAll[]{OptimizerKind::kAdamW, OptimizerKind::kAdam, OptimizerKind::kSgd,
                                 OptimizerKind::kSgdSai};
  std::vector<std::string_view> known;
  for (const OptimizerKind kind : kAll) {
    if (to_string(kind) == name) return kind;
    known.push_back(to_string(kind));
  }
  throw usage_error(format("there is no optimizer '{}'", name), did_you_mean(name, known));
}

}  // namespace

StudyPlanner::StudyPlanner(const TuneStudy& tune) : tune_(tune) {
  if (!tune.planned.any()) return;
  const PlannedRun& planned = tune.planned;
  StepQuestion step{
      .model = planned.model, .global_batch_size = planned.global_batch_size, .fp8 = planned.fp8};
  if (planned.seq_length > 0) step.seq_length = planned.seq_length;
  if (!planned.dtype.empty()) step.dtype = dtype_of(planned.dtype);
  if (!planned.attention.empty()) step.fused_attention = planned.attention == attention_name(true);
  if (!planned.optimizer.empty()) step.optimizer.kind = optimizer_of(planned.optimizer);
  ResolvedPlanning asked =
      resolve(PlanningQuestion{.step = std::move(step), .on = {.cluster = planned.cluster}});
  question_ = std::move(asked.question);
  points_.emplace(tune.space);
  guide_.emplace(*question_, *points_, GuideOptions{.gpus = planned.gpus});
}

std::vector<NewTrial> StudyPlanner::first_trials(const std::function<void(const GuideProgress&)>& progress,
                                                 const Note& note) const {
  return nadi::first_trials(tune_, guide(), plan_of_file(note), progress);
}

std::optional<std::vector<double>> StudyPlanner::plan_of_file(const Note& note) const {
  const std::string& path = tune_.planned.plan_file;
  if (path.empty()) return std::nullopt;
  PlanFile file = read_plan_file(path);
  check_plan_file(file, path, question_->config);
  note_partition(file, note);
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
      note(format("{} places ranks on devices of its choice; the trials take the first {}", path,
                  devices.size()));
      break;
    }
  if (const auto why = guide_->refusal(point))
    note(format("by the planner's estimate the plan of {} cannot run: {}", path, *why));
  return point;
}

// Takes a partition that the space does not have out of the plan.
void StudyPlanner::note_partition(PlanFile& file, const Note& note) const {
  const std::string& path = tune_.planned.plan_file;
  const TuneParameter* parameter = tune_.space.find(tune_.space.plan.partition);
  if (parameter != nullptr) {
    for (const auto& [layers, words] : parameter->words)
      if (std::ranges::find(words, kLayoutFlag) != words.end())
        note(format("the layers {} of {} are given by {}, which Megatron-LM has since Megatron Core 0.13",
                    layers, path, kLayoutFlag));
    return;
  }
  const std::vector<std::int64_t> planned = std::exchange(file.plan.partition, {});
  const std::vector<std::int64_t> spread = resolved_partition(question_->config, file.plan);
  if (!planned.empty() && planned != spread)
    note(format("{} spreads layers as {}; the trials spread them as {}", path, fmt::join(planned, "-"),
                fmt::join(spread, "-")));
}

}  // namespace nadi::inline ask
