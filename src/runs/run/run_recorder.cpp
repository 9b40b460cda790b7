#include "nadi/run/run_recorder.h"

#include "nadi/base/error.h"
#include "nadi/recording/kineto_merge.h"

namespace nadi::inline runs {

RunTraceFiles run_trace_files(const std::filesystem::path& folder, const std::string& name, Rank rank,
                              std::int64_t ranks) {
  const std::string number = ranks == 1 ? "" : "." + std::to_string(to_number(rank));
  RunTraceFiles files{.kineto = folder / (name + "_trace_kineto" + number + ".json"),
                      .chakra = folder / (name + "_trace" + number + ".et"),
                      .stacks = folder / (name + "_trace_stacks" + number + ".txt")};
  if (ranks > 1 && rank == Rank{0}) {
    files.groups = folder / (name + "_trace.groups.json");
    files.first_chakra = folder / (name + "_trace.et");
  }
  return files;
}

std::filesystem::path merged_kineto_file(const std::filesystem::path& folder, const std::string& name) {
  return run_trace_files(folder, name).kineto;
}

RunRecorder::RunRecorder(RecorderOptions options) : options_(std::move(options)) {
  if (options_.overwrite == Overwrite::kAllow) return;
  if (records()) refuse_existing(files());
  if (ranks() > 1 && options_.rank == Rank{0})
    refuse_existing(merged_kineto_file(options_.folder, options_.name));
}

void RunRecorder::set_metadata(std::string_view name, std::string value) {
  for (auto& [key, current] : options_.metadata)
    if (key == name) current = std::move(value);
}

ExecutedStep* RunRecorder::begin_step(std::int64_t step, const Program& program) {
  if (seen_ < options_.wait || finished() || !records()) return nullptr;
  check(kept_.empty() || program_ == &program, "the steps of one trace run one program");
  program_ = &program;
  current_ = {.step = step};
  return &current_;
}

bool RunRecorder::end_step() {
  if (finished()) return false;
  if (records() && seen_ >= options_.wait + options_.warmup) kept_.push_back(std::move(current_));
  ++seen_;
  return finished();
}

void RunRecorder::write() const {
  if (!records()) return;
  check(program_ != nullptr, "nothing was recorded");
  write_run_traces(files(), *program_, kept_,
                   {.name = options_.name,
                    .overwrite = options_.overwrite,
                    .metadata = options_.metadata,
                    .plan = options_.plan,
                    .rank = options_.rank,
                    .group_kinds = options_.group_kinds,
                    .clock_offset = options_.clock_offset,
                    .clock_origin = options_.clock_origin});
}

std::filesystem::path RunRecorder::merge() const {
  check(options_.rank == Rank{0}, "rank 0 merges the files of all ranks");
  std::filesystem::path target = merged_kineto_file(options_.folder, options_.name);
  if (ranks() == 1) return target;
  std::vector<std::filesystem::path> paths;
  for (std::int32_t rank = 0; rank < ranks(); ++rank)
    if (is_recorded(rank))
      paths.push_back(run_trace_files(options_.folder, options_.name, Rank{rank}, ranks()).kineto);
  merge_kineto_files(paths, target, options_.overwrite);
  return target;
}

}  // namespace nadi::inline runs
