// Converts files: profiles and host traces of PyTorch, and Chakra traces of any schema, into Chakra traces,
// timelines or graphs.
//
//   ConvertInput input;
//   add_files(input, files);
//   const ConvertSummary summary = convert_files(input, {.name = "out/run"}, {.lenient = true});
//
// A profile may hold several ranks. The rank of a trace is the one in the options; else what the file says;
// else the number in its name (run.3.et); else its place in the list. Nothing is left behind when a file is
// refused or when `progress` throws.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nadi/base/memory_limit.h"
#include "nadi/base/units.h"
#include "nadi/convert/conversion_report.h"
#include "nadi/convert/convert_input.h"
#include "nadi/convert/convert_output.h"
#include "nadi/convert/layer_workload_trace.h"
#include "nadi/input/json_damage.h"
#include "nadi/input/read_progress.h"
#include "nadi/pytorch/kineto_reader.h"

namespace nadi::inline traces {

struct ConvertOptions {
  MemoryLimit memory = {};  // for each file
  bool lenient = false;     // skip damaged records and count them
  bool strict = false;  // refuse dependencies on nodes that are not in the file, which are dropped otherwise
  bool simulate_only = false;  // keep only the attributes that simulators read
  bool num_ops = false;  // give kernels num_ops and tensor_size from recorded shapes; not for Chakra traces
  KinetoTimeUnit time_unit = KinetoTimeUnit::kMicroseconds;  // of the times in a profile
  std::optional<std::int64_t> rank = {};                     // of the one trace
  LayerWorkloadOptions workload = {};                        // of one that is text
  // Bytes that were read, and of all files. Called now and then; may throw to stop.
  ReportBytes progress = {};
  std::function<void(const std::string& text)> note = {};  // told what looks odd
};

// One file that was written.
struct ConvertedFile {
  std::filesystem::path file;
  std::int64_t rank = 0;
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
  Bytes bytes;
  // For a trace of PyTorch:
  std::optional<ConversionReport> report = {};
  bool has_host = false;
  bool has_profile = false;
  bool host_left_open = false;  // the observer was never unregistered: see HostTrace
  bool own_run = false;         // a run of Nadi: see ConvertedTrace
  // Left out of the input:
  std::uint64_t without_duration = 0;  // events without a duration
  std::uint64_t unfinished = 0;        // events that had not ended when the profile did
  std::vector<std::pair<std::string, JsonRecordCounts>> damage = {};  // by file that has damage
  std::uint64_t dropped_dependencies = 0;  // of a Chakra trace, on nodes that it does not have
};

struct ConvertSummary {
  const TraceFormat* format = nullptr;
  std::vector<ConvertedFile> files = {};   // by rank
  std::filesystem::path groups_file = {};  // empty where there are no groups
};

// Throws Error: usage for an existing file, for two traces of one rank, and for files that do not go
// together; input for a file that cannot be converted; environment when a file cannot be written.
ConvertSummary convert_files(const ConvertInput& input, const ConvertOutput& output,
                             const ConvertOptions& options = {});

}  // namespace nadi::inline traces
