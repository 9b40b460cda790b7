// How fast PyTorch's traces are read: MB/s and processor time per event or node, and memory. The first round
// is shown by itself, since it pays for the memory.
//
//   pytorch_reader_bench FILE [ROUNDS]        a Kineto trace or a host trace; default: 3 rounds

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/pytorch/file_kind.h"
#include "nadi/pytorch/host_trace.h"
#include "nadi/pytorch/kineto_reader.h"

namespace nadi {
namespace {

struct Figures {
  double records = 0;
  double rows = 0;
  double bytes = 0;
  double memory = 0;  // of the result
};

template <typename T>
double held(const std::vector<T>& values) {
  return static_cast<double>(values.size() * sizeof(T));
}

Figures read_once(const std::filesystem::path& path, bool host) {
  if (host) {
    const HostTrace trace = read_host_trace(path);
    return {.records = static_cast<double>(trace.damage.records),
            .rows = static_cast<double>(trace.nodes.size()),
            .bytes = static_cast<double>(trace.damage.bytes),
            .memory = static_cast<double>(trace.nodes.memory().count()) + held(trace.record_function) +
                      held(trace.thread)};
  }
  const KinetoTrace trace = read_kineto(path);
  return {.records = static_cast<double>(trace.counts.events),
          .rows = static_cast<double>(trace.events.size()),
          .bytes = static_cast<double>(trace.counts.damage.bytes),
          .memory = static_cast<double>(trace.events.memory().count()) + held(trace.category) +
                    held(trace.lane) + held(trace.correlation) + held(trace.external_id) +
                    held(trace.record_function)};
}

// Of this process so far, so that others on the machine count less.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void run(const std::filesystem::path& path, int rounds) {
  const bool host = json_file_kind(path) == JsonFileKind::kPytorchHost;
  double first = 0;
  double best = 1e30;
  Figures figures;
  for (int round = 0; round < rounds; ++round) {
    const double start = processor_seconds();
    figures = read_once(path, host);
    const double seconds = processor_seconds() - start;
    if (round == 0) first = seconds;
    best = std::min(best, seconds);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("pytorch_reader: %.0f records, %.0f rows, %.1f MB, %.0f bytes per record\n", figures.records,
              figures.rows, figures.bytes / 1e6, figures.bytes / figures.records);
  const auto print = [&](const char* what, double seconds) {
    std::printf("pytorch_reader: %s: %.2f ms, %.0f MB/s, %.0f ns per record\n", what, seconds * 1e3,
                figures.bytes / seconds / 1e6, seconds / figures.records * 1e9);
  };
  print("first round", first);
  print("best round", best);
  std::printf("pytorch_reader: result of %.1f MB (%.0f bytes per row), most memory %.1f MB\n",
              figures.memory / 1e6, figures.memory / figures.rows,
              static_cast<double>(usage.ru_maxrss) / 1e3);
}

}  // namespace
}  // namespace nadi

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: pytorch_reader_bench FILE [ROUNDS]\n");
    return 2;
  }
  try {
    nadi::run(arguments[1], count > 2 ? std::atoi(arguments[2]) : 3);
  } catch (const nadi::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return nadi::exit_code(error.kind());
  }
  return 0;
}
