#include "nadi/train/run_recorder.h"

namespace nadi {
RunTraceFiles run_trace_files(const std::filesystem::path& folder, const std::string& name) {
  return {.kineto = folder / (name + "_trace_kineto.json"),
          .chakra = folder / (name + "_trace.et"),
          .stacks = folder / (name + "_trace_stacks.txt")};
}

RunRecorder::RunRecorder(RecorderOptions options, const Program& program)
    : options_(std::move(options)), program_(program) {
  if (options_.overwrite == Overwrite::kAllow) return;
  refuse_existing(files());
}

ExecutedStep* RunRecorder::begin_step(std::int64_t step) {
  if (seen_ < options_.wait || finished()) return nullptr;
  current_ = {.step = step};
  return &current_;
}

bool RunRecorder::end_step() {
  if (finished()) return false;
  if (seen_ >= options_.wait + options_.warmup) kept_.push_back(std::move(current_));
  ++seen_;
  return finished();
}

void RunRecorder::write() const {
  write_run_traces(files(), program_, kept_,
                   {.name = options_.name, .overwrite = options_.overwrite, .metadata = options_.metadata});
}

}  // namespace nadi
