#include "nadi/recording/kineto_names.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/graph/collective_table.h"
#include "nadi/graph/graph.h"
#include "nadi/unroll/collective_type.h"

namespace nadi::inline traces {

std::string_view pytorch_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float";
    case DType::kBF16:
      return "c10::BFloat16";
    case DType::kF16:
      return "c10::Half";
    case DType::kF8E4M3:
      return "c10::Float8_e4m3fn";
    case DType::kF8E5M2:
      return "c10::Float8_e5m2";
    case DType::kI32:
      return "int";
    case DType::kI64:
      return "long int";
  }
  unreachable();
}

std::string_view pytorch_message_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "Float";
    case DType::kBF16:
      return "BFloat16";
    case DType::kF16:
      return "Half";
    case DType::kF8E4M3:
      return "Float8_e4m3fn";
    case DType::kF8E5M2:
      return "Float8_e5m2";
    case DType::kI32:
      return "Int";
    case DType::kI64:
      return "Long";
  }
  unreachable();
}

std::string_view communication_record_name(OpKind kind) {
  if (kind == OpKind::kSend) return "send";
  if (kind == OpKind::kReceive) return "recv";
  return collective_facts(collective_type(kind)).kineto_record;
}

std::string_view communication_annotation_name(OpKind kind) {
  if (kind == OpKind::kSend || kind == OpKind::kReceive) return communication_record_name(kind);
  return collective_facts(collective_type(kind)).kineto_annotation;
}

std::string communication_kernel_name(std::string_view backend, OpKind kind) {
  std::string name = format("{}DevKernel_", backend);
  bool starts_word = true;
  for (const char letter : communication_annotation_name(kind)) {
    if (letter != '_')
      name += starts_word && letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
    starts_word = letter == '_';
  }
  return name;
}

std::string_view kineto_category(DeviceWork::Kind kind) {
  switch (kind) {
    case DeviceWork::Kind::kKernel:
      return "kernel";
    case DeviceWork::Kind::kCopy:
      return "gpu_memcpy";
    case DeviceWork::Kind::kSet:
      return "gpu_memset";
  }
  unreachable();
}

std::string kineto_work_args(const DeviceWork& work, const ExecutedDevice& device, std::uint32_t stream,
                             std::int64_t correlation) {
  const bool is_kernel = work.kind == DeviceWork::Kind::kKernel;
  std::string args = is_kernel ? R"("queued": 0, )" : "";
  args += format(R"("device": {}, "context": {}, "stream": {}, "correlation": {}, )", device.number,
                 work.context, stream, correlation);
  if (!is_kernel) {
    args += format(R"("bytes": {}, )", work.bytes.count());
    const auto took = static_cast<double>((work.end - work.start).count());
    if (took > 0)
      args +=
          format(R"-("memory bandwidth (GB/s)": {:.6f}, )-", static_cast<double>(work.bytes.count()) / took);
  } else {
    args += format(R"("registers per thread": {}, "shared memory": {}, )", work.registers,
                   work.shared_memory.count());
    const auto units = device.property("numSms");
    const auto warp = device.property("warpSize");
    if (units.value_or(0) > 0 && warp.value_or(0) > 0) {
      const double blocks = 1.0 * work.grid[0] * work.grid[1] * work.grid[2] / static_cast<double>(*units);
      const std::int64_t threads = std::int64_t{work.block[0]} * work.block[1] * work.block[2];
      const auto warps = static_cast<double>((threads + *warp - 1) / *warp);
      args += format(R"("blocks per SM": {:.6f}, "warps per SM": {:.6f}, )", blocks, blocks * warps);
    }
    args += format(R"("grid": [{}, {}, {}], "block": [{}, {}, {}], )", work.grid[0], work.grid[1],
                   work.grid[2], work.block[0], work.block[1], work.block[2]);
  }
  if (work.graph_node != 0)
    args += format(R"("graph id": {}, "graph node id": {}, )", work.graph, work.graph_node);
  return args;
}

// Kineto lists tensors and scalars alike and gives the values of scalars only. Ours are all tensors.
std::string kineto_input_args(const Graph& graph, const Op& op) {
  std::string values, types, shapes;
  for (const TensorId input : op.inputs) {
    const std::string_view comma = values.empty() ? "" : ", ";
    values.append(comma).append("\"\"");
    types.append(comma) += '"';
    if (input != kNoTensor) types.append(pytorch_type(graph.tensor(input).dtype));
    types += '"';
    shapes.append(comma).append(input == kNoTensor ? "[]" : graph.tensor(input).shape.to_string());
  }
  return format(R"("Concrete Inputs": [{}], "Input type": [{}], "Input Dims": [{}], )", values, types,
                shapes);
}

std::string kineto_text(std::string_view text) {
  const bool plain =
      std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  if (plain) return format(R"("{}")", text);
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace nadi::inline traces
