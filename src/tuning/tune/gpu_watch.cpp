#include "nadi/tune/gpu_watch.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/process/child_process.h"
#include "nadi/process/find_program.h"
#include "nadi/tune/value_text.h"

namespace nadi::inline tuning {
namespace {

// An nvidia-smi that takes longer hangs with its driver; the next one is asked instead.
constexpr std::chrono::seconds kQueryPatience{30};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<GpuSample> parse_gpu_line(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t comma = line.find(',');
    fields.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  if (fields.size() < 6) return std::nullopt;
  const auto index = number_of_text(fields[0]);
  if (!index) return std::nullopt;
  GpuSample sample{.index = static_cast<int>(*index), .name = std::string(fields[1])};
  const std::size_t last = fields.size() - 4;  // a name may have commas
  sample.temperature_celsius = number_of_text(fields[last]);
  sample.utilisation_percent = number_of_text(fields[last + 1]);
  sample.memory_used_mib = number_of_text(fields[last + 2]);
  sample.memory_total_mib = number_of_text(fields[last + 3]);
  return sample;
}

std::optional<std::string> GpuJudge::judge(const std::vector<GpuSample>& samples,
                                           std::chrono::milliseconds since_start) {
  double utilisation = 0;
  int known = 0;
  for (const GpuSample& sample : samples) {
    if (limits_.memory_share && sample.memory_used_mib && sample.memory_total_mib &&
        *sample.memory_used_mib > *limits_.memory_share * *sample.memory_total_mib)
      return format("GPU {} has {:.0f} of {:.0f} MiB in use, above the limit of {:.0f}%", sample.index,
                    *sample.memory_used_mib, *sample.memory_total_mib, 100 * *limits_.memory_share);
    if (limits_.temperature && sample.temperature_celsius &&
        *sample.temperature_celsius > *limits_.temperature)
      return format("GPU {} has {:.0f} °C, above the limit of {:.0f} °C", sample.index,
                    *sample.temperature_celsius, *limits_.temperature);
    if (sample.utilisation_percent) {
      utilisation += *sample.utilisation_percent;
      ++known;
    }
  }
  if (!limits_.least_utilisation || known == 0 || since_start < limits_.settling) return std::nullopt;
  utilisation /= known;
  idle_in_row_ = utilisation < *limits_.least_utilisation ? idle_in_row_ + 1 : 0;
  if (idle_in_row_ < limits_.samples) return std::nullopt;
  return format("GPUs were busy for {:.0f}% of the time, below the limit of {:.0f}%, in {} samples in a row",
                utilisation, *limits_.least_utilisation, idle_in_row_);
}

struct GpuWatch::Query {
  explicit Query(const std::string& program)
      : child({.words = {program,
                         "--query-gpu=index,name,temperature.gpu,utilization.gpu,memory.used,memory.total",
                         "--format=csv,noheader,nounits"}}),
        start(std::chrono::steady_clock::now()) {}

  ChildProcess child;
  std::chrono::steady_clock::time_point start;
  std::vector<GpuSample> samples;
};

GpuWatch::GpuWatch(const GpuLimits& limits)
    : limits_(limits), judge_(limits), start_(std::chrono::steady_clock::now()), next_(start_) {
  if (!limits.any()) return;
  const auto program = find_program("nvidia-smi");
  if (!program) throw environment_error("limits on GPUs need nvidia-smi, and there is none on PATH");
  program_ = program->string();
}

GpuWatch::~GpuWatch() = default;

std::optional<std::string> GpuWatch::poll() {
  if (program_.empty()) return std::nullopt;
  const auto now = std::chrono::steady_clock::now();
  if (!query_) {
    if (now < next_) return std::nullopt;
    next_ = now + limits_.interval;
    query_ = std::make_unique<Query>(program_);
    return std::nullopt;
  }
  query_->child.out().read([&](std::string_view line) {
    if (auto sample = parse_gpu_line(line)) query_->samples.push_back(std::move(*sample));
  });
  query_->child.err().read([](std::string_view) {});
  if (!query_->child.poll_end() || query_->child.out().is_open()) {
    if (now - query_->start > kQueryPatience) query_.reset();
    return std::nullopt;
  }
  const std::vector<GpuSample> samples = std::move(query_->samples);
  query_.reset();
  for (const GpuSample& sample : samples)
    if (sample.memory_used_mib)
      peak_memory_mib_ = std::max(peak_memory_mib_.value_or(0), *sample.memory_used_mib);
  return judge_.judge(samples, std::chrono::duration_cast<std::chrono::milliseconds>(now - start_));
}

}  // namespace nadi::inline tuning
