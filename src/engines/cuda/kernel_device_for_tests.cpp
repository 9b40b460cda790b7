// Method: all tensors of a graph are in one piece of device memory, each between guard bytes. The piece is
// made on the host, copied to the device, and copied back after the kernels. Every graph runs twice from the
// same bytes, and must leave the same bits.

#include "nadi/reference/kernel_tests/kernel_device_for_tests.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "nadi/base/round_up.h"
#include "nadi/cuda/cuda_error.h"
#include "nadi/cuda/kernel_runner.h"
#include "nadi/cuda/padded_rows.h"
#include "nadi/cuda/prepared_graph.h"

namespace nadi::inline engines {
namespace {

using cuda::check_cuda;
using cuda::kDeviceAlignment;

constexpr std::int64_t kGuard = kDeviceAlignment;
constexpr std::byte kGuardByte{0xa5};
// Products with padded rows may read that far behind a bias, in memory that is there.
constexpr std::int64_t kReadBehind = 1024;
constexpr std::byte kNanByte{0xff};  // reading what nobody wrote shows

cuda::Device& device_for(const KernelRun& run) {
  static cuda::Device repeatable(0, {.deterministic = true});
  static cuda::Device quick(0, {.deterministic = false});
  return run.deterministic ? repeatable : quick;
}

Program program_of(const Graph& graph, std::span<const VariableBucket> buckets) {
  Program program;
  program.buckets.assign(buckets.begin(), buckets.end());
  program.graphs.push_back(graph);
  program.sections.push_back(
      {.name = "all", .graph = 0, .first_op = 0, .end_op = static_cast<std::uint32_t>(graph.ops().size())});
  return program;
}

class DeviceBytes {
 public:
  ~DeviceBytes() { cudaFree(data_); }
  std::byte* of_size(std::int64_t size) {
    if (size > size_) {
      check_cuda(cudaFree(data_), "cudaFree");
      check_cuda(cudaMalloc(&data_, static_cast<std::size_t>(size)), "cudaMalloc");
      size_ = size;
    }
    return static_cast<std::byte*>(data_);
  }

 private:
  void* data_ = nullptr;
  std::int64_t size_ = 0;
};

// Where the tensors of a graph are in one piece of memory.
struct Place {
  std::int64_t offset = -1;  // -1 means it has none
  std::int64_t size = 0;     // bytes
  std::int64_t spare = 0;    // bytes behind it that belong to it and begin as zeros
};
struct TensorPlaces {
  std::vector<Place> tensors;
  std::int64_t size = 0;
};

bool is_view(const Graph& graph, const Tensor& tensor) {
  return tensor.producer != kNoOp && definition(graph.op(tensor.producer).kind).op_class == OpClass::kView;
}

// Tensors that have one piece of memory between guards.
struct PlacedTogether {
  std::vector<TensorId> tensors;
  std::vector<std::int64_t> offsets;  // bytes from the begin of the piece
};

std::vector<PlacedTogether> pieces_of(const Program& program, const cuda::PreparedGraph& prepared) {
  const Graph& graph = program.graphs[0];
  std::vector<PlacedTogether> pieces;
  std::vector<char> placed(graph.tensors().size(), 0);
  for (const VariableBucket& bucket : program.buckets) {
    PlacedTogether& piece = pieces.emplace_back();
    std::int64_t size = 0;
    for (const std::string& name : bucket.tensors) {
      piece.tensors.push_back(graph.find_tensor(name).value());
      piece.offsets.push_back(size);
      size += graph.tensor(piece.tensors.back()).size().count();
    }
  }
  for (const SharedRows& rows : prepared.shared_rows()) {
    PlacedTogether& piece = pieces.emplace_back();
    for (const SharedRows::Columns& columns : rows.values) {
      piece.tensors.push_back(columns.value);
      piece.offsets.push_back(columns.offset);
    }
  }
  for (const PlacedTogether& piece : pieces)
    for (const TensorId tensor : piece.tensors) placed[index(tensor)] = 1;
  for (std::uint32_t t = 0; t < placed.size(); ++t)
    if (placed[t] == 0) pieces.push_back({{TensorId{t}}, {0}});
  return pieces;
}

TensorPlaces places_of(const Program& program, const cuda::PreparedGraph& prepared, bool misaligned) {
  const Graph& graph = program.graphs[0];
  const cuda::PreparedGraph* const graphs[]{&prepared};
  const MemoryOptions memory = memory_options(program, cuda::kernel_plan_of(graphs));
  TensorPlaces places;
  places.tensors.resize(graph.tensors().size());
  places.size = kGuard;
  for (const PlacedTogether& piece : pieces_of(program, prepared)) {
    const Tensor& first = graph.tensor(piece.tensors[0]);
    const std::int64_t begin =
        places.size +
        (misaligned && first.producer == kNoOp ? static_cast<std::int64_t>(size_of(first.dtype)) : 0);
    for (std::size_t i = 0; i < piece.tensors.size(); ++i) {
      const std::size_t t = index(piece.tensors[i]);
      const Tensor& tensor = graph.tensors()[t];
      Place& place = places.tensors[t];
      const bool without = !memory.without_memory[0].empty() && memory.without_memory[0][t] != 0;
      if (is_view(graph, tensor) || without) continue;
      place.size = prepared.bytes_of(piece.tensors[i]);
      if (!prepared.spare_rows().empty() && prepared.spare_rows()[t] > 0)
        place.spare =
            prepared.spare_rows()[t] * tensor.shape[1] * static_cast<std::int64_t>(size_of(tensor.dtype));
      place.offset = begin + piece.offsets[i];
      places.size = std::max(places.size,
                             rounded_up(place.offset + place.size + place.spare + kGuard, kDeviceAlignment));
    }
  }
  if (misaligned) return places;
  // As the memory plan has it, which gradients that are computed ahead need.
  for (const cuda::PreparedKernel& kernel : prepared.kernels())
    if (kernel.fused == cuda::FusedKind::kGradientOfLoss)
      places.tensors[index(kernel.ops[0].outputs[0].root)] =
          places.tensors[index(kernel.ops[0].inputs[0].root)];
  return places;
}

std::vector<std::byte> image_of(const TensorPlaces& places, const TensorBytes& given) {
  std::vector<std::byte> image(static_cast<std::size_t>(places.size), kGuardByte);
  for (std::size_t t = 0; t < given.size(); ++t) {
    const Place& place = places.tensors[t];
    if (place.offset < 0) continue;
    std::memset(image.data() + place.offset, std::to_integer<int>(kNanByte),
                static_cast<std::size_t>(place.size));
    std::memset(image.data() + place.offset + place.size, 0, static_cast<std::size_t>(place.spare));
    if (!given[t].empty()) std::memcpy(image.data() + place.offset, given[t].data(), given[t].size());
  }
  return image;
}

void expect_guards(const Graph& graph, const TensorPlaces& places, std::span<const std::byte> image) {
  std::int64_t at = 0;
  std::string_view before = "the first tensor's front";
  const auto expect_until = [&](std::int64_t end) {
    const std::span guard = image.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(end - at));
    EXPECT_TRUE(std::ranges::all_of(guard, [](std::byte b) { return b == kGuardByte; }))
        << before << ": a kernel wrote behind it";
  };
  std::vector<std::size_t> in_order;
  for (std::size_t t = 0; t < places.tensors.size(); ++t)
    if (places.tensors[t].offset >= 0) in_order.push_back(t);
  std::ranges::sort(in_order, {}, [&](std::size_t t) { return places.tensors[t].offset; });
  for (const std::size_t t : in_order) {
    const Place& place = places.tensors[t];
    if (place.offset > at) expect_until(place.offset);
    at = std::max(at, place.offset + place.size + place.spare);
    before = graph.tensors()[t].name;
    const std::span spare = image.subspan(static_cast<std::size_t>(place.offset + place.size),
                                          static_cast<std::size_t>(place.spare));
    EXPECT_TRUE(graph.tensors()[t].role != Role::kParameter ||
                std::ranges::all_of(spare, [](std::byte b) { return b == std::byte{0}; }))
        << before << ": a kernel wrote to its spare rows";
  }
  expect_until(places.size);
}

// The rows of a tensor without their padding.
std::vector<std::byte> without_padding(const Tensor& tensor, std::int64_t row_stride,
                                       std::span<const std::byte> bytes) {
  if (row_stride == 0) return {bytes.begin(), bytes.end()};
  const std::int64_t element = size_of(tensor.dtype);
  const auto row = static_cast<std::size_t>(tensor.shape[tensor.shape.rank() - 1] * element);
  std::vector<std::byte> rows;
  for (std::int64_t at = 0; rows.size() < static_cast<std::size_t>(tensor.size().count());
       at += row_stride * element)
    rows.insert(rows.end(), bytes.begin() + at, bytes.begin() + at + static_cast<std::int64_t>(row));
  return rows;
}

std::vector<std::byte> image_after_kernels(const cuda::PreparedGraph& prepared, const TensorPlaces& places,
                                           const std::vector<std::byte>& image, cuda::Device& device) {
  static DeviceBytes memory, workspace_memory;
  std::byte* const begin = memory.of_size(places.size + kReadBehind);
  const std::int64_t workspace = rounded_up(prepared.workspace(), kDeviceAlignment);
  std::byte* const scratch = workspace_memory.of_size(workspace + kGuard);
  check_cuda(cudaMemcpy(begin, image.data(), image.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
  check_cuda(cudaMemset(scratch, std::to_integer<int>(kNanByte), static_cast<std::size_t>(workspace)),
             "cudaMemset");
  check_cuda(cudaMemset(scratch + workspace, std::to_integer<int>(kGuardByte), kGuard), "cudaMemset");
  std::vector<std::byte*> addresses;
  for (const Place& place : places.tensors)
    addresses.push_back(place.offset < 0 ? nullptr : begin + place.offset);

  cuda::KernelRunner runner(prepared, device, {scratch, static_cast<std::size_t>(workspace)});
  for (std::size_t k = 0; k < prepared.kernels().size(); ++k) runner.run(k, addresses, nullptr);
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

  std::vector<std::byte> after(image.size()), guard(kGuard);
  check_cuda(cudaMemcpy(after.data(), begin, after.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  check_cuda(cudaMemcpy(guard.data(), scratch + workspace, guard.size(), cudaMemcpyDeviceToHost),
             "cudaMemcpy");
  EXPECT_TRUE(std::ranges::all_of(guard, [](std::byte b) { return b == kGuardByte; }))
      << "a kernel wrote behind its workspace";
  return after;
}

}  // namespace

std::string KernelRun::to_string() const {
  std::string text = fused ? "fused" : "op by op";
  if (padded) text += ", padded rows";
  if (misaligned) text += ", misaligned";
  if (!deterministic) text += ", not deterministic";
  return text;
}

std::vector<KernelRun> kernel_runs(const Graph& graph, std::span<const int> /*threads*/,
                                   std::span<const VariableBucket> buckets) {
  const Program program = program_of(graph, buckets);
  const bool fuses = !cuda::fused_ops(program, 0, device_for({}).traits()).empty();
  const bool pads = !cuda::padded_row_strides(graph).empty();
  std::vector<KernelRun> runs{{}, {.misaligned = true}};
  if (fuses) {
    runs.push_back({.fused = true});
    runs.push_back({.fused = true, .misaligned = true});
  }
  if (pads) runs.push_back({.fused = fuses, .padded = true});
  // The only kernels that are allowed to differ from run to run.
  const auto is_attention_grad = [](const Op& op) { return op.kind == OpKind::kAttentionGrad; };
  if (std::ranges::any_of(graph.ops(), is_attention_grad))
    runs.push_back({.fused = fuses, .deterministic = false});
  for (KernelRun& run : runs) run.buckets.assign(buckets.begin(), buckets.end());
  return runs;
}

double kernel_tolerance(DType least_exact) {
  switch (least_exact) {
    case DType::kBF16:
      return 5e-5;
    case DType::kF16:
      return 1e-6;
    default:
      return 1e-10;
  }
}

TensorBytes run_on_device(const Graph& graph, const TensorBytes& given, const KernelRun& run) {
  cuda::Device& device = device_for(run);
  device.make_current();
  const Program program = program_of(graph, run.buckets);
  const cuda::PreparedGraph prepared(program, 0,
                                     {.traits = device.traits(), .fuse = run.fused, .pad_rows = run.padded});
  const TensorPlaces places = places_of(program, prepared, run.misaligned);
  const std::vector<std::byte> before = image_of(places, given);
  const std::vector<std::byte> after = image_after_kernels(prepared, places, before, device);
  expect_guards(graph, places, after);
  if (run.deterministic) {
    EXPECT_TRUE(image_after_kernels(prepared, places, before, device) == after)
        << "two runs differ, " << run.to_string();
  }
  TensorBytes results(given.size());
  for (std::size_t t = 0; t < results.size(); ++t) {
    const Place& place = places.tensors[t];
    if (place.offset < 0) continue;
    const std::int64_t stride = prepared.row_strides().empty() ? 0 : prepared.row_strides()[t];
    results[t] = without_padding(graph.tensors()[t], stride,
                                 std::span(after).subspan(static_cast<std::size_t>(place.offset),
                                                          static_cast<std::size_t>(place.size)));
  }
  // Gradients that are joined are turned in place, and those of losses take the place of logits.
  for (const cuda::PreparedKernel& kernel : prepared.kernels()) {
    if (kernel.fused == cuda::FusedKind::kGradientOfLoss && !run.misaligned)
      results[index(kernel.ops[0].inputs[0].root)].clear();
    for (std::uint32_t i = kernel.first_op; i < kernel.end_op; ++i)
      if (kernel.fused == cuda::FusedKind::kJoinedGradients && graph.ops()[i].kind == OpKind::kRotary)
        results[index(graph.ops()[i].inputs[0])].clear();
  }
  return results;
}

}  // namespace nadi::inline engines
