#include "nadi/generate/generation_traces.h"

#include "nadi/base/format.h"
#include "nadi/base/version.h"
#include "nadi/comm/communicator.h"
#include "nadi/generate/generation_request.h"
#include "nadi/model/compute_dtypes.h"
#include "nadi/parallel/step_program.h"
#include "nadi/recording/kineto_merge.h"
#include "nadi/run/rank_clock.h"
#include "nadi/unroll/plan_metadata.h"

namespace nadi::inline runs {
namespace {

std::vector<std::pair<std::string, std::string>> metadata_of(const GenerationRequest& request,
                                                             const Plan& plan) {
  const GeneratorOptions& options = request.options;
  std::vector<std::pair<std::string, std::string>> metadata{
      {"generator", format("nadi {}", version())},
      {"model", request.model},
      {"step", "generate"},
      {"batch_size", format("{}", options.batch_size)},
      {"num_input_tokens", format("{}", options.input_tokens)},
      {"num_output_tokens", format("{}", options.output_tokens)},
      {"dtype", std::string(name_of(options.dtype))},
      {"temperature", format("{}", options.temperature)},
      {"top_k", format("{}", options.top_k)},
      {"top_p", format("{}", options.top_p)},
      {"seed", format("{}", options.seed)}};
  const auto of_plan = plan_metadata(plan, resolved_partition(request.config, plan), PlannedStep::kOther);
  metadata.insert(metadata.end(), of_plan.begin(), of_plan.end());
  return metadata;
}

void merge_traces(const GenerationRequest& request, std::int64_t ranks) {
  std::vector<std::filesystem::path> parts;
  for (std::int32_t rank = 0; rank < ranks; ++rank)
    parts.push_back(generation_trace_files(request.trace_prefix, ranks, Rank{rank}).kineto);
  merge_kineto_files(parts, generation_kineto_file(request.trace_prefix), request.overwrite);
}

}  // namespace

RunTraceFiles generation_trace_files(const std::string& prefix, std::int64_t ranks, Rank rank) {
  const std::string number = ranks > 1 ? format(".{}", to_number(rank)) : "";
  RunTraceFiles files{.kineto = format("{}_kineto{}.json", prefix, number),
                      .chakra = format("{}.{}.et", prefix, to_number(rank)),
                      .stacks = format("{}_stacks{}.txt", prefix, number)};
  if (ranks > 1 && rank == Rank{0}) files.groups = prefix + ".groups.json";
  return files;
}

std::filesystem::path generation_kineto_file(const std::string& prefix) {
  return prefix + "_kineto.json";
}

void refuse_existing_traces(const std::string& prefix, const Communicator& world) {
  refuse_existing(generation_trace_files(prefix, world.size(), world.rank()));
  if (world.rank() == Rank{0}) refuse_existing(generation_kineto_file(prefix));
}

RunTraceFiles write_generation_traces(const GenerationRequest& request, const Generator& generator,
                                      const RankClock& clock) {
  Communicator& world = *request.options.world;
  const bool several = world.size() > 1;
  RunTraceFiles files = generation_trace_files(request.trace_prefix, world.size(), world.rank());
  write_run_traces(files, generator.program(), generator.recorded(),
                   {.name = std::filesystem::path(request.trace_prefix).filename().string(),
                    .overwrite = request.overwrite,
                    .metadata = metadata_of(request, generator.plan()),
                    .plan = several ? &generator.plan() : nullptr,
                    .rank = world.rank(),
                    .clock_offset = clock.offset,
                    .clock_origin = clock.wall_origin});
  if (several) {
    world.barrier(kWorld);
    if (world.rank() == Rank{0}) merge_traces(request, world.size());
  }
  return files;
}

}  // namespace nadi::inline runs
