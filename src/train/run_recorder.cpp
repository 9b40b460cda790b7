#include "nadi/train/run_recorder.h"

#include <unistd.h>

#include <chrono>

#include "nadi/parallel/program_memory.h"
#include "nadi/trace/chakra_writer.h"
#include "nadi/trace/kineto_writer.h"
#include "nadi/trace/op_stacks.h"

namespace nadi {
namespace {

// What the wall clock says minus what the steady clock says, now.
Nanoseconds clock_origin() {
  using std::chrono::duration_cast, std::chrono::nanoseconds;
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  const auto steady = std::chrono::steady_clock::now().time_since_epoch();
  return Nanoseconds{duration_cast<nanoseconds>(wall).count() - duration_cast<nanoseconds>(steady).count()};
}

}  // namespace

RunTraceFiles run_trace_files(const std::filesystem::path& folder, const std::string& name) {
  return {.kineto = folder / (name + "_trace_kineto.json"),
          .chakra = folder / (name + "_trace.et"),
          .stacks = folder / (name + "_trace_stacks.txt")};
}

RunRecorder::RunRecorder(RecorderOptions options, const Program& program)
    : options_(std::move(options)), program_(program) {
  if (options_.overwrite == Overwrite::kAllow) return;
  const RunTraceFiles targets = files();
  for (const std::filesystem::path& path : {targets.kineto, targets.chakra, targets.stacks})
    refuse_existing(path);
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
  const RunTraceFiles targets = files();
  const ProgramMemory memory = plan_program_memory(program_);
  const auto live = [&](const ExecutedOp& op) {
    const Section& section = program_.section(program_.instructions[op.instruction].section);
    return memory.graphs[section.graph].plan.live[index(op.op)];
  };
  AtomicFile kineto(targets.kineto, options_.overwrite);
  write_kineto(program_, kept_,
               {.trace_name = options_.name,
                .clock_origin = clock_origin(),
                .process = getpid(),
                .memory = live,
                .reserved = memory.total},
               [&](std::string_view part) { kineto.write(part); });

  ExecutionTrace executed = trace_execution(program_, kept_);
  for (const auto& [name, value] : options_.metadata)
    executed.trace.metadata.attributes.add_text(name, value);
  AtomicFile chakra(targets.chakra, options_.overwrite);
  ChakraWriter writer([&](std::string_view part) { chakra.write(part); }, executed.trace.metadata);
  TraceNode node;
  for (std::size_t row = 0; row < executed.trace.size(); ++row) {
    executed.trace.get(row, node);
    writer.write(node);
  }
  writer.finish();

  AtomicFile stacks(targets.stacks, options_.overwrite);
  stacks.write(op_stacks(program_, kept_));
  // All are written before the first appears.
  kineto.close(Durability::kNow);
  chakra.close(Durability::kNow);
  stacks.close(Durability::kNow);
  kineto.commit();
  chakra.commit();
  stacks.commit();
}

}  // namespace nadi
