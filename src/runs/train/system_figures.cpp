#include "nadi/train/system_figures.h"

#include <charconv>
#include <fstream>
#include <string_view>

namespace nadi::inline runs {
namespace {

// The number behind "NAME:" in a file of /proc; kilobytes where it says kB.
std::optional<double> number_of(const char* file, std::string_view name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ':') continue;
    const std::size_t at = line.find_first_of("0123456789", name.size());
    double value = 0;
    if (at == std::string::npos ||
        std::from_chars(line.data() + at, line.data() + line.size(), value).ec != std::errc())
      return std::nullopt;
    return value;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::pair<std::string, double>> SystemFigures::now() {
  constexpr const char* kProcess = "/proc/self/status";
  constexpr const char* kMachine = "/proc/meminfo";
  constexpr double kPerMegabyte = 1024;  // kB
  std::vector<std::pair<std::string, double>> figures;
  const std::optional<ProcessorUse> use = processor_use_so_far();
  if (before_ && use)
    if (const ProcessorUse during = *use - *before_; during.elapsed.count() > 0)
      figures.emplace_back("cpu", 100.0 * static_cast<double>(during.own.count()) /
                                      static_cast<double>(during.elapsed.count()));
  before_ = use;
  if (const auto threads = number_of(kProcess, "Threads")) figures.emplace_back("proc.cpu.threads", *threads);
  const auto resident = number_of(kProcess, "VmRSS");
  const auto total = number_of(kMachine, "MemTotal"), available = number_of(kMachine, "MemAvailable");
  if (resident) figures.emplace_back("proc.memory.rssMB", *resident / kPerMegabyte);
  if (resident && total && *total > 0) figures.emplace_back("proc.memory.percent", 100 * *resident / *total);
  if (total && available && *total > 0) {
    figures.emplace_back("memory_percent", 100 * (*total - *available) / *total);
    figures.emplace_back("proc.memory.availableMB", *available / kPerMegabyte);
  }
  return figures;
}

}  // namespace nadi::inline runs
