#include <array>

#include "nadi/cpu/kernel.h"

namespace nadi::inline engines::cpu {
namespace {

constexpr std::array<const KernelEntry*, kOpKindCount> kEntries{
#define NADI_OP(kind, name) &name##_entry,
#include "nadi/graph/op_list.h"
};

}  // namespace

const KernelEntry& kernel_entry(OpKind kind) {
  return *kEntries[static_cast<std::size_t>(kind)];
}

// Ops without a kernel: views, which nobody runs; fp8, which the engine refuses when a program is loaded; and those that meet
// other ranks, which the engine hands to its communicator.
const KernelEntry quantize_fp8_entry{};
const KernelEntry reshape_entry{};
const KernelEntry permute_entry{};
const KernelEntry split_entry{};
const KernelEntry copy_to_group_entry{};
const KernelEntry bucket_reduce_scatter_entry{};
const KernelEntry bucket_all_gather_entry{};
const KernelEntry send_entry{};
const KernelEntry receive_entry{};

}  // namespace nadi::inline engines::cpu
