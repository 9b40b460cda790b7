// Kernels of communication libraries, known by their names: one table for everybody who reads profiles.
//
//   find_communication_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)")->library     // "NCCL"
//   find_communication_kernel("void deep_ep::intranode::combine<...>(...)")->collective    // kAllToAll
//
// Libraries: NCCL and RCCL (which has NCCL's names), MSCCL and MSCCL++, NVSHMEM, rocSHMEM, DeepEP, MORI, UCC,
// oneCCL, HCCL, Transformer Engine's user buffers, PyTorch's symmetric memory, and the all-reduces that
// inference servers bring along (vLLM, SGLang, TensorRT-LLM, FlashInfer, aiter).
//
// A new library is a new row.
#pragma once

#include <optional>
#include <string_view>

#include "nadi/trace/node_type.h"

namespace nadi::inline traces {

struct CommunicationKernel {
  std::string_view library;                       // "DeepEP"
  std::optional<CollectiveType> collective = {};  // nothing where the name does not say, or for messages
};

// Nothing for a kernel that computes.
std::optional<CommunicationKernel> find_communication_kernel(std::string_view kernel);

}  // namespace nadi::inline traces
