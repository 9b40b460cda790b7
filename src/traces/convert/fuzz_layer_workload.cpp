// Fuzz target of text workloads, layer by layer (scripts/fuzz.sh).
//
// Any bytes must give either a workload or an Error (input) that names the file. A workload either makes a
// trace, whose nodes can all be had and depend on earlier ones, or says what is missing.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/convert/layer_workload.h"
#include "nadi/convert/layer_workload_trace.h"
#include "nadi/convert/process_group_numbers.h"

namespace nadi::inline traces {
namespace {

// Of more layers, the steps of the first rank would take all the time.
constexpr std::size_t kMostLayers = 200;

void make_trace(const LayerWorkload& workload) {
  const LayerWorkloadTrace trace(workload,
                                 {.ranks = workload.ranks ? std::nullopt : std::optional(8),
                                  .model_group = workload.model_group > 0 ? std::nullopt : std::optional(2)});
  GroupNumbers numbers;
  const auto groups = trace.group_numbers(0, numbers);
  TraceNode node;
  for (std::size_t row = 0; row < trace.size(); ++row) {
    trace.get(row, groups, node);
    check(!node.name.empty(), "a node without a name");
    check(node.duration >= Nanoseconds{}, "a duration is negative");
    for (const TraceNodeId parent : node.data_deps)
      check(parent < node.id, "a node depends on one behind it");
  }
}

void read_any(std::string_view bytes) {
  static const TemporaryFolder folder("fuzz");
  static const std::filesystem::path path = folder / "workload.txt";
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  if (!is_layer_workload(path)) return;
  try {
    const LayerWorkload workload = read_layer_workload(path);
    if (workload.layers.size() > kMostLayers || workload.ranks.value_or(0) > 65536) return;
    make_trace(workload);
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::kInput || error.kind() == ErrorKind::kUsage,
          "bad input gave another error than an input error");
    check(error.kind() != ErrorKind::kInput || error.place().file == path, "an error does not name its file");
  }
}

}  // namespace
}  // namespace nadi::inline traces

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_any({reinterpret_cast<const char*>(data), size});
  return 0;
}
