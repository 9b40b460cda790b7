// Joined products (joined_products.h) are few large ops, and each has its kernel.
#include "nadi/cuda/kernels.h"

namespace nadi::inline engines::cuda {

void joined_products_kernel(const KernelCall& call) {
  for (std::size_t i = 0; i < call.ops.size();) {
    const bool adds = call.ops[i].op.op.kind == OpKind::kMatmul && i + 1 < call.ops.size() &&
                      call.ops[i + 1].op.op.kind == OpKind::kAdd;
    const std::size_t count = adds ? 2 : 1;
    const Kernel kernel = adds ? matmul_add_kernel : kernel_of(call.ops[i].op.op.kind);
    kernel({.ops = call.ops.subspan(i, count),
            .workspace = call.workspace,
            .device = call.device,
            .stream = call.stream});
    i += count;
  }
}

}  // namespace nadi::inline engines::cuda
