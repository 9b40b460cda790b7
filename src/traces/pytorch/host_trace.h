// An execution trace of PyTorch (ExecutionTraceObserver): the ops that ran on the host, with their tensors
// and who called whom, without times. Schemas 1.0.1 to 1.1.1.
//
//   const HostTrace host = read_host_trace("run_host.json.gz");
//
// `nodes` has of each op its id, name, as control dependency the op that called it (0 is none: the root), its
// inputs and outputs (values, shapes and types as the JSON texts of the file), and all attributes as the file
// has them with its types; "input_strides" and "output_strides" (string) where the schema has strides.
// Schema 1.0.1, which has no list of attributes, gives the same attributes under the same names.
//
// The observer writes an op when it ends, and closes the list when it is unregistered. A program that did not
// unregister it leaves a file that ends behind a node: complete (`damage.left_open`) except for running ops.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/memory_limit.h"
#include "nadi/input/json_damage.h"
#include "nadi/pytorch/kineto_trace.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {

struct HostTrace {
  std::string file;
  std::string schema;  // "1.1.1-chakra.0.0.4"
  std::int64_t process = 0;
  std::vector<KinetoGroup> groups = {};  // from "## process_group:init ##"; empty `ranks`: all ranks

  Trace nodes;  // no types, no times
  // Columns, a value for each row of `nodes`; 0 where the node does not say.
  std::vector<std::uint64_t> record_function;  // rf_id
  std::vector<std::uint64_t> thread;           // tid: the profiler's own numbers, from 1

  JsonRecordCounts damage;
};

struct HostReadOptions {
  JsonDamage damage = JsonDamage::kRefuse;
  MemoryLimit memory = {};  // for the nodes
  bool attributes = true;   // false means only what has a column is kept, and what communication ops say
  std::function<void(std::uint64_t bytes)> progress = {};  // called now and then with what was read so far
};

HostTrace read_host_trace(const std::filesystem::path& path, const HostReadOptions& options = {});
HostTrace read_host_trace(std::string_view json, std::string name, const HostReadOptions& options = {});

}  // namespace nadi::inline traces
