#include "nadi/sim/trace_work.h"

#include <algorithm>
#include <array>
#include <utility>

#include "nadi/work/torch_work.h"

namespace nadi::inline predict {
namespace {

// Element-wise ops do about one operation per byte, products of any size that matters tens of them.
constexpr std::int64_t kOpsPerByteOfProducts = 8;

using TensorShape = std::vector<std::int64_t>;

std::int64_t elements_of(const TensorShape& shape) {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(product, extent, &product)) return 0;
  return product;
}

// [.., m, k] by [k, n] gives [.., m, n]; leading extents are batches where both factors have them.
ProductShape product_of(const TensorShape& a, const TensorShape& b, const TensorShape& out) {
  if (out.size() < 2 || b.size() < 2) return {};
  ProductShape product;
  product.n = out.back();
  if (b.size() == 2) {
    product.batches = 1;
    product.m = product.n > 0 ? elements_of(out) / product.n : 0;
  } else {
    product.m = out[out.size() - 2];
    product.batches = product.m > 0 && product.n > 0 ? elements_of(out) / product.m / product.n : 0;
  }
  const std::int64_t rows = product.batches * product.m;
  product.k = rows > 0 ? elements_of(a) / rows : 0;
  if (product.batches <= 0 || product.m <= 0 || product.n <= 0 || product.k <= 0) return {};
  // Square weights do not say it by their shapes.
  product.transpose_a = a.back() != product.k;
  product.transpose_b = product.n != product.k && b.back() == product.k;
  return product;
}

// Attention of our own: queries [B, T, H*D], or packed with keys and values; the statistics of the softmax,
// [B, H, T], an output and an input of the gradient, say how many heads there are.
ProductShape attention_of(const std::vector<TensorShape>& inputs, const std::vector<TensorShape>& outputs,
                          bool gradient) {
  if (inputs.empty() || outputs.empty() || inputs[0].size() != 3) return {};
  const std::int64_t sequences = inputs[0][0], queries = inputs[0][1];
  const TensorShape& result = gradient ? inputs.back() : outputs[0];
  if (result.size() != 3) return {};
  for (const TensorShape& shape : gradient ? inputs : outputs) {
    if (shape.size() != 3 || shape[0] != sequences || shape[2] != queries || shape == result) continue;
    const std::int64_t heads = shape[1];
    if (heads < 1 || result[2] % heads != 0) continue;
    const bool packed = inputs.size() < 2 || inputs[1].size() != 3;
    ProductShape product{.m = queries, .n = packed ? queries : inputs[1][1], .k = result[2] / heads};
    if (__builtin_mul_overflow(sequences, heads, &product.batches)) return {};
    return product;
  }
  return {};
}

// Which two of the inputs of PyTorch's op are multiplied.
struct TorchProduct {
  std::string_view op;
  std::size_t a, b;
  bool second_is_transposed;
};
constexpr std::array<TorchProduct, 7> kTorchProducts = {{{"aten::mm", 0, 1, false},
                                                         {"aten::addmm", 1, 2, false},
                                                         {"aten::_addmm_activation", 1, 2, false},
                                                         {"aten::bmm", 0, 1, false},
                                                         {"aten::baddbmm", 1, 2, false},
                                                         {"aten::matmul", 0, 1, false},
                                                         {"aten::linear", 0, 1, true}}};

ProductShape torch_product(const TorchProduct& op, const std::vector<TensorShape>& inputs) {
  if (inputs.size() <= std::max(op.a, op.b)) return {};
  const TensorShape &a = inputs[op.a], &b = inputs[op.b];
  if (a.size() < 2 || b.size() < 2) return {};
  TensorShape out = a;
  out.back() = op.second_is_transposed ? b[b.size() - 2] : b.back();
  return product_of(a, b, out);
}

bool is_attention(std::string_view op) {
  return op.find("attention") != std::string_view::npos || op.find("flash") != std::string_view::npos;
}

}  // namespace

std::vector<std::vector<std::int64_t>> parse_shapes(std::string_view text) {
  std::vector<TensorShape> shapes;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' && ++depth == 2) shapes.emplace_back();
    if (text[i] == ']') --depth;
    if (text[i] < '0' || text[i] > '9') continue;
    std::int64_t number = 0;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
      if (__builtin_mul_overflow(number, 10, &number) ||
          __builtin_add_overflow(number, text[i] - '0', &number))
        return {};
    --i;
    if (depth == 2 && !shapes.empty()) shapes.back().push_back(number);
  }
  return shapes;
}

std::optional<DType> first_dtype(std::string_view types) {
  static constexpr std::array<std::pair<std::string_view, DType>, 12> kNames = {{{"bf16", DType::kBF16},
                                                                                 {"BFloat16", DType::kBF16},
                                                                                 {"bfloat16", DType::kBF16},
                                                                                 {"f16", DType::kF16},
                                                                                 {"Half", DType::kF16},
                                                                                 {"half", DType::kF16},
                                                                                 {"f8e4m3", DType::kF8E4M3},
                                                                                 {"f8e5m2", DType::kF8E5M2},
                                                                                 {"f32", DType::kF32},
                                                                                 {"float", DType::kF32},
                                                                                 {"i32", DType::kI32},
                                                                                 {"i64", DType::kI64}}};
  std::optional<DType> first;
  std::size_t at = std::string_view::npos;
  for (const auto& [name, dtype] : kNames)
    if (const std::size_t found = types.find(name); found < at) {
      at = found;
      first = dtype;
    }
  return first;
}

TraceWorks::TraceWorks(const Timeline& timeline) : timeline_(timeline) {
  for (int kind = 0; kind < kOpKindCount; ++kind)
    kinds_.emplace(to_string(static_cast<OpKind>(kind)), static_cast<OpKind>(kind));
  if (!timeline.has_own_ops()) return;
  const Trace& trace = timeline.trace();
  for (std::uint32_t row = 0; row < timeline.size(); ++row)
    if (!trace.outputs(row).shapes.empty()) listed_.try_emplace(trace.name_number(row), row);
}

// Most traces list the tensors of the first micro-batch only: others have those of their namesake.
std::uint32_t TraceWorks::listing(std::uint32_t row) const {
  const auto found = listed_.find(timeline_.trace().name_number(row));
  return found == listed_.end() ? row : found->second;
}

const OpWork* TraceWorks::of(std::uint32_t row) {
  const std::int64_t ops = timeline_.num_ops(row).value_or(Flops{-1}).count();
  const std::int64_t bytes = timeline_.tensor_size(row).value_or(Bytes{-1}).count();
  const std::uint32_t around = timeline_.has_own_ops() ? 0 : timeline_.enclosing(row);
  const auto [entry, fresh] =
      known_.try_emplace(std::tuple(timeline_.trace().name_number(row), around, ops, bytes));
  if (fresh) entry->second = find(row);
  return entry->second ? &*entry->second : nullptr;
}

std::optional<OpWork> TraceWorks::find(std::uint32_t row) {
  const std::optional<Flops> flops = timeline_.num_ops(row);
  const std::optional<Bytes> bytes = timeline_.tensor_size(row);
  if (!flops && !bytes) return std::nullopt;
  const Flops work = flops.value_or(Flops{});
  const Bytes moved = bytes.value_or(Bytes{});
  if (timeline_.has_own_ops())
    if (const auto kind = kinds_.find(timeline_.text(timeline_.label(row))); kind != kinds_.end())
      return own_work(row, kind->second, work, moved);
  if (auto kernel = torch_kernel_work(row, work, moved)) return kernel;
  OpWork plain{.kind = OpKind::kCopy, .dtype = DType::kF32, .read = moved};
  if (work.count() / kOpsPerByteOfProducts > moved.count()) {
    plain.kind = OpKind::kMatmul;
    plain.matrix = work;
  } else {
    plain.vector = work;
  }
  return plain;
}

OpWork TraceWorks::own_work(std::uint32_t row, OpKind kind, Flops flops, Bytes bytes) {
  const Trace& trace = timeline_.trace();
  const std::uint32_t listed = listing(row);
  const IoInfo inputs = trace.inputs(listed), outputs = trace.outputs(listed);
  const bool multiplies =
      kind == OpKind::kMatmul || kind == OpKind::kAttention || kind == OpKind::kAttentionGrad;
  OpWork work{.kind = kind};
  const std::string_view phase = timeline_.text(timeline_.phase(row));
  for (int p = 0; p < kPhaseCount; ++p)
    if (to_string(static_cast<Phase>(p)) == phase) work.phase = static_cast<Phase>(p);
  work.dtype = first_dtype(multiplies ? inputs.types : outputs.types).value_or(DType::kF32);
  (multiplies ? work.matrix : work.vector) = flops;
  work.read = bytes;
  if (!multiplies) return work;
  const auto in = parse_shapes(inputs.shapes), out = parse_shapes(outputs.shapes);
  if (kind != OpKind::kMatmul)
    work.product = attention_of(in, out, kind == OpKind::kAttentionGrad);
  else if (in.size() >= 2 && !out.empty())
    work.product = product_of(in[0], in[1], out[0]);
  return work;
}

std::optional<OpWork> TraceWorks::torch_kernel_work(std::uint32_t row, Flops flops, Bytes bytes) {
  const Trace& trace = timeline_.trace();
  std::uint32_t op = timeline_.enclosing(row);
  for (int depth = 0; op != kNoRow && depth < kMaxNesting; ++depth, op = timeline_.enclosing(op))
    if (torch_work(trace.name(op), trace.inputs(op), trace.outputs(op))) break;
  if (op == kNoRow) return std::nullopt;
  const std::string_view name = trace.name(op);
  OpWork work{.kind = OpKind::kCopy, .read = bytes};
  work.dtype = first_dtype(trace.inputs(op).types).value_or(DType::kF32);
  if (is_attention(name)) {
    work.kind = name.find("backward") != std::string_view::npos ? OpKind::kAttentionGrad : OpKind::kAttention;
    work.matrix = flops;
    return work;
  }
  for (const TorchProduct& product : kTorchProducts)
    if (product.op == name) {
      work.kind = OpKind::kMatmul;
      work.matrix = flops;
      const ProductShape shape = torch_product(product, parse_shapes(trace.inputs(op).shapes));
      // One of several kernels of the op does a part of the product only.
      if (shape.batches > 0 && 2 * shape.batches * shape.m * shape.n * shape.k == flops.count())
        work.product = shape;
      return work;
    }
  if (name.find("conv") != std::string_view::npos) {
    work.kind = OpKind::kMatmul;
    work.matrix = flops;
    return work;
  }
  work.vector = flops;
  return work;
}

}  // namespace nadi::inline predict
