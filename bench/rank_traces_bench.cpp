// How fast the traces of all ranks of a large job are written: Llama 3.1 70B on 1,024 ranks, 8 micro-batches
// each. Prints nodes and bytes per second; times of the program as a whole come from /usr/bin/time.
//
//   rank_traces_bench [PREFIX]        default: a folder of its own below the system's temporary one

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "nadi/model/catalogue.h"
#include "nadi/parallel/step_program.h"
#include "nadi/unroll/rank_traces.h"

namespace nadi {
namespace {

namespace fs = std::filesystem;

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

void run(const fs::path& prefix) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  const auto start = Clock::now();
  const Plan plan{.tp = 8, .dp = 32, .pp = 4, .micro_batches = 8};
  const StepRequest request{.batch_size = 8, .seq_length = 8192, .dtype = DType::kBF16};
  std::vector<Program> programs;
  for (std::int64_t stage = 0; stage < plan.pp; ++stage)
    programs.push_back(build_step(*find_built_in_model("llama3.1-70b"), request, plan, stage));
  std::vector<const Program*> stages;
  for (const Program& program : programs) stages.push_back(&program);
  const double built = since(start);
  const RankTraceReport report =
      write_rank_traces(plan, stages, prefix, {.overwrite = Overwrite::kAllow, .metadata = {}});
  const double written = since(start) - built;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);

  const auto nodes = static_cast<double>(report.nodes);
  const auto bytes = static_cast<double>(report.bytes.count());
  std::printf("rank_traces: %lld files, %lld nodes, %.3f GB, %.1f bytes per node\n",
              static_cast<long long>(report.files), static_cast<long long>(report.nodes), bytes / 1e9,
              bytes / nodes);
  std::printf("rank_traces: programs built in %.2f s, traces written in %.2f s: %.2f M nodes/s, %.0f MB/s\n",
              built, written, nodes / written / 1e6, bytes / written / 1e6);
  std::printf("rank_traces: user %.2f s, system %.2f s, most memory %.0f MB\n", seconds(usage.ru_utime),
              seconds(usage.ru_stime), static_cast<double>(usage.ru_maxrss) / 1e3);
}

}  // namespace
}  // namespace nadi

int main(int count, char** arguments) {
  if (count > 1) {
    nadi::run(arguments[1]);
    return 0;
  }
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "nadi_rank_traces_bench";
  nadi::run(folder / "step");
  std::filesystem::remove_all(folder);
}
