// Matrix products: the library's for the product, and one pass over the result for bias and activation.
//
// An operand is a stack of matrices, possibly strided. Where rows are evenly spaced and the elements of a row
// (or of a column, of a transposed view) stand side by side, the library reads it in place; otherwise, and
// where elements are bf16 or fp16, blocks of it are packed as fp32 into the workspace. Sums over k are then
// fp32 sums over blocks, and the result is rounded once.

#include <algorithm>
#include <array>

#include "nadi/base/error.h"
#include "nadi/cpu/activation.h"
#include "nadi/cpu/gemm.h"
#include "nadi/cpu/kernel.h"
#include "nadi/engine/element.h"
#include "nadi/engine/host_threads.h"
#include "nadi/graph/ops/matmul.h"

namespace nadi::inline engines::cpu {
namespace {

enum Input { kA, kB, kBias };

// Extents of packed blocks: large enough that packing costs little beside the product, small enough that
// three of them are a few tens of MiB.
constexpr std::int64_t kBlock = 2048;

// One operand as a stack of matrices in memory, before transposing.
struct MatrixStack {
  const std::byte* data = nullptr;
  DType dtype = DType::kF32;
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_stride = 0, column_stride = 0;
  bool regular = true;  // false means rows are not evenly spaced and have to be gathered
  const Operand* operand = nullptr;
  int batch_axes = 0;

  // Where matrix `batch` begins, in elements.
  std::int64_t start(std::int64_t batch) const {
    std::int64_t offset = 0;
    for (int axis = batch_axes - 1; axis >= 0; --axis) {
      offset += batch % operand->shape()[axis] * operand->strides[axis];
      batch /= operand->shape()[axis];
    }
    return offset;
  }
  // Where row `row` of a matrix begins, from the matrix's beginning.
  std::int64_t row_start(std::int64_t row) const {
    if (regular) return row * row_stride;
    std::int64_t offset = 0;
    for (int axis = operand->shape().rank() - 2; axis >= batch_axes; --axis) {
      offset += row % operand->shape()[axis] * operand->strides[axis];
      row /= operand->shape()[axis];
    }
    return offset;
  }
};

MatrixStack stack_of(const Operand& operand, int batch_axes) {
  const Shape& shape = operand.shape();
  MatrixStack stack{.data = operand.data,
                    .dtype = operand.dtype(),
                    .rows = shape.elements(batch_axes, shape.rank() - 1),
                    .columns = shape[-1],
                    .operand = &operand,
                    .batch_axes = batch_axes};
  stack.column_stride = stack.columns == 1 ? 1 : operand.strides[shape.rank() - 1];
  // Row axes fall into one when each is as long as the step of the next outer one.
  std::int64_t spanned = 1;
  for (int axis = shape.rank() - 2; axis >= batch_axes; --axis) {
    if (shape[axis] == 1) continue;
    if (spanned == 1)
      stack.row_stride = operand.strides[axis];
    else if (operand.strides[axis] != stack.row_stride * spanned)
      stack.regular = false;
    spanned *= shape[axis];
  }
  if (stack.rows == 1) stack.row_stride = stack.columns;
  return stack;
}

// How the library can read a matrix in place: as it lies, or as the transpose of what lies there.
struct InPlace {
  bool possible = false;
  bool transposed = false;
  std::int64_t leading = 0;
};

InPlace in_place(const MatrixStack& stack) {
  if (stack.dtype != DType::kF32 || !stack.regular) return {};
  if (stack.column_stride == 1 && stack.row_stride >= stack.columns)
    return {.possible = true, .leading = stack.row_stride};
  if (stack.row_stride == 1 && stack.column_stride >= stack.rows)
    return {.possible = true, .transposed = true, .leading = stack.column_stride};
  return {};
}

struct Problem {
  MatmulExtents extents;
  MatrixStack a, b;
  bool transpose_a, transpose_b;
  bool direct;  // all three matrices are used in place
};

Problem problem_of(const OpView& op, const Operand& a, const Operand& b) {
  const int batch_axes = static_cast<int>(op.attributes().integer("batch_axes"));
  Problem problem{.extents = matmul_extents(op),
                  .a = stack_of(a, batch_axes),
                  .b = stack_of(b, batch_axes),
                  .transpose_a = op.attributes().boolean("transpose_a"),
                  .transpose_b = op.attributes().boolean("transpose_b"),
                  .direct = false};
  problem.direct =
      in_place(problem.a).possible && in_place(problem.b).possible && op.output(0).dtype == DType::kF32;
  return problem;
}

// Rows [row, row + rows) and columns [column, column + columns) of a matrix as fp32, one row after the other.
void pack(const MatrixStack& stack, std::int64_t start, std::array<std::int64_t, 4> part, float* target,
          int threads) {
  const auto [row, rows, column, columns] = part;
  parallel_for(rows, worthwhile_threads(rows * columns, threads),
               [&](std::int64_t first, std::int64_t end, int) {
                 for (std::int64_t i = first; i < end; ++i) {
                   const std::int64_t at = start + stack.row_start(row + i) + column * stack.column_stride;
                   float* to = target + i * columns;
                   if (stack.column_stride == 1) {
                     convert_to_float(element(stack.data, stack.dtype, at), stack.dtype, columns, to);
                     continue;
                   }
                   for (std::int64_t j = 0; j < columns; ++j)
                     convert_to_float(element(stack.data, stack.dtype, at + j * stack.column_stride),
                                      stack.dtype, 1, to + j);
                 }
               });
}

// What happens to a row of the product on its way to its place.
struct Epilogue {
  const std::byte* bias = nullptr;
  DType bias_dtype = DType::kF32;
  Activation activation = Activation::kNone;
  std::byte* y = nullptr;
  std::byte* pre_activation = nullptr;  // nullptr means not wanted
  DType dtype = DType::kF32;
  bool accumulate = false;

  bool trivial() const { return bias == nullptr && activation == Activation::kNone && dtype == DType::kF32; }
};

constexpr std::int64_t kPiece = 1024;

// `product` are `count` elements of a row from column `column` on; `at` is where they go in y. With fp32
// storage the product may stand in y or in pre_activation already.
void finish(const Epilogue& epilogue, const float* product, std::int64_t column, std::int64_t count,
            std::int64_t at) {
  std::array<float, kPiece> x, bias_buffer, y_buffer;
  for (std::int64_t done = 0; done < count; done += kPiece) {
    const std::int64_t n = std::min(kPiece, count - done);
    const float* row = product + done;
    void* y = element(static_cast<void*>(epilogue.y), epilogue.dtype, at + done);
    if (epilogue.bias != nullptr) {
      const float* bias =
          load_row(element(static_cast<const void*>(epilogue.bias), epilogue.bias_dtype, column + done),
                   epilogue.bias_dtype, n, bias_buffer.data());
      for (std::int64_t i = 0; i < n; ++i) x[i] = row[i] + bias[i];
    } else {
      std::copy_n(row, n, x.data());
    }
    if (epilogue.accumulate) {
      const float* before = load_row(y, epilogue.dtype, n, y_buffer.data());
      for (std::int64_t i = 0; i < n; ++i) x[i] += before[i];
    }
    if (epilogue.pre_activation != nullptr) {
      // What the gradient will see is the rounded value; the activation is that of the same value.
      void* saved = element(static_cast<void*>(epilogue.pre_activation), epilogue.dtype, at + done);
      convert_from_float(x.data(), n, saved, epilogue.dtype);
    }
    if (epilogue.activation == Activation::kNone) {
      convert_from_float(x.data(), n, y, epilogue.dtype);
      continue;
    }
    float* target = target_row(y, epilogue.dtype, y_buffer.data());
    gelu_row(epilogue.activation, x.data(), n, target);
    finish_row(target, n, y, epilogue.dtype);
  }
}

void multiply_direct(const Problem& problem, const KernelCall& call, const Epilogue& epilogue, float alpha) {
  const auto [batches, m, n, k] = problem.extents;
  const InPlace a = in_place(problem.a), b = in_place(problem.b);
  const bool accumulate = call.accumulates(0);
  auto* c =
      reinterpret_cast<float*>(epilogue.pre_activation != nullptr ? epilogue.pre_activation : epilogue.y);
  const auto product = [&](std::int64_t batch) {
    gemm({.m = m,
          .n = n,
          .k = k,
          .alpha = alpha,
          .a = reinterpret_cast<const float*>(problem.a.data) + problem.a.start(batch),
          .lda = a.leading,
          .transpose_a = problem.transpose_a != a.transposed,
          .b = reinterpret_cast<const float*>(problem.b.data) + problem.b.start(batch),
          .ldb = b.leading,
          .transpose_b = problem.transpose_b != b.transposed,
          .beta = accumulate ? 1.0F : 0.0F,
          .c = c + batch * m * n,
          .ldc = n});
  };
  if (batches >= call.threads && call.threads > 1) {
    parallel_for(batches, call.threads, [&](std::int64_t first, std::int64_t end, int) {
      for (std::int64_t batch = first; batch < end; ++batch) product(batch);
    });
  } else {
    for (std::int64_t batch = 0; batch < batches; ++batch) product(batch);
  }
  if (epilogue.trivial()) return;
  Epilogue rest = epilogue;
  rest.accumulate = false;  // the library has added up
  parallel_for(batches * m, worthwhile_threads(batches * m * n, call.threads),
               [&](std::int64_t first, std::int64_t end, int) {
                 for (std::int64_t row = first; row < end; ++row) finish(rest, c + row * n, 0, n, row * n);
               });
}

void multiply_packed(const Problem& problem, const KernelCall& call, const Epilogue& epilogue, float alpha) {
  const auto [batches, m, n, k] = problem.extents;
  const std::int64_t bm = std::min(m, kBlock), bn = std::min(n, kBlock), bk = std::min(k, kBlock);
  auto* packed_a = reinterpret_cast<float*>(call.workspace.data());
  float* packed_b = packed_a + bm * bk;
  float* product = packed_b + bk * bn;
  const bool ta = problem.transpose_a, tb = problem.transpose_b;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const std::int64_t a_start = problem.a.start(batch), b_start = problem.b.start(batch);
    for (std::int64_t j = 0; j < n; j += bn) {
      const std::int64_t columns = std::min(bn, n - j);
      for (std::int64_t i = 0; i < m; i += bm) {
        const std::int64_t rows = std::min(bm, m - i);
        for (std::int64_t p = 0; p < k; p += bk) {
          const std::int64_t inner = std::min(bk, k - p);
          using Part = std::array<std::int64_t, 4>;
          pack(problem.a, a_start, ta ? Part{p, inner, i, rows} : Part{i, rows, p, inner}, packed_a,
               call.threads);
          pack(problem.b, b_start, tb ? Part{j, columns, p, inner} : Part{p, inner, j, columns}, packed_b,
               call.threads);
          gemm({.m = rows,
                .n = columns,
                .k = inner,
                .alpha = alpha,
                .a = packed_a,
                .lda = ta ? rows : inner,
                .transpose_a = ta,
                .b = packed_b,
                .ldb = tb ? inner : columns,
                .transpose_b = tb,
                .beta = p == 0 ? 0.0F : 1.0F,
                .c = product,
                .ldc = columns});
        }
        parallel_for(rows, worthwhile_threads(rows * columns, call.threads),
                     [&](std::int64_t first, std::int64_t end, int) {
                       for (std::int64_t row = first; row < end; ++row)
                         finish(epilogue, product + row * columns, j, columns, (batch * m + i + row) * n + j);
                     });
      }
    }
  }
}

std::int64_t matmul_workspace(const OpView& op, int) {
  // Whether operands are read in place is known from their layouts alone.
  const auto operand = [&](std::size_t i, const Layout& layout) {
    return Operand{.data = nullptr, .tensor = &op.input(i), .strides = layout.strides};
  };
  const Layout a_layout = layout_of(op.graph, op.op.inputs[kA]);
  const Layout b_layout = layout_of(op.graph, op.op.inputs[kB]);
  const Operand a = operand(kA, a_layout), b = operand(kB, b_layout);
  if (problem_of(op, a, b).direct) return 0;
  const auto [batches, m, n, k] = matmul_extents(op);
  const std::int64_t bm = std::min(m, kBlock), bn = std::min(n, kBlock), bk = std::min(k, kBlock);
  return (bm * bk + bk * bn + bm * bn) * static_cast<std::int64_t>(sizeof(float));
}

void matmul_kernel(const KernelCall& call) {
  const Problem problem = problem_of(call.op, call.inputs[kA], call.inputs[kB]);
  const Epilogue epilogue{.bias = call.has(kBias) ? call.inputs[kBias].data : nullptr,
                          .bias_dtype = call.has(kBias) ? call.dtype(kBias) : DType::kF32,
                          .activation = activation_named(call.attributes().text("activation")),
                          .y = call.outputs[0].data,
                          .pre_activation = call.outputs.size() > 1 ? call.outputs[1].data : nullptr,
                          .dtype = call.out_dtype(0),
                          .accumulate = call.accumulates(0)};
  const auto alpha = static_cast<float>(call.attributes().real("alpha"));
  if (problem.direct)
    multiply_direct(problem, call, epilogue, alpha);
  else
    multiply_packed(problem, call, epilogue, alpha);
}

}  // namespace

const KernelEntry matmul_entry{matmul_kernel, matmul_workspace, true};

}  // namespace nadi::inline engines::cpu
