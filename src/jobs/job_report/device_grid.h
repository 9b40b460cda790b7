// Samples of all devices of a job on one grid of moments: what a heat map shows, and what is bounded however
// long a job ran on however many devices.
//
//   const DeviceGrid grid = device_grid(log);
//   grid.devices[7].utilisation[12]            // of column 12; NaN where there was no sample
//
// Columns are moments, by the clock where every sample has a time, else by the number of the sample. One
// column may hold several samples (`merged`): then utilisation and power are means over them, temperature and
// memory the greatest values. At most kMostCells cells for each figure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/units.h"

namespace nadi::inline jobs {

struct JobLog;

struct GridDevice {
  std::size_t node = 0;  // of JobLog::nodes
  std::string node_name = {};
  bool is_gpu = true;
  std::int64_t index = 0;
  std::string name = {};
  std::optional<Bytes> memory_total = {};
  std::int64_t samples = 0;  // in the log
  // By column; NaN: no sample, or the sampler did not know.
  std::vector<float> utilisation = {};  // percent
  std::vector<float> temperature = {};  // degrees Celsius
  std::vector<float> memory = {};       // MiB
  std::vector<float> power = {};        // watts; empty where no sample has it
  // Over all samples.
  std::optional<double> mean_utilisation = {};
  std::optional<double> most_temperature = {};
  std::optional<Bytes> most_memory = {};
  bool throttled = false;
};

struct DeviceGrid {
  bool by_time = false;    // else by the number of the sample
  std::int64_t begin = 0;  // seconds since 1970, or a number of a sample: of the first column
  double step = 1;         // from column to column
  std::int64_t columns = 0;
  bool merged = false;
  std::vector<GridDevice> devices = {};  // by node, GPUs first
};

inline constexpr std::int64_t kMostGridCells = 131'072;
inline constexpr std::int64_t kMostGridColumns = 512;

DeviceGrid device_grid(const JobLog& log);

}  // namespace nadi::inline jobs
