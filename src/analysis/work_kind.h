// The kind of work that a device node does, derived from its name.
//
//   work_kind("nvjet_sm90_tst_96x128_64x7_2x1_v_bz_TNN")     // WorkKind::kMatrixProduct
//   for (const KindRow& row : kind_rows(timeline)) use(to_string(row.kind), row.time, row.work.per_second());
//
// Names are those of our own ops ("layer_norm_grad"), of kernels of PyTorch, cuBLAS, cuDNN, CUTLASS, Triton
// and FlashAttention, and of PyTorch's ops ("aten::addmm"). Where the kernel's name says nothing, that of the
// nearest enclosing op counts which says something. A matrix product within a convolution is convolution.
// Elementwise kernels and reductions of phase "optimizer" are the optimizer's.
// Communication and copies are what Timeline calls so; kernels that only copy, convert or fill memory are
// copies, too.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/analysis/op_table.h"
#include "nadi/analysis/timeline.h"

namespace nadi {

enum class WorkKind : std::uint8_t {
  kMatrixProduct,
  kAttention,
  kConvolution,
  kNorm,
  kSoftmax,
  kElementwise,
  kReduction,
  kIndexing,
  kOptimizer,
  kCommunication,
  kCopy,
  kOther,
};
std::string_view to_string(WorkKind kind);  // "matrix product"
std::string_view plural_of(WorkKind kind);  // "matrix products"
WorkKind work_kind(std::string_view name);  // kOther where the name says nothing

// Nodes of one kind.
struct KindRow {
  WorkKind kind = WorkKind::kOther;
  std::int64_t nodes = 0;
  Nanoseconds time = {};                        // summed: nodes at the same time count twice
  KnownAmount work = {};                        // num_ops
  KnownAmount bytes = {};                       // tensor_size
  std::map<std::string, Nanoseconds> ops = {};  // by name

  // The op with the longest time, of equals the first by name; "" where there is none.
  std::string_view main_op() const;
};

// Nodes of the device; where the trace has none, ops of the host, with the time that is theirs alone. The
// longest time first, then the most work, then the most nodes.
std::vector<KindRow> kind_rows(const Timeline& timeline);
void add_kind_rows(std::vector<KindRow>& rows, const std::vector<KindRow>& others);

}  // namespace nadi
