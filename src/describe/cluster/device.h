// A kind of device: what its data sheet says, what it costs, and how much of the data sheet programs reach.
//
//   const DeviceSpec& h200 = *find_device("h200");        // catalogue.h
//   h200.peak(DType::kBF16)                               // 989 TFLOP/s, dense
//   time_for(size, h200.memory_bandwidth)
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/rates.h"
#include "nadi/base/units.h"
#include "nadi/cluster/device_curve.h"
#include "nadi/cluster/measured_ops.h"
#include "nadi/graph/dtype.h"

namespace nadi::inline describe {

enum class DeviceType : std::uint8_t { kGpu, kCpu };

// Where a figure comes from: "memory_bandwidth", "NVIDIA H200 data sheet, 2024".
struct FigureSource {
  std::string figure;
  std::string source;
};

struct DeviceSpec {
  std::string name;     // as users type it: "a100-80gb"
  std::string product;  // "NVIDIA A100 SXM4 80 GB"
  DeviceType type = DeviceType::kGpu;
  // Rates of dense matrix products, by the type of their operands; 0 means not that the device has it.
  std::array<FlopRate, 7> matrix_peak = {};  // by DType
  FlopRate vector_peak = {};                 // of everything else
  ByteRate memory_bandwidth = {};
  Bytes memory = {};
  std::int64_t units = 1;            // multiprocessors of a GPU, cores of a CPU: what a small op cannot fill
  Nanoseconds launch_overhead = {};  // the least that a kernel takes, one after the other
  std::optional<double> price_per_hour = {};  // US dollars, of one device
  std::optional<double> power_watts = {};     // under load
  DeviceCurve curve = {};
  MeasuredOps measured = {};  // empty means none
  std::vector<FigureSource> sources = {};

  FlopRate peak(DType dtype) const { return matrix_peak[static_cast<std::size_t>(dtype)]; }
};

}  // namespace nadi::inline describe
