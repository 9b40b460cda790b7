// How fast a profile of PyTorch becomes a Chakra trace, and in how much memory:
//
//   kineto_gen --bytes 2G -o trace.json && convert_bench trace.json
//   convert_bench run_device.json.gz run_host.json.gz
//
// Without a file, it measures one of 256 MB that it has kineto_gen write. All on one thread. What is written
// goes nowhere: on the disk of a virtual machine, the system's part in writing can take as long as all of
// this.

#include <sys/resource.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/convert/converted_trace.h"
#include "nadi/pytorch/host_trace.h"
#include "nadi/pytorch/kineto_reader.h"
#include "nadi/trace/replay.h"
#include "nadi/trace/trace.h"
#include "nadi/trace/trace_dependencies.h"

namespace nadi {
namespace {

namespace fs = std::filesystem;

// Counts this process so far, in user and system mode, so that others on the machine count less.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1e3;
}

void measure(const fs::path& device, const char* host_path) {
  const double begin = processor_seconds();
  const auto kineto = std::make_shared<const KinetoTrace>(read_kineto(device));
  std::shared_ptr<const HostTrace> host;
  if (host_path != nullptr) host = std::make_shared<const HostTrace>(read_host_trace(fs::path(host_path)));
  const double read = processor_seconds();
  GroupNumbers groups;
  const ConvertedTrace converted({.kineto = kineto, .host = host, .rank = 0}, groups);
  const double linked = processor_seconds();
  double written_bytes = 0;
  ChakraWriter writer([&](std::string_view part) { written_bytes += static_cast<double>(part.size()); },
                      converted.metadata());
  TraceNode node;
  for (std::size_t row = 0; row < converted.size(); ++row) {
    converted.get(row, node);
    writer.write(node);
  }
  writer.finish();
  const double written = processor_seconds();
  const double peak = peak_megabytes();

  double bytes = static_cast<double>(kineto->counts.damage.bytes);
  if (host) bytes += static_cast<double>(host->damage.bytes);
  std::printf("convert: %.1f MB, %zu events, %zu nodes, %.1f MB of Chakra\n", bytes / 1e6,
              kineto->events.size(), converted.size(), written_bytes / 1e6);
  const auto print = [&](const char* what, double seconds) {
    std::printf("convert: %-20s %8.1f ms %6.0f MB/s\n", what, seconds * 1e3, bytes / seconds / 1e6);
  };
  print("read", read - begin);
  print("link", linked - read);
  print("make and encode nodes", written - linked);
  print("all", written - begin);

  Trace trace;
  for (std::size_t row = 0; row < converted.size(); ++row) {
    converted.get(row, node);
    trace.add(node);
  }
  const Replay replay = replay_trace(trace, TraceDependencies(trace));
  std::printf("convert: most memory %.1f MB, the trace takes %.1f MB\n", peak,
              static_cast<double>(trace.memory().count()) / 1e6);
  std::printf("convert: replayed %.3f ms, recorded %.3f ms\n", static_cast<double>(replay.span.count()) / 1e6,
              static_cast<double>(recorded_span(trace).count()) / 1e6);
}

int run(const char* program, int count, char** files) {
  try {
    if (count > 0) {
      measure(files[0], count > 1 ? files[1] : nullptr);
      return 0;
    }
    const fs::path made = fs::temp_directory_path() / "convert_bench.json";
    const std::string make =
        (fs::path(program).parent_path() / "kineto_gen").string() + " --bytes 256M -o " + made.string();
    if (std::system(make.c_str()) != 0) return 1;
    measure(made, nullptr);
    fs::remove(made);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return exit_code(error.kind());
  }
}

}  // namespace
}  // namespace nadi

int main(int count, char** arguments) {
  return nadi::run(arguments[0], count - 1, arguments + 1);
}
