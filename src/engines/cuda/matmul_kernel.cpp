// Matrix products: cuBLASLt's, with the bias as its epilogue, and a pass of our own for the activation.
//
// Batch axes of both factors are merged where their strides allow it. What then is the innermost one becomes
// cuBLASLt's batch; of the others, each index is a product of its own. Operands that cuBLASLt cannot read in
// place, and what it refuses, go to the plain kernel (plain_product.h), which is slow.
//
// GELU as cuBLASLt's epilogue is not used: with its auxiliary output it takes as long as the product and the
// pass together, and it has the tanh form only.
#include <array>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/cuda/decode_product.h"
#include "nadi/cuda/kernels.h"
#include "nadi/cuda/matrix_products.h"
#include "nadi/cuda/matrix_stack.h"
#include "nadi/cuda/plain_product.h"
#include "nadi/cuda/product_pieces.h"
#include "nadi/engine/operand_layout.h"
#include "nadi/graph/ops/matmul.h"

namespace nadi::inline engines::cuda {
namespace {

enum MatmulInput { kA, kB, kBias };

struct BatchGroup {
  std::int64_t extent = 1;
  std::int64_t a_stride = 0, b_stride = 0;
};

// Outermost first; at least one.
std::vector<BatchGroup> batch_groups(const Operand& a, const Operand& b, int batch_axes) {
  std::vector<BatchGroup> groups;
  for (int axis = 0; axis < batch_axes; ++axis) {
    const BatchGroup next{a.shape()[axis], a.strides[axis], b.strides[axis]};
    if (next.extent == 1) continue;
    if (!groups.empty() && groups.back().a_stride == next.a_stride * next.extent &&
        groups.back().b_stride == next.b_stride * next.extent)
      groups.back() = {groups.back().extent * next.extent, next.a_stride, next.b_stride};
    else
      groups.push_back(next);
  }
  if (groups.empty()) groups.emplace_back();
  return groups;
}

// Where vectors of 16 bytes may begin. cuBLASLt would take slow kernels for a bias that lies elsewhere, as
// biases do behind one of an odd number of columns in their bucket: such a bias has a pass of its own.
bool is_round(const std::byte* address) {
  return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
}

// Elements from one row of n to the next, of a tensor whose rows are evenly spaced.
std::int64_t leading_of(const Operand& operand, std::int64_t n) {
  const MatrixStack stack = matrix_stack(operand, 0);
  check(
      stack.regular && stack.column_stride == 1 && (stack.columns == n || stack.row_stride == stack.columns),
      "the rows of a matrix product's result are not evenly spaced");
  return stack.columns == n ? stack.row_stride : n;
}

// A stack of `batches` matrices of rows that are all evenly spaced.
PlainMatrices even_rows(const void* data, DType dtype, const BatchGroup& batches,
                        const std::array<std::int64_t, 2>& rows_and_leading) {
  const auto [rows, leading] = rows_and_leading;
  PlainMatrices matrices{.data = const_cast<void*>(data), .dtype = dtype};
  matrices.batches = {.extents = {batches.extent}, .strides = {rows * leading}, .count = 1};
  matrices.rows = {.extents = {rows}, .strides = {leading}, .count = 1};
  return matrices;
}

// One product of an op, with its addresses: all batches of the innermost group.
struct Multiplication {
  const OpCall& op;
  MatmulExtents extents;
  BatchGroup batches;
  const std::byte* a;
  const std::byte* b;
  std::byte* y;
  std::int64_t y_leading;
  std::int64_t y_spare_rows;
  DType out;
  const std::byte* summand;  // nullptr means none
  std::int64_t summand_leading;
  const std::byte* bias;  // nullptr means none, or in a pass of its own
};

// Extents that are odd where rows are padded grow into the padding, which suits the tensor cores: n of
// logits, where the table of tokens has rows of zeros behind its last; k of the logits' gradient, of which
// the padding is zeros, where it goes through that table; m of the table's gradient, behind which rows may be
// written.
void grow_into_padding(Product& p, const Multiplication& x) {
  if (p.batches != 1) return;
  const std::int64_t table_rows = x.op.inputs[kB].spare_rows;
  const Graph& graph = x.op.op.graph;
  const OpId producer = x.op.inputs[kA].tensor->producer;
  const bool zeros = producer != kNoOp && graph.op(producer).kind == OpKind::kCrossEntropyGrad;
  if (p.b.transposed && !p.adds && p.d.leading > p.n && p.d.leading - p.n <= table_rows) p.n = p.d.leading;
  if (zeros && !p.b.transposed && !p.a.transposed && p.a.leading > p.k && p.a.leading - p.k <= table_rows)
    p.k = p.a.leading;
  if (p.a.transposed && p.a.leading > p.m && p.a.leading - p.m <= x.y_spare_rows) p.m = p.a.leading;
}

bool multiply_by_library(const Multiplication& x, const KernelCall& call) {
  const Attributes& attributes = x.op.attributes();
  const int batch_axes = static_cast<int>(attributes.integer("batch_axes"));
  const MatrixInPlace a = in_place(matrix_stack(x.op.inputs[kA], batch_axes));
  const MatrixInPlace b = in_place(matrix_stack(x.op.inputs[kB], batch_axes));
  if (!a.possible || !b.possible) return false;
  const auto [all_batches, m, n, k] = x.extents;
  Product product{.in = x.op.dtype(kA),
                  .out = x.out,
                  .batches = x.batches.extent,
                  .m = m,
                  .n = n,
                  .k = k,
                  .a = {attributes.boolean("transpose_a") != a.transposed, a.leading, x.batches.a_stride},
                  .b = {attributes.boolean("transpose_b") != b.transposed, b.leading, x.batches.b_stride},
                  .c = {false, x.summand_leading, m * x.summand_leading},
                  .d = {false, x.y_leading, m * x.y_leading},
                  .alpha = static_cast<float>(attributes.real("alpha")),
                  .adds = x.summand != nullptr,
                  .bias = x.bias != nullptr};
  grow_into_padding(product, x);
  return multiply_in_pieces(call.device.products(), product,
                            {.a = x.a, .b = x.b, .c = x.summand, .d = x.y, .bias = x.bias}, call.workspace,
                            call.stream);
}

void multiply_plainly(const Multiplication& x, const KernelCall& call) {
  const Attributes& attributes = x.op.attributes();
  const int batch_axes = static_cast<int>(attributes.integer("batch_axes"));
  const auto factor = [&](std::size_t i, const std::byte* data, std::int64_t batch_stride) {
    const Operand& operand = x.op.inputs[i];
    const int rank = operand.shape().rank();
    PlainMatrices matrices{.data = const_cast<std::byte*>(data), .dtype = operand.dtype()};
    matrices.batches = {.extents = {x.batches.extent}, .strides = {batch_stride}, .count = 1};
    matrices.rows = axes_of(operand, batch_axes, rank - 1);
    matrices.column_stride = operand.strides[rank - 1];
    return matrices;
  };
  const auto [all_batches, m, n, k] = x.extents;
  PlainProduct product{.batches = x.batches.extent,
                       .m = m,
                       .n = n,
                       .k = k,
                       .a = factor(kA, x.a, x.batches.a_stride),
                       .b = factor(kB, x.b, x.batches.b_stride),
                       .transpose_a = attributes.boolean("transpose_a"),
                       .transpose_b = attributes.boolean("transpose_b"),
                       .alpha = static_cast<float>(attributes.real("alpha")),
                       .bias = x.bias,
                       .bias_dtype = x.out,
                       .y = even_rows(x.y, x.out, x.batches, {m, x.y_leading}),
                       .summand = {}};
  if (x.summand != nullptr) product.summand = even_rows(x.summand, x.out, x.batches, {m, x.summand_leading});
  launch_plain_product(product, call.stream);
  check_launch(call);
}

// y = alpha op(a) op(b) + bias + summand, then the activation. `summand` nullptr: what y has, where it
// accumulates, or nothing.
void multiply(const KernelCall& call, const OpCall& op, const Operand& y, const Operand* summand) {
  const MatmulExtents extents = matmul_extents(op.op);
  const auto [all_batches, m, n, k] = extents;
  const Activation activation = activation_named(op.attributes().text("activation"));
  const bool accumulate = summand == nullptr && op.accumulates(0);
  check(activation == Activation::kNone || (!accumulate && summand == nullptr),
        "a product with an activation cannot be added to something");
  std::byte* const pre_activation = op.outputs.size() > 1 ? op.outputs[1].data : nullptr;
  const Operand* const bias = op.has(kBias) ? &op.inputs[kBias] : nullptr;
  const DType out = y.dtype();
  const bool bias_in_product =
      bias != nullptr && bias->dtype() == out && (is_round(bias->data) || !is_round(y.data));

  std::byte* const target = pre_activation != nullptr ? pre_activation : y.data;
  const std::int64_t leading = leading_of(y, n);
  check(summand == nullptr || summand->dtype() == out,
        "a product's summand has another type than the result");
  const std::int64_t summand_leading = summand != nullptr ? leading_of(*summand, n) : leading;
  const std::byte* const added = summand != nullptr ? summand->data : accumulate ? y.data : nullptr;

  const int batch_axes = static_cast<int>(op.attributes().integer("batch_axes"));
  std::vector<BatchGroup> groups = batch_groups(op.inputs[kA], op.inputs[kB], batch_axes);
  const BatchGroup innermost = groups.back();
  groups.pop_back();
  const std::int64_t in_size = size_of(op.dtype(kA)), out_size = size_of(out);
  const std::int64_t products = all_batches / innermost.extent;
  for (std::int64_t i = 0; i < products; ++i) {
    std::int64_t a_start = 0, b_start = 0, rest = i;
    for (std::size_t g = groups.size(); g-- > 0;) {
      a_start += rest % groups[g].extent * groups[g].a_stride;
      b_start += rest % groups[g].extent * groups[g].b_stride;
      rest /= groups[g].extent;
    }
    const std::int64_t first_row = i * innermost.extent * m;
    const Multiplication product{
        .op = op,
        .extents = extents,
        .batches = innermost,
        .a = op.inputs[kA].data + a_start * in_size,
        .b = op.inputs[kB].data + b_start * in_size,
        .y = target + first_row * leading * out_size,
        .y_leading = leading,
        .y_spare_rows = products == 1 ? y.spare_rows : 0,
        .out = out,
        .summand = added == nullptr ? nullptr : added + first_row * summand_leading * out_size,
        .summand_leading = summand_leading,
        .bias = bias_in_product ? bias->data : nullptr};
    if (!multiply_by_library(product, call)) multiply_plainly(product, call);
  }

  if (activation == Activation::kNone && (bias == nullptr || bias_in_product)) return;
  launch_bias_activation({.x = target,
                          .y = y.data,
                          .pre_activation = bias_in_product ? nullptr : pre_activation,
                          .dtype = out,
                          .rows = all_batches * m,
                          .columns = n,
                          .row_stride = leading,
                          .bias = bias_in_product || bias == nullptr ? nullptr : bias->data,
                          .bias_dtype = bias == nullptr ? out : bias->dtype(),
                          .activation = activation},
                         call.device.traits().multiprocessors, call.stream);
  check_launch(call);
}

}  // namespace

void matmul_kernel(const KernelCall& call) {
  if (decode_matmul(call, call.op())) return;
  multiply(call, call.op(), call.op().outputs[0], nullptr);
}

// The product is not rounded to the result's type before the addition, as it would be by two kernels.
void matmul_add_kernel(const KernelCall& call) {
  const OpCall& product = call.ops[0];
  const OpCall& sum = call.ops[1];
  const TensorId result = product.op.op.outputs[0].tensor;
  const bool first = operand_layout(sum.op.graph, sum.op.op.inputs[0]).root == result;
  multiply(call, product, sum.outputs[0], &sum.inputs[first ? 1 : 0]);
}

}  // namespace nadi::inline engines::cuda
