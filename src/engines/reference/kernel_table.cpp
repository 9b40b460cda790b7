#include <array>

#include "nadi/base/error.h"
#include "nadi/reference/kernel.h"

namespace nadi::inline engines {
namespace {

constexpr std::array<Kernel, kOpKindCount> kKernels{
#define NADI_OP(kind, name) name##_kernel,
#include "nadi/graph/op_list.h"
};

// Reached only by a bug: the interpreter stops at ops that meet other ranks.
void refuse() {
  check(false, "an op that needs other ranks has no kernel of its own");
}

}  // namespace

Kernel kernel(OpKind kind) {
  return kKernels[static_cast<std::size_t>(kind)];
}

// Ops that only copy. Collectives come here only in a group of one rank, where all of them are copies.
void cast_kernel(KernelCall& call) {
  copy_kernel(call);
}
void reshape_kernel(KernelCall& call) {
  copy_kernel(call);
}
void copy_to_group_kernel(KernelCall& call) {
  copy_kernel(call);
}
void all_reduce_kernel(KernelCall& call) {
  copy_kernel(call);
}
void reduce_kernel(KernelCall& call) {
  copy_kernel(call);
}
void all_gather_kernel(KernelCall& call) {
  copy_kernel(call);
}
void reduce_scatter_kernel(KernelCall& call) {
  copy_kernel(call);
}
void broadcast_kernel(KernelCall& call) {
  copy_kernel(call);
}
void all_to_all_kernel(KernelCall& call) {
  copy_kernel(call);
}

void bucket_reduce_scatter_kernel(KernelCall&) {
  refuse();
}
void bucket_all_gather_kernel(KernelCall&) {
  refuse();
}
void send_kernel(KernelCall&) {
  refuse();
}
void receive_kernel(KernelCall&) {
  refuse();
}

}  // namespace nadi::inline engines
