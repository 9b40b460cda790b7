#include "nadi/trace/run_traces.h"

#include <unistd.h>

#include <chrono>

#include "nadi/parallel/program_memory.h"
#include "nadi/trace/chakra_writer.h"
#include "nadi/trace/execution.h"
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

void refuse_existing(const RunTraceFiles& files) {
  for (const std::filesystem::path* path : {&files.chakra, &files.kineto, &files.stacks})
    refuse_existing(*path);
}

void write_run_traces(const RunTraceFiles& files, const Program& program, std::span<const ExecutedStep> steps,
                      const RunTraceOptions& options) {
  const ProgramMemory memory = plan_program_memory(program);
  const auto live = [&](const ExecutedOp& op) {
    const Section& section = program.section(program.instructions[op.instruction].section);
    return memory.graphs[section.graph].plan.live[index(op.op)];
  };
  AtomicFile kineto(files.kineto, options.overwrite);
  write_kineto(program, steps,
               {.trace_name = options.name,
                .clock_origin = clock_origin(),
                .process = getpid(),
                .memory = live,
                .reserved = memory.total},
               [&](std::string_view part) { kineto.write(part); });

  ExecutionTrace executed = trace_execution(program, steps);
  for (const auto& [name, value] : options.metadata) executed.trace.metadata.attributes.add_text(name, value);
  AtomicFile chakra(files.chakra, options.overwrite);
  write_chakra(executed.trace, [&](std::string_view part) { chakra.write(part); });

  AtomicFile stacks(files.stacks, options.overwrite);
  stacks.write(op_stacks(program, steps));
  for (AtomicFile* file : {&kineto, &chakra, &stacks}) file->close(Durability::kNow);
  for (AtomicFile* file : {&kineto, &chakra, &stacks}) file->commit();
}

}  // namespace nadi
