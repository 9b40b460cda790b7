// Reads the lines of <node>.gpu into a NodeLog: samples of GPUs, or of the CPUs where there is no GPU.
//
// Forms: that of our own sampler (sampler.h), that of gpustat, which the old scripts ran ("[0] NVIDIA A10 |
// 49'C,   0 % |
//     0 / 22731 MB | user(123M)", with "°C" in newer versions, "??" for what is missing, and perhaps a line
//     with the date in
// front), and nvidia-smi's own ("0, NVIDIA A10, 49, 0, 0, 22731", with "[N/A]").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "nadi/job_log/node_log.h"
#include "nadi/job_log/series_limit.h"

namespace nadi::inline jobs {

class SampleReader {
 public:
  void line(NodeLog& node, std::string_view text);
  // After the last line for now: DeviceLog::recent has more than kRecentSamples until then.
  static void settle(NodeLog& node);
  void restart(NodeLog& node);

 private:
  struct Parsed {
    DeviceLog::Kind kind = DeviceLog::Kind::kGpu;
    std::int64_t index = 0;
    std::string_view name = {};
    std::optional<Bytes> memory_total = {};
    DeviceSample sample = {};
  };
  static bool parse_gpustat(std::string_view text, Parsed& parsed);
  static bool parse_csv(std::string_view text, Parsed& parsed);
  static bool parse_cpu(std::string_view text, Parsed& parsed);
  void add(NodeLog& node, const Parsed& parsed);

  std::int64_t sequence_ = 0;
  std::optional<std::int64_t> last_time_;
  std::int64_t last_index_ = -1;
  std::optional<std::int64_t> header_time_;
  std::vector<SeriesLimit> limits_;  // beside NodeLog::devices
};

}  // namespace nadi::inline jobs
