// What kernels of the CUDA engine need besides their operands, without CUDA: workspace, and which layouts of
// operands they take. One table, by kind of op.
//
// A family of kernels whose workspace is more than nothing has its function in kernel_needs.cpp beside the
// table, and the *.cu file uses the same function, so that both agree.
#pragma once

#include <cstdint>

#include "nadi/cuda/device_traits.h"
#include "nadi/graph/op_definition.h"

namespace nadi::inline engines::cuda {

struct KernelNeeds {
  OpKind kind;
  bool exists = true;
  // Bytes of workspace; nullptr means none. A function of shapes, attributes and traits alone.
  std::int64_t (*workspace)(const OpView&, const DeviceTraits&) = nullptr;
  // Inputs may be strided views. Otherwise the engine makes contiguous copies of those that are.
  bool takes_strides = false;
  // Operands of which rows are padded (padded_rows.h) may be given to it.
  bool takes_padded_rows = false;
  // Its operands of the computed type may be some columns of longer rows (joined_products.h).
  bool takes_shared_rows = false;
};
const KernelNeeds& kernel_needs(OpKind kind);

// attention_workspace.cpp
std::int64_t attention_workspace(const OpView& op, const DeviceTraits& traits);
std::int64_t attention_grad_workspace(const OpView& op, const DeviceTraits& traits);

// One for all matrix products of a device, as cuBLASLt likes it on Hopper.
inline constexpr std::int64_t kProductWorkspace = std::int64_t{32} << 20;

// For sums over rows (norm_workspace.cpp).
std::int64_t norm_grad_workspace(const OpView& op, const DeviceTraits& traits);
std::int64_t sum_rows_workspace(const OpView& op, const DeviceTraits& traits);
// For optimizers, losses, lookups and sampling (*_workspace.cpp).
std::int64_t sgd_sai_workspace(const OpView& op, const DeviceTraits& traits);
std::int64_t squared_norm_workspace(const OpView& op, const DeviceTraits& traits);
std::int64_t cross_entropy_workspace(const OpView& op, const DeviceTraits& traits);
std::int64_t embedding_grad_workspace(const OpView& op, const DeviceTraits& traits);
std::int64_t argmax_workspace(const OpView& op, const DeviceTraits& traits);
std::int64_t sample_workspace(const OpView& op, const DeviceTraits& traits);
// Products with so few rows read their weights once, and nothing else takes time: they have kernels of their
// own (decode_product.h).
inline constexpr std::int64_t kFewRows = 8;

}  // namespace nadi::inline engines::cuda
