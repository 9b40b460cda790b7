// Kernels of decoding: products of few rows with the norm before and the rotation, gate or residual after
// them. decode_product.cuh has the device code; here ops become its arguments. Where operands do not allow it
// (views with strides, types that differ, weights that lie the other way round), the ops run one after the
// other, with what they hand to each other in the workspace.
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "nadi/cuda/decode_product.cuh"
#include "nadi/cuda/decode_product.h"
#include "nadi/cuda/kernel_needs.h"
#include "nadi/cuda/kernels.h"
#include "nadi/cuda/matrix_stack.h"
#include "nadi/cuda/ops_one_by_one.h"
#include "nadi/cuda/shared_memory_limit.h"
#include "nadi/engine/operand_layout.h"
#include "nadi/graph/ops/rotary.h"

namespace nadi::inline engines::cuda {
namespace {

using decode::NormKind;
using decode::OneProduct;
using decode::Products;

enum Layout { kUnknown, kByRows, kByColumns };  // weights [n, k] or [k, n]

// Limit of a product: its outputs are counted in 32 bits.
constexpr std::int64_t kMostOutputs = std::int64_t{1} << 28;

// Rows in shared memory may take so much of it: the rest is for partial sums.
constexpr std::int64_t kRowsBytes = 160 << 10;

struct FewRows {
  Products products;
  DType dtype = DType::kF32;
  Layout layout = kUnknown;
  std::int64_t rows = 0;
  std::int64_t tokens = 0;  // of each sequence; 0 means nobody asked
  // No kernel that is still at work writes the weights: they are parameters, which an optimizer writes, and
  // other kernels come between the optimizer and the next product.
  bool constant_weights = true;
  // Blocks on a multiprocessor, if there is room for them.
  int resident_blocks = 2;
};

bool hands_over(const OpCall& from, const OpCall& to, std::size_t input) {
  return operand_layout(to.op.graph, to.op.op.inputs[input]).root == from.op.op.outputs[0].tensor;
}

// Elements from row to row; nothing where rows are not evenly spaced, or have gaps between their elements.
std::optional<std::int64_t> stride_of_rows(const Operand& operand, std::int64_t columns) {
  const MatrixStack stack = matrix_stack(operand, 0);
  if (!stack.regular || stack.column_stride != 1) return std::nullopt;
  if (stack.columns == columns) return stack.row_stride;
  if (stack.rows > 1 && stack.row_stride != stack.columns) return std::nullopt;
  return columns;
}

bool set_x(FewRows& few, const Operand& x, std::int64_t rows, std::int64_t k) {
  const std::optional<std::int64_t> stride = stride_of_rows(x, k);
  if (!stride) return false;
  few.products.x = x.data;
  few.products.x_stride = *stride;
  few.products.k = k;
  few.rows = rows;
  few.dtype = x.dtype();
  return true;
}

bool set_norm(FewRows& few, const OpCall& op) {
  const bool layer = op.op.op.kind == OpKind::kLayerNorm;
  const Operand& x = op.inputs[0];
  if (!set_x(few, x, x.rows(), x.columns()) || op.out_dtype(0) != x.dtype()) return false;
  const Operand& y = op.outputs[0];
  // Every block reads x, and one writes y.
  if (y.data != nullptr && y.data == x.data) return false;
  const std::optional<std::int64_t> y_stride = stride_of_rows(y, y.columns());
  if (!y_stride) return false;
  few.products.norm = {.kind = layer ? NormKind::kLayer : NormKind::kRms,
                       .epsilon = static_cast<float>(op.attributes().real("epsilon")),
                       .weight = op.inputs[1].data,
                       .weight_dtype = op.dtype(1),
                       .bias = layer ? op.inputs[2].data : nullptr,
                       .bias_dtype = layer ? op.dtype(2) : DType::kF32,
                       .y = y.data,
                       .y_stride = *y_stride,
                       .mean = layer ? op.out<float>(1) : nullptr,
                       .reciprocal = layer ? op.out<float>(2) : op.out<float>(1)};
  return true;
}

// Adds a product of x. Where `result` is not the matmul's own output, that is written only if it has memory.
bool add_product(FewRows& few, const OpCall& op, const Operand& result) {
  Products& p = few.products;
  const Attributes& attributes = op.attributes();
  const auto [batches, m, n, k] = matmul_extents(op.op);
  if (n > kMostOutputs || p.count == decode::kMostProducts || batches != 1 ||
      attributes.boolean("transpose_a"))
    return false;
  if (m != few.rows || k != p.k || op.dtype(1) != few.dtype) return false;
  const MatrixInPlace weights = in_place(matrix_stack(op.inputs[1], 0));
  if (!weights.possible || op.inputs[1].shape().rank() != 2) return false;
  const Layout layout = attributes.boolean("transpose_b") != weights.transposed ? kByRows : kByColumns;
  if (few.layout != kUnknown && few.layout != layout) return false;
  few.layout = layout;
  few.constant_weights = few.constant_weights && op.inputs[1].tensor->role == Role::kParameter;

  const Activation activation = activation_named(attributes.text("activation"));
  const bool saved = activation != Activation::kNone && op.outputs.size() > 1;
  const bool elsewhere = &result != op.outputs.data() && op.outputs[0].data != result.data;
  const Operand* const before = saved ? &op.outputs[1] : elsewhere ? &op.outputs[0] : nullptr;
  if (elsewhere && activation != Activation::kNone && op.outputs[0].data != nullptr) return false;
  const std::optional<std::int64_t> stride = stride_of_rows(result, n);
  const std::optional<std::int64_t> before_stride = before != nullptr ? stride_of_rows(*before, n) : stride;
  if (!stride || !before_stride || (before != nullptr && before->dtype() != result.dtype())) return false;
  p.product[p.count++] = {.weights = op.inputs[1].data,
                          .leading = weights.leading,
                          .n = n,
                          .alpha = static_cast<float>(attributes.real("alpha")),
                          .bias = op.has(2) ? op.inputs[2].data : nullptr,
                          .bias_dtype = op.has(2) ? op.dtype(2) : DType::kF32,
                          .product = before != nullptr ? before->data : nullptr,
                          .product_stride = *before_stride,
                          .activation = activation,
                          .y = result.data,
                          .y_dtype = result.dtype(),
                          .y_stride = *stride,
                          .accumulate = op.accumulates(0)};
  return true;
}

// How many rows belong to one sequence.
bool set_tokens(FewRows& few, std::int64_t tokens) {
  const bool known = few.tokens != 0;
  if (!known) few.tokens = tokens;
  few.products.tokens = static_cast<int>(few.tokens);
  return few.tokens == tokens;
}

// Turns the heads of the product that was added last.
bool set_rotary(FewRows& few, const OpCall& op) {
  Products& p = few.products;
  OneProduct& product = p.product[p.count - 1];
  const std::int64_t half = op.shape(0)[2] / op.attributes().integer("heads") / 2;
  if (few.layout != kByRows || half > decode::kMostAngles || product.activation != Activation::kNone)
    return false;
  std::array<double, decode::kMostAngles> frequencies = {};
  rotary_frequencies(op.attributes()).write({frequencies.data(), static_cast<std::size_t>(half)});
  if (op.attributes().boolean("inverse"))
    for (double& frequency : frequencies) frequency = -frequency;
  const auto* positions = op.in<std::int32_t>(1);
  const auto* token_positions = op.in<std::int32_t>(2);
  if (p.angles != 0 &&
      (p.angles != half || p.positions != positions || p.token_positions != token_positions ||
       !std::equal(frequencies.begin(), frequencies.end(), p.frequency)))
    return false;
  std::copy(frequencies.begin(), frequencies.end(), p.frequency);
  p.angles = static_cast<int>(half);
  p.positions = positions;
  p.token_positions = token_positions;
  if (!set_tokens(few, op.shape(0)[1])) return false;
  product.half = static_cast<int>(half);
  product.accumulate = op.accumulates(0);
  return true;
}

// Writes a product's result to a cache, too. It must have been computed to the end.
bool set_cache(FewRows& few, int product, const OpCall& op) {
  OneProduct& q = few.products.product[product];
  if (q.cache != nullptr || !set_tokens(few, op.shape(1)[1]) || op.shape(0)[2] != q.n) return false;
  q.cache = op.outputs[0].data;
  q.cache_dtype = op.out_dtype(0);
  q.cache_rows = op.shape(0)[1];
  q.cache_positions = op.in<std::int32_t>(2);
  return true;
}

// V elements at a time are possible where every vector of them is aligned.
bool allows_vectors(const FewRows& few, int V) {
  const Products& p = few.products;
  const std::int64_t bytes = V * size_of(few.dtype);
  if (p.k % V != 0 || p.x_stride % V != 0 || !is_aligned(p.x, bytes)) return false;
  if (p.norm.y != nullptr && (p.norm.y_stride % V != 0 || !is_aligned(p.norm.y, bytes))) return false;
  for (int q = 0; q < p.count; ++q) {
    const OneProduct& product = p.product[q];
    if (product.leading % V != 0 || !is_aligned(product.weights, bytes)) return false;
    if (few.layout == kByColumns && product.n % V != 0) return false;
  }
  return true;
}

// The same for rows [first, first + R) of all operands.
Products rows_from(const Products& all, const FewRows& few, std::int64_t first) {
  Products p = all;
  const auto shift = [&](const void* data, DType dtype, std::int64_t stride) -> void* {
    if (data == nullptr) return nullptr;
    return const_cast<std::byte*>(static_cast<const std::byte*>(data)) + first * stride * size_of(dtype);
  };
  p.x = shift(p.x, few.dtype, p.x_stride);
  p.norm.y = shift(p.norm.y, few.dtype, p.norm.y_stride);
  if (p.norm.mean != nullptr) p.norm.mean += first;
  if (p.norm.reciprocal != nullptr) p.norm.reciprocal += first;
  for (int i = 0; i < p.count; ++i) {
    OneProduct& q = p.product[i];
    q.y = shift(q.y, q.y_dtype, q.y_stride);
    q.product = shift(q.product, q.y_dtype, q.product_stride);
    q.summand = shift(q.summand, q.summand_dtype, q.summand_stride);
  }
  p.first_row = static_cast<int>(first);
  return p;
}

template <class T, int V, int R>
void launch_rows(Products p, const FewRows& few, const KernelCall& call) {
  const bool by_rows = few.layout == kByRows;
  const std::int64_t piece = by_rows ? std::int64_t{kWarp} * V * decode::kLoads : V;
  p.padded_k = (p.k + piece - 1) / piece * piece;
  // Columns of a tile: as many as leave a tile for each multiprocessor, since then more of a row is read at
  // once; but no fewer than fill a sector of memory.
  const int multiprocessors = call.device.traits().multiprocessors;
  const auto units_of = [&](const OneProduct& q, int lanes) -> std::int64_t {
    if (!by_rows) return (q.n + std::int64_t{lanes} * V - 1) / (std::int64_t{lanes} * V);
    return q.half > 0 ? q.n / 2 : p.gate >= 0 ? q.n : (q.n + 1) / 2;
  };
  const auto count_units = [&](int lanes) {
    p.lanes = lanes;
    p.units = 0;
    for (int q = 0; q < (p.gate >= 0 ? 1 : p.count); ++q) {
      p.product[q].first_unit = p.units;
      p.units += units_of(p.product[q], lanes);
    }
  };
  int lanes = kWarp;
  count_units(lanes);
  while (!by_rows && lanes > 2 && p.units < multiprocessors) count_units(lanes /= 2);

  auto* const kernel = by_rows ? decode::products_by_rows<T, V, R> : decode::products_by_columns<T, V, R>;
  const std::int64_t partials = by_rows ? 0 : std::int64_t{decode::kWarps} * R * lanes * V;
  const auto shared =
      static_cast<int>((R * p.padded_k + partials) * static_cast<std::int64_t>(sizeof(float)));
  allow_shared_memory(kernel, static_cast<std::size_t>(shared));
  int per_multiprocessor = 1;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel, decode::kThreads,
                                                static_cast<std::size_t>(shared));
  const std::int64_t resident = std::clamp(per_multiprocessor, 1, few.resident_blocks);
  const std::int64_t blocks = std::min<std::int64_t>(p.units, multiprocessors * resident);
  // The kernel may begin while the one before ends: it reads weights, then waits for x.
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(decode::kThreads);
  config.dynamicSmemBytes = static_cast<std::size_t>(shared);
  config.stream = call.stream;
  config.attrs = &overlap;
  config.numAttrs = few.constant_weights && call.device.traits().compute_capability >= 90 ? 1 : 0;
  cudaLaunchKernelEx(&config, kernel, p);
  check_launch(call);
}

// False where a row does not fit into shared memory.
bool launch_few_rows(const FewRows& few, const KernelCall& call) {
  const std::int64_t most = kRowsBytes / static_cast<std::int64_t>(sizeof(float)) /
                            std::max<std::int64_t>((few.products.k + 1023) / 1024 * 1024, 1);
  if (most < 1 || few.rows < 1) return false;
  with_type(few.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kWide = 16 / static_cast<int>(sizeof(T));
    const bool wide = allows_vectors(few, kWide);
    for (std::int64_t first = 0; first < few.rows;) {
      const std::int64_t left = std::min(most, few.rows - first);
      Products p = rows_from(few.products, few, first);
      const auto launch = [&](auto vector, auto rows) {
        p.rows = static_cast<int>(std::min<std::int64_t>(rows(), left));
        launch_rows<T, vector(), rows()>(p, few, call);
        first += p.rows;
      };
      using std::integral_constant;
      const integral_constant<int, kWide> whole;
      const integral_constant<int, 1> single;
      if (wide && left > 4 && most >= 8)
        launch(whole, integral_constant<int, 8>{});
      else if (wide && left > 1 && most >= 4)
        launch(whole, integral_constant<int, 4>{});
      else if (wide)
        launch(whole, integral_constant<int, 1>{});
      else if (left > 1 && most >= 4)
        launch(single, integral_constant<int, 4>{});
      else
        launch(single, integral_constant<int, 1>{});
    }
  });
  return true;
}

bool norm_products(const KernelCall& call) {
  FewRows few;
  const OpCall& norm = call.ops[0];
  if (!set_norm(few, norm)) return false;
  std::array<const OpCall*, decode::kMostProducts> ends = {};  // the op that each product ends with
  for (std::size_t i = 1; i < call.ops.size(); ++i) {
    const OpCall& op = call.ops[i];
    if (op.op.op.kind == OpKind::kCacheWrite) {
      const auto* const end = std::find_if(ends.begin(), ends.begin() + few.products.count,
                                           [&](const OpCall* from) { return hands_over(*from, op, 1); });
      const auto product = static_cast<int>(end - ends.begin());
      if (product == few.products.count || !set_cache(few, product, op)) return false;
      continue;
    }
    if (op.op.op.kind != OpKind::kMatmul || !hands_over(norm, op, 0)) return false;
    const bool turned = i + 1 < call.ops.size() && call.ops[i + 1].op.op.kind == OpKind::kRotary &&
                        hands_over(op, call.ops[i + 1], 0);
    const OpCall& end = turned ? call.ops[i + 1] : op;
    if (!add_product(few, op, end.outputs[0])) return false;
    if (turned && !set_rotary(few, call.ops[++i])) return false;
    ends[few.products.count - 1] = &end;
  }
  return few.products.count > 0 && launch_few_rows(few, call);
}

bool gated_products(const KernelCall& call) {
  FewRows few;
  const std::size_t before = call.ops.size() - 3;  // a norm, or nothing
  const OpCall& first = call.ops[before];
  const OpCall& second = call.ops[before + 1];
  const OpCall& gate = call.ops[before + 2];
  const MatmulExtents extents = matmul_extents(first.op);
  if (before == 1 ? !set_norm(few, call.ops[0]) : !set_x(few, first.inputs[0], extents.m, extents.k))
    return false;
  if (before == 1 && !(hands_over(call.ops[0], first, 0) && hands_over(call.ops[0], second, 0))) return false;
  if (before == 0 && first.op.op.inputs[0] != second.op.op.inputs[0]) return false;
  const Operand& result = gate.outputs[0];
  if (!add_product(few, first, result) || !add_product(few, second, result)) return false;
  Products& p = few.products;
  if (few.layout != kByRows || p.product[0].n != p.product[1].n) return false;
  if (p.product[0].activation != Activation::kNone || p.product[1].activation != Activation::kNone)
    return false;
  p.gate = hands_over(first, gate, 0) ? 0 : 1;
  if (!hands_over(p.gate == 0 ? second : first, gate, 1)) return false;
  p.product[0].accumulate = gate.accumulates(0);
  return launch_few_rows(few, call);
}

bool product_add(const KernelCall& call) {
  FewRows few;
  const OpCall& op = call.ops[0];
  const OpCall& add = call.ops[1];
  const MatmulExtents extents = matmul_extents(op.op);
  if (!(add.shape(0) == add.shape(1)) || !set_x(few, op.inputs[0], extents.m, extents.k)) return false;
  const Operand& summand = add.inputs[hands_over(op, add, 0) ? 1 : 0];
  if (!add_product(few, op, add.outputs[0])) return false;
  const std::optional<std::int64_t> stride = stride_of_rows(summand, extents.n);
  if (!stride) return false;
  OneProduct& product = few.products.product[0];
  product.summand = summand.data;
  product.summand_dtype = summand.dtype();
  product.summand_stride = *stride;
  product.accumulate = add.accumulates(0);
  return launch_few_rows(few, call);
}

}  // namespace

bool decode_matmul(const KernelCall& call, const OpCall& op) {
  const MatmulExtents extents = matmul_extents(op.op);
  FewRows few;
  return extents.m <= kFewRows && extents.batches == 1 && !op.attributes().boolean("transpose_a") &&
         set_x(few, op.inputs[0], extents.m, extents.k) && add_product(few, op, op.outputs[0]) &&
         launch_few_rows(few, call);
}

void decode_norm_products_kernel(const KernelCall& call) {
  if (!norm_products(call)) run_one_by_one(call);
}

void decode_gated_products_kernel(const KernelCall& call) {
  if (!gated_products(call)) run_one_by_one(call);
}

void decode_product_add_kernel(const KernelCall& call) {
  if (!product_add(call)) run_one_by_one(call);
}

}  // namespace nadi::inline engines::cuda
