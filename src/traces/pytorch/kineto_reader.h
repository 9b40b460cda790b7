// Reads a trace of PyTorch's profiler (Kineto), or any file in Chrome's trace format with its complete
// events: plain, gzip or zstd; or the SQLite export of Nsight Systems (nsys_profile.h).
//
//   const KinetoTrace trace = read_kineto("run_device.json.gz", {.damage = JsonDamage::kSkip});
//
// Whatever is wrong is Error (input) with the byte of the (decompressed) text, or is left out and counted
// (JsonDamage). Error (environment) in a build without simdjson.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "nadi/base/memory_limit.h"
#include "nadi/pytorch/kineto_trace.h"

namespace nadi::inline traces {

// What "ts" and "dur" count. Chrome's format says microseconds; some programs write nanoseconds.
enum class KinetoTimeUnit : std::uint8_t { kMicroseconds, kNanoseconds };

struct KinetoReadOptions {
  JsonDamage damage = JsonDamage::kRefuse;
  KinetoTimeUnit time_unit = KinetoTimeUnit::kMicroseconds;
  MemoryLimit memory = {};  // for the events
  bool attributes = true;   // false means args without a column are passed over
  std::function<void(std::uint64_t bytes)> progress = {};  // called now and then with what was read so far
};

KinetoTrace read_kineto(const std::filesystem::path& path, const KinetoReadOptions& options = {});
KinetoTrace read_kineto(std::string_view json, std::string name, const KinetoReadOptions& options = {});

}  // namespace nadi::inline traces
