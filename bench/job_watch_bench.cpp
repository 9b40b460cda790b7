// What `nadi job watch` costs on large logs: the first reading, and refreshes while every node goes on
// writing.
//
//   job_logs_gen FOLDER nodes=64 megabytes=50 && job_watch_bench FOLDER/10932251 [refreshes=50]
//
// Before each refresh a few lines are appended to the .out file of every node; the files are cut to their old
// sizes at the end. A refresh is all that a frame takes: reading what is new, the rules of health, the
// screen.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "nadi/job_health/job_health.h"
#include "nadi/job_log/job_follower.h"
#include "nadi/report/watch_report.h"

namespace nadi::bench {
namespace {

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

double megabytes_in_use() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return static_cast<double>(use.ru_maxrss) / 1024;
}

void frame(const JobLog& log) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const JobObservation seen{.log = log, .now = now};
  WatchedState state{.log = log, .title = "bench", .now = now};
  state.progress = progress_of(seen);
  state.runs = runs_now(seen);
  state.findings = job_findings(seen);
  if (watch_screen(state, {}).size() != 24) std::abort();
}

void run(const std::filesystem::path& folder, int refreshes) {
  JobFollower follower({folder});
  const auto begin = std::chrono::steady_clock::now();
  follower.refresh();
  frame(follower.log());
  const JobLog& log = follower.log();
  std::printf("first reading: %.0f ms for %zu nodes and %.0f MB\n", milliseconds_since(begin),
              log.nodes.size(), static_cast<double>(log.size.count()) / 1e6);
  std::vector<std::pair<std::filesystem::path, std::uintmax_t>> sizes;
  for (const NodeLog& node : log.nodes)
    if (!node.out.path.empty()) sizes.emplace_back(node.out.path, std::filesystem::file_size(node.out.path));
  std::vector<double> times;
  for (int i = 0; i < refreshes; ++i) {
    for (const auto& [path, size] : sizes) {
      std::ofstream out(path, std::ios::app);
      for (int line = 0; line < 20; ++line)
        out << "a line of no interest, as programs write them, number " << line << "\n";
    }
    const auto start = std::chrono::steady_clock::now();
    follower.refresh();
    frame(follower.log());
    times.push_back(milliseconds_since(start));
  }
  for (const auto& [path, size] : sizes) std::filesystem::resize_file(path, size);
  std::ranges::sort(times);
  std::printf("refresh: median %.1f ms, longest %.1f ms of %zu\n", times[times.size() / 2], times.back(),
              times.size());
  std::printf("memory: %.0f MB at most\n", megabytes_in_use());
}

}  // namespace
}  // namespace nadi::bench

int main(int count, char** words) {
  if (count < 2) {
    std::fprintf(stderr, "usage: job_watch_bench FOLDER [REFRESHES]\n");
    return 2;
  }
  try {
    nadi::bench::run(words[1], count > 2 ? std::max(1, std::atoi(words[2])) : 50);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 3;
  }
  return 0;
}
