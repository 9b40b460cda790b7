// What PyTorch's profiler (Kineto) recorded of one or more processes, as its JSON file has it.
//
//   KinetoTrace kineto = read_kineto(path);                       // kineto_reader.h
//   for (std::size_t row = 0; row < kineto.events.size(); ++row)
//     if (kineto.category[row] == KinetoCategory::kKernel) use(kineto.events.name(row));
//
// Rows are the complete events ("ph": "X"), in the order of the file, and nothing else: metadata events name
// lanes, flow events repeat what ids say, and the others are counted. A begin and an end event ("B", "E") of
// one lane make a row, too, which stands where the end does. `events` has of each row the name, start,
// duration and, as attributes, all of its args but those that have a column here. Times are exact: they are
// read digit by digit, as microseconds with a fraction, and not through a double.
//
// Attributes carry the names that Kineto gives ("grid", "Fwd thread id"): whole numbers as int64 (uint64
// where they are larger), other numbers as double, texts as string, arrays of whole numbers as int64_list,
// any other array or object as a string of JSON, true and false as bool, null as a name without a value.
// "Input Dims", "Input type" and "Concrete Inputs" are the shapes, types and values of the row's inputs
// instead. "device" and "stream" are attributes although lanes say the same. A category that is not spelt as
// to_string() does is kept as the string "cat".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/input/json_damage.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {

enum class KinetoCategory : std::uint8_t {
  kCpuOp,           // cpu_op
  kUserAnnotation,  // user_annotation
  kPythonFunction,  // python_function
  kRuntime,         // cuda_runtime, hip_runtime, and the like
  kDriver,          // cuda_driver
  kKernel,  // kernel; what runs on devices that are no GPUs (mtia_ccp_events), unless it has a kind below
  kMemcpy,  // gpu_memcpy
  kMemset,  // gpu_memset
  kGpuAnnotation,  // gpu_user_annotation
  kSync,           // cuda_sync: what a stream or the host waited for
  kOverhead,       // overhead
  kSpan,           // Trace: the profiler's own window
  kOther,
};
std::string_view to_string(KinetoCategory category);  // as Kineto writes it for CUDA; "" for kOther
KinetoCategory kineto_category(std::string_view name);
// The kind of device of a category that Kineto names after one that is no GPU: "MTIA" for "mtia_ccp_events",
// "XPU", "HPU", "NPU"; "" for all others.
std::string_view device_of_category(std::string_view name);
// Runs on a device: kernel, gpu_memcpy, gpu_memset.
constexpr bool is_device_work(KinetoCategory category) {
  return category == KinetoCategory::kKernel || category == KinetoCategory::kMemcpy ||
         category == KinetoCategory::kMemset;
}

// A thread of a process, or a stream of a device: a line in a viewer. Process and thread may be texts in the
// file; such ones get numbers below -1, in the order of their first occurrence.
struct KinetoLane {
  std::int64_t process = 0;  // of a stream: the device
  std::int64_t thread = 0;   // of a stream: the stream
  bool device = false;       // a stream
  // From metadata events; "" where there is none.
  std::string name = {};
  std::string process_name = {};
};

struct KinetoGroup {
  std::string name = {};                 // pg_name
  std::string description = {};          // pg_desc
  std::vector<std::int64_t> ranks = {};  // empty means all
};

// Counts of events that are no rows.
struct KinetoCounts {
  std::uint64_t events = 0;  // all of the file
  std::uint64_t flows = 0;
  std::uint64_t metadata = 0;
  std::uint64_t instants = 0;          // instant events and counters
  std::uint64_t without_duration = 0;  // complete events without `dur`: left out with kSkip, else refused
  // Events that had not ended when the profile did, and are left out: Kineto has written their durations as
  // negative, and start and duration of device work as 0.
  std::uint64_t unfinished = 0;
  std::uint64_t other = 0;  // other kinds, begins without an end, ends without a begin
  JsonRecordCounts damage;
};

struct KinetoTrace {
  std::string file;

  // The document. `members` are those of which fields here do not say everything, with their JSON text.
  Nanoseconds base_time;                        // baseTimeNanoseconds: what times count from, since 1970
  std::optional<std::int64_t> rank = {};        // distributedInfo
  std::optional<std::int64_t> world_size = {};  // distributedInfo
  std::vector<KinetoGroup> groups = {};         // distributedInfo
  std::vector<std::pair<std::string, std::string>> members = {};

  Trace events;  // id = row; no dependencies, no type
  // Columns, a value for each row of `events`; 0 where the event does not say. What is no whole number from 0
  // on is an attribute, as in the file, and 0 here.
  std::vector<KinetoCategory> category;
  std::vector<std::uint32_t> lane;  // into `lanes`
  std::vector<std::uint64_t> correlation;
  std::vector<std::uint64_t> external_id;      // "External id"
  std::vector<std::uint64_t> record_function;  // "Record function id"

  std::vector<KinetoLane> lanes;  // in the order of their first occurrence
  KinetoCounts counts;
};

}  // namespace nadi::inline traces
