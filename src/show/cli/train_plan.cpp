#include "nadi/cli/train_plan.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cli/plan_file_flag.h"
#include "nadi/cli/plan_flags.h"
#include "nadi/command_line/flags.h"
#include "nadi/megatron/pipeline.h"
#include "nadi/step/step_question.h"

namespace nadi::inline show {

std::int64_t ranks_to_start(const Flags& flags) {
  return flags.integer("--num-ranks").value_or(1);
}

std::int64_t wanted_ranks(const PlannedFlags& planned) {
  return planned.file ? planned.file->plan.world_size() : ranks_to_start(planned.flags);
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
  apply_pipeline_flags(flags, config, plan);
  const std::int64_t model_ranks = plan.tp * plan.cp * plan.pp;
  const std::string sizes = format("tp {} x cp {} x pp {}", plan.tp, plan.cp, plan.pp);
  const std::string start = "start the number of ranks that the plan needs: --num-ranks N, or mpirun -n N";
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

}  // namespace nadi::inline show
