#include "nadi/step/step_answer.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/devices/make_engine.h"
#include "nadi/engine/kernel_plan.h"
#include "nadi/graph/op.h"
#include "nadi/parallel/model_parameters.h"
#include "nadi/parallel/step_summary.h"

namespace nadi::inline ask {
namespace {

// nullptr means none is asked about.
const DeviceEntry* device_of(const RankQuestion& question) {
  if (question.device.empty()) return nullptr;
  std::vector<std::string_view> known;
  for (const DeviceEntry& entry : devices()) {
    if (!entry.plans_memory) continue;
    if (entry.name == question.device) return &entry;
    known.push_back(entry.name);
  }
  throw usage_error(format("unknown device '{}'", question.device), did_you_mean(question.device, known));
}

std::int64_t stage_of(const RankQuestion& question, const Plan& plan) {
  const std::int64_t rank = question.rank;
  if (rank < 0 || rank >= plan.world_size())
    throw usage_error(format("rank {} is outside of the plan, which has {} rank{}", rank, plan.world_size(),
                             plan.world_size() == 1 ? "" : "s"),
                      plan.world_size() == 1 ? "a step that is split has more"
                                             : format("ranks are 0 to {}", plan.world_size() - 1));
  return coordinates_of(plan, Rank{static_cast<std::int32_t>(rank)}).pp;
}

DeviceAnswer answer_of(const DeviceEntry& device, const Program& program, const MathOptions& math) {
  const KernelPlan kernels = plan_kernels(device.kind, program, {.math = math});
  DeviceAnswer answer{.name = device.name, .memory = engine_memory(program, kernels)};
  for (const Instruction& instruction : program.instructions) {
    const Section& section = program.section(instruction.section);
    const std::span ops = program.graph_of(section).ops();
    for (std::uint32_t i = section.first_op; i < section.end_op; ++i)
      answer.ops += definition(ops[i].kind).op_class != OpClass::kView;
    for (const PlannedKernel& kernel : kernels.graphs[section.graph])
      answer.kernels += kernel.first_op >= section.first_op && kernel.end_op <= section.end_op;
  }
  return answer;
}

}  // namespace

ResolvedStep resolve(const RankQuestion& question) {
  const DeviceEntry* const device = device_of(question);  // mistakes first
  ResolvedStep step = resolve_step(question.step);
  if (device != nullptr && device->kind != DeviceKind::kCuda && !question.step.dtype)
    step.request.dtype = kDefaultDtypeOfCpus;
  return step;
}

Program program_of(const RankQuestion& question, const ResolvedStep& step) {
  return build_step(step.config, step.request, step.plan, stage_of(question, step.plan));
}

StepAnswer describe_step(const RankQuestion& question, ResolvedStep step) {
  const std::int64_t stage = stage_of(question, step.plan);
  const DeviceEntry* const device = device_of(question);
  if (question.deterministic && device == nullptr)
    throw usage_error("what gives the same bits again is known of a device", "name the device");
  std::optional<Program> program;
  if (device != nullptr) program = program_of(question, step);
  const ModelConfig& config = step.config;
  // Not in the braces of the answer: GCC 12 destroys what is there twice when a later one of them throws.
  RankPlace place = place_of(config, step.plan, Rank{static_cast<std::int32_t>(question.rank)});
  ProgramSummary summary =
      program ? summarize(*program) : summarize_step(config, step.request, step.plan, stage);
  StepAnswer answer{.step = {},
                    .place = std::move(place),
                    .summary = std::move(summary),
                    .model_parameters = model_parameters(config)};
  if (device != nullptr)
    answer.device = answer_of(*device, *program, {.deterministic = question.deterministic});
  answer.step = std::move(step);
  return answer;
}

StepAnswer describe_step(const RankQuestion& question) {
  return describe_step(question, resolve(question));
}

}  // namespace nadi::inline ask
