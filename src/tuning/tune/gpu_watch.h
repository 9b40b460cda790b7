// What the GPUs of this machine do while a trial runs, by asking nvidia-smi now and then; and the limits that
// end a trial.
//
//   GpuWatch watch(limits, clock);                          // nothing happens where there are no limits
//   if (const auto reason = watch.poll()) ...               // call it often; asks every `interval`
//
// nvidia-smi takes a tenth of a second or more, so it runs beside the trial and its answer is taken when it
// is there.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nadi::inline tuning {

struct GpuSample {
  int index = 0;
  std::string name = {};
  // Nothing where the GPU does not say: "[N/A]".
  std::optional<double> temperature_celsius = {}, utilisation_percent = {}, memory_used_mib = {},
                        memory_total_mib = {};
};

// A line of `nvidia-smi --query-gpu=index,name,temperature.gpu,utilization.gpu,memory.used,memory.total
// --format=csv,noheader,nounits`. Nothing for any other line.
std::optional<GpuSample> parse_gpu_line(std::string_view line);

struct GpuLimits {
  std::optional<double> memory_share = {};  // of any GPU: above it, 0.95
  std::optional<double> least_utilisation =
      {};                                  // percent, of the mean over all GPUs after `settling`: below it
  std::optional<double> temperature = {};  // Celsius, of any GPU: above it
  std::chrono::milliseconds interval{2000};
  std::chrono::milliseconds settling{30000};  // how long a trial may take to get going
  int samples = 3;                            // in a row, before a trial is ended for utilisation

  bool any() const { return memory_share || least_utilisation || temperature; }
};

// By hand, for tests: what would end the trial after these samples of one moment.
class GpuJudge {
 public:
  explicit GpuJudge(const GpuLimits& limits) : limits_(limits) {}
  // `since_start` of the trial.
  std::optional<std::string> judge(const std::vector<GpuSample>& samples,
                                   std::chrono::milliseconds since_start);

 private:
  GpuLimits limits_;
  int idle_in_row_ = 0;
};

class GpuWatch {
 public:
  // Error (environment) when there are limits and no nvidia-smi.
  explicit GpuWatch(const GpuLimits& limits);
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

  // Why the trial has to end.
  std::optional<std::string> poll();
  // The greatest so far, for the trial's record.
  std::optional<double> peak_memory_mib() const { return peak_memory_mib_; }

 private:
  struct Query;
  GpuLimits limits_;
  GpuJudge judge_;
  std::string program_;
  std::chrono::steady_clock::time_point start_, next_;
  std::unique_ptr<Query> query_;
  std::optional<double> peak_memory_mib_;
};

}  // namespace nadi::inline tuning
