#include <algorithm>
#include <cstdint>
#include <vector>

#include "nadi/cuda/cuda_error.h"
#include "nadi/cuda/graph_fills.h"

namespace nadi::inline engines::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::size_t kMostBlocks = 1024;

// Rows of `width` elements that begin `pitch` bytes apart. `word` is the element repeated to 4 bytes.
struct Fill {
  unsigned char* to;
  std::size_t pitch;
  std::size_t width;
  std::size_t height;
  unsigned element;  // bytes: 1, 2 or 4
  unsigned word;
};

__global__ void fill_rows(Fill fill) {
  const std::size_t first = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  const std::size_t step = gridDim.x * std::size_t{kThreads};
  const std::size_t bytes = fill.width * fill.element;
  for (std::size_t row = 0; row < fill.height; ++row) {
    unsigned char* to = fill.to + row * fill.pitch;
    std::size_t wide = 0;  // bytes done 16 at a time
    if (reinterpret_cast<std::uintptr_t>(to) % sizeof(uint4) == 0) {
      const std::size_t vectors = bytes / sizeof(uint4);
      const uint4 value = make_uint4(fill.word, fill.word, fill.word, fill.word);
      for (std::size_t i = first; i < vectors; i += step) reinterpret_cast<uint4*>(to)[i] = value;
      wide = vectors * sizeof(uint4);
    }
    for (std::size_t i = wide + first; i < bytes; i += step)
      to[i] = static_cast<unsigned char>(fill.word >> (8 * (i % 4)));
  }
}

unsigned repeated(unsigned value, unsigned element) {
  if (element == 1) return (value & 0xffu) * 0x01010101u;
  if (element == 2) return (value & 0xffffu) * 0x00010001u;
  return value;
}

struct Neighbours {
  std::vector<cudaGraphNode_t> nodes;
  std::vector<cudaGraphEdgeData> edges;
};

// `ask` is cudaGraphNodeGetDependencies or cudaGraphNodeGetDependentNodes.
Neighbours neighbours(cudaGraphNode_t node, decltype(&cudaGraphNodeGetDependencies) ask) {
  std::size_t count = 0;
  check_cuda(ask(node, nullptr, nullptr, &count), "cudaGraphNodeGetDependencies");
  Neighbours found{std::vector<cudaGraphNode_t>(count), std::vector<cudaGraphEdgeData>(count)};
  if (count > 0)
    check_cuda(ask(node, found.nodes.data(), found.edges.data(), &count), "cudaGraphNodeGetDependencies");
  return found;
}

void replace(cudaGraph_t graph, cudaGraphNode_t node) {
  cudaMemsetParams about{};
  check_cuda(cudaGraphMemsetNodeGetParams(node, &about), "cudaGraphMemsetNodeGetParams");
  Fill fill{.to = static_cast<unsigned char*>(about.dst),
            .pitch = about.pitch,
            .width = about.width,
            .height = std::max<std::size_t>(about.height, 1),
            .element = about.elementSize,
            .word = repeated(about.value, about.elementSize)};
  const std::size_t vectors = fill.width * fill.element / sizeof(uint4) + 1;
  void* arguments[] = {&fill};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(&fill_rows);
  kernel.gridDim = dim3(static_cast<unsigned>(std::min(kMostBlocks, (vectors + kThreads - 1) / kThreads)));
  kernel.blockDim = dim3(kThreads);
  kernel.kernelParams = arguments;

  const Neighbours before = neighbours(node, &cudaGraphNodeGetDependencies);
  const Neighbours after = neighbours(node, &cudaGraphNodeGetDependentNodes);
  cudaGraphNode_t added = nullptr;
  check_cuda(cudaGraphAddKernelNode(&added, graph, nullptr, 0, &kernel), "cudaGraphAddKernelNode");
  // A fill has plain edges only, so the kernel that takes its place has, too.
  for (const cudaGraphNode_t from : before.nodes)
    check_cuda(cudaGraphAddDependencies(graph, &from, &added, nullptr, 1), "cudaGraphAddDependencies");
  for (const cudaGraphNode_t to : after.nodes)
    check_cuda(cudaGraphAddDependencies(graph, &added, &to, nullptr, 1), "cudaGraphAddDependencies");
  check_cuda(cudaGraphDestroyNode(node), "cudaGraphDestroyNode");
}

}  // namespace

std::size_t fills_as_kernels(cudaGraph_t graph) {
  std::size_t count = 0, fills = 0;
  check_cuda(cudaGraphGetNodes(graph, nullptr, &count), "cudaGraphGetNodes");
  std::vector<cudaGraphNode_t> nodes(count);
  check_cuda(cudaGraphGetNodes(graph, nodes.data(), &count), "cudaGraphGetNodes");
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    check_cuda(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType");
    if (type != cudaGraphNodeTypeMemset) continue;
    replace(graph, node);
    ++fills;
  }
  return fills;
}

}  // namespace nadi::inline engines::cuda
