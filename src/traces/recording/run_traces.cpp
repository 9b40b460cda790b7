#include "nadi/recording/run_traces.h"

#include <unistd.h>

#include <chrono>

#include "nadi/base/atomic_file_set.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/parallel/program.h"
#include "nadi/recording/execution.h"
#include "nadi/recording/execution_memory.h"
#include "nadi/recording/kineto_writer.h"
#include "nadi/recording/op_stacks.h"
#include "nadi/unroll/process_groups.h"

namespace nadi::inline traces {

Nanoseconds clock_origin_now() {
  using std::chrono::duration_cast, std::chrono::nanoseconds;
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  const auto steady = std::chrono::steady_clock::now().time_since_epoch();
  return Nanoseconds{duration_cast<nanoseconds>(wall).count() - duration_cast<nanoseconds>(steady).count()};
}

std::vector<std::filesystem::path> RunTraceFiles::all() const {
  std::vector<std::filesystem::path> written;
  for (const std::filesystem::path* path : {&kineto, &chakra, &stacks, &first_chakra, &groups})
    if (!path->empty()) written.push_back(*path);
  return written;
}

void refuse_existing(const RunTraceFiles& files) {
  for (const std::filesystem::path& path : files.all()) nadi::refuse_existing(path);
}

void write_run_traces(const RunTraceFiles& files, const Program& program, std::span<const ExecutedStep> steps,
                      const RunTraceOptions& options) {
  const bool of_many = options.plan != nullptr && options.plan->world_size() > 1;
  const std::int32_t rank = to_number(options.rank);
  const Nanoseconds origin = options.clock_origin ? *options.clock_origin : clock_origin_now();
  const ExecutionMemory memory(program);
  AtomicFileSet written(options.overwrite, Durability::kNow);
  AtomicFile& kineto = written.add(files.kineto);
  write_kineto(program, steps,
               {.trace_name = options.name,
                .clock_origin = origin - options.clock_offset,
                .process = getpid(),
                .process_name = of_many ? format("nadi rank {}", rank) : "nadi",
                .plan = options.plan,
                .rank = options.rank,
                .group_kinds = options.group_kinds,
                .memory = [&](const ExecutedStep& step,
                              const ExecutedKernel& kernel) { return memory.alive(step, kernel); },
                .reserved = memory.reserved()},
               [&](std::string_view part) { kineto.write(part); });
  written.close(kineto);

  ExecutionTrace executed = trace_execution(program, steps,
                                            {.plan = options.plan,
                                             .rank = options.rank,
                                             .group_kinds = options.group_kinds,
                                             .clock_offset = options.clock_offset});
  for (const auto& [name, value] : options.metadata) executed.trace.metadata.attributes.add_text(name, value);
  if (of_many) executed.trace.metadata.attributes.add_int64("rank", rank);
  std::vector<AtomicFile*> chakra{&written.add(files.chakra)};
  if (!files.first_chakra.empty()) chakra.push_back(&written.add(files.first_chakra));
  write_chakra(executed.trace, [&](std::string_view part) {
    for (AtomicFile* file : chakra) file->write(part);
  });
  for (AtomicFile* file : chakra) written.close(*file);
  if (!files.groups.empty()) {
    check(options.plan != nullptr, "groups are those of a plan");
    const ProcessGroups numbered(
        *options.plan, options.group_kinds.empty() ? collective_groups(program) : options.group_kinds);
    written.write(files.groups, numbered.to_json());
  }

  written.write(files.stacks, op_stacks(program, steps));
  written.publish();
}

}  // namespace nadi::inline traces
