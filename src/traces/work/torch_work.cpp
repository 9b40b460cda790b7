#include "nadi/work/torch_work.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "nadi/base/json.h"

namespace nadi::inline traces {
namespace {

// Sizes of damaged or made-up shapes may be anything: what does not fit is the largest there is.
std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<std::int64_t>::max() : result;
}
std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? std::numeric_limits<std::int64_t>::max() : result;
}

struct TensorFacts {
  std::vector<std::int64_t> shape;
  std::int64_t element_bytes = 4;

  std::int64_t elements() const {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count = product(count, size);
    return count;
  }
  std::int64_t bytes() const { return product(elements(), element_bytes); }
  std::int64_t last() const { return shape.empty() ? 1 : shape.back(); }
};

// What one argument of an op is: a tensor, a list of them, or none.
using Argument = std::vector<TensorFacts>;

struct TypeSize {
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array kTypeSizes{TypeSize{"float", 4},
                                TypeSize{"double", 8},
                                TypeSize{"c10::BFloat16", 2},
                                TypeSize{"c10::Half", 2},
                                TypeSize{"long int", 8},
                                TypeSize{"long", 8},
                                TypeSize{"int", 4},
                                TypeSize{"short int", 2},
                                TypeSize{"short", 2},
                                TypeSize{"signed char", 1},
                                TypeSize{"unsigned char", 1},
                                TypeSize{"char", 1},
                                TypeSize{"bool", 1},
                                TypeSize{"c10::Float8_e4m3fn", 1},
                                TypeSize{"c10::Float8_e5m2", 1},
                                TypeSize{"c10::complex<float>", 8},
                                TypeSize{"c10::complex<double>", 16}};

std::optional<std::int64_t> size_of_type(std::string_view name) {
  const auto known = std::ranges::find(kTypeSizes, name, &TypeSize::name);
  return known == kTypeSizes.end() ? std::nullopt : std::optional(known->bytes);
}

constexpr std::string_view kTensor = "Tensor(";
constexpr std::string_view kList = "GenericList[";
constexpr std::int64_t kUnknownTypeBytes = 4;

// "Tensor(float)" -> "float"
std::string_view within_tensor(std::string_view type) {
  type.remove_prefix(kTensor.size());
  const std::size_t end = type.rfind(')');
  return end == std::string_view::npos ? type : type.substr(0, end);
}

bool is_shape(const Json& value) {
  return value.is_array() && std::ranges::all_of(value, [](const Json& size) {
           return size.is_number_integer() && size.get<std::int64_t>() >= 0;
         });
}

void add_tensor(Argument& argument, const Json& shape, std::int64_t element_bytes) {
  if (!is_shape(shape)) return;
  argument.push_back({.shape = shape.get<std::vector<std::int64_t>>(), .element_bytes = element_bytes});
}

// A tensor without dimensions has the shape [] as a number has, so that the type decides.
Argument argument_of(const Json& shape, std::string_view type) {
  Argument argument;
  if (type.starts_with(kTensor)) {
    if (const auto bytes = size_of_type(within_tensor(type))) add_tensor(argument, shape, *bytes);
  } else if (type.starts_with(kList) && type.find(kTensor) != std::string_view::npos) {
    const std::string_view first = type.substr(type.find(kTensor));
    const std::int64_t bytes =
        size_of_type(within_tensor(first.substr(0, first.find(')') + 1))).value_or(kUnknownTypeBytes);
    if (shape.is_array())
      for (const Json& entry : shape) add_tensor(argument, entry, bytes);
  } else if (type == "TensorList") {
    if (shape.is_array())
      for (const Json& entry : shape) add_tensor(argument, entry, kUnknownTypeBytes);
  } else if (const auto bytes = size_of_type(type)) {
    add_tensor(argument, shape, *bytes);
  }
  return argument;
}

std::vector<Argument> arguments_of(const IoInfo& io) {
  std::vector<Argument> arguments;
  const Json shapes = Json::parse(io.shapes, nullptr, /*allow_exceptions=*/false);
  const Json types = Json::parse(io.types, nullptr, /*allow_exceptions=*/false);
  if (!shapes.is_array() || !types.is_array() || shapes.size() != types.size()) return arguments;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    arguments.push_back(types[i].is_string() ? argument_of(shapes[i], types[i].get<std::string>())
                                             : Argument{});
  return arguments;
}

struct OpTensors {
  std::vector<Argument> inputs, outputs;

  const TensorFacts* input(std::size_t i) const { return at(inputs, i); }
  const TensorFacts* output(std::size_t i) const { return at(outputs, i); }

 private:
  static const TensorFacts* at(const std::vector<Argument>& arguments, std::size_t i) {
    return i < arguments.size() && arguments[i].size() == 1 ? arguments[i].data() : nullptr;
  }
};

// How an op's work follows from its tensors; nothing where one that it needs is not known.
using WorkRule = std::optional<std::int64_t> (*)(const OpTensors& tensors);

// Every row of A meets every column of B.
template <std::size_t A, std::size_t B>
std::optional<std::int64_t> matrix_product(const OpTensors& tensors) {
  const TensorFacts *a = tensors.input(A), *b = tensors.input(B);
  if (a == nullptr || b == nullptr || a->shape.empty() || b->shape.empty()) return std::nullopt;
  const std::int64_t columns = b->shape.size() == 1 ? 1 : b->last();
  return product(2, product(a->elements(), columns));
}

// The weight is [outputs, inputs].
std::optional<std::int64_t> linear(const OpTensors& tensors) {
  const TensorFacts *input = tensors.input(0), *weight = tensors.input(1);
  if (input == nullptr || weight == nullptr || weight->shape.empty()) return std::nullopt;
  return product(2, product(input->elements(), weight->shape.front()));
}

// The weight is [output channels, input channels of a group, height, width].
std::optional<std::int64_t> filtered(const TensorFacts* result, const TensorFacts* weight) {
  if (result == nullptr || weight == nullptr || weight->shape.empty() || weight->shape.front() == 0)
    return std::nullopt;
  return product(2, product(result->elements(), weight->elements() / weight->shape.front()));
}
std::optional<std::int64_t> convolution(const OpTensors& tensors) {
  return filtered(tensors.output(0), tensors.input(1));
}
// Inputs: gradient of the output, input, weight. Outputs: gradients of the input and of the weight, of which
// one may not be wanted.
std::optional<std::int64_t> convolution_backward(const OpTensors& tensors) {
  const std::optional<std::int64_t> forward = filtered(tensors.input(0), tensors.input(2));
  if (!forward) return std::nullopt;
  std::int64_t gradients = 0;
  for (const std::size_t i : {0, 1}) gradients += tensors.output(i) != nullptr ? 1 : 0;
  return product(*forward, tensors.outputs.empty() ? 2 : gradients);
}

// `Positions`: which dimension of the keys counts them.
template <std::size_t Queries, std::size_t Positions>
std::optional<std::int64_t> attention(const OpTensors& tensors) {
  const TensorFacts *queries = tensors.input(Queries), *keys = tensors.input(Queries + 1);
  if (queries == nullptr || keys == nullptr || keys->shape.size() <= Positions) return std::nullopt;
  return product(4, product(queries->elements(), keys->shape[Positions]));
}
template <std::size_t Positions>
std::optional<std::int64_t> attention_backward(const OpTensors& tensors) {
  const std::optional<std::int64_t> forward = attention<1, Positions>(tensors);
  return forward ? std::optional(product(5, *forward / 2)) : std::nullopt;
}

struct RuleEntry {
  std::string_view name;
  WorkRule rule;
};
constexpr std::array kRules{
    RuleEntry{"aten::mm", &matrix_product<0, 1>},
    RuleEntry{"aten::bmm", &matrix_product<0, 1>},
    RuleEntry{"aten::matmul", &matrix_product<0, 1>},
    RuleEntry{"aten::mv", &matrix_product<0, 1>},
    RuleEntry{"aten::_int_mm", &matrix_product<0, 1>},
    RuleEntry{"aten::_scaled_mm", &matrix_product<0, 1>},
    RuleEntry{"aten::addmm", &matrix_product<1, 2>},
    RuleEntry{"aten::_addmm_activation", &matrix_product<1, 2>},
    RuleEntry{"aten::addmv", &matrix_product<1, 2>},
    RuleEntry{"aten::baddbmm", &matrix_product<1, 2>},
    RuleEntry{"aten::linear", &linear},
    RuleEntry{"aten::convolution", &convolution},
    RuleEntry{"aten::_convolution", &convolution},
    RuleEntry{"aten::conv1d", &convolution},
    RuleEntry{"aten::conv2d", &convolution},
    RuleEntry{"aten::conv3d", &convolution},
    RuleEntry{"aten::cudnn_convolution", &convolution},
    RuleEntry{"aten::miopen_convolution", &convolution},
    RuleEntry{"aten::_conv_depthwise2d", &convolution},
    RuleEntry{"aten::convolution_backward", &convolution_backward},
    // [batch, heads, positions, width]
    RuleEntry{"aten::scaled_dot_product_attention", &attention<0, 2>},
    RuleEntry{"aten::_scaled_dot_product_flash_attention", &attention<0, 2>},
    RuleEntry{"aten::_scaled_dot_product_efficient_attention", &attention<0, 2>},
    RuleEntry{"aten::_scaled_dot_product_cudnn_attention", &attention<0, 2>},
    RuleEntry{"aten::_scaled_dot_product_flash_attention_backward", &attention_backward<2>},
    RuleEntry{"aten::_scaled_dot_product_efficient_attention_backward", &attention_backward<2>},
    RuleEntry{"aten::_scaled_dot_product_cudnn_attention_backward", &attention_backward<2>},
    RuleEntry{"aten::_cudnn_attention_forward", &attention<0, 2>},
    RuleEntry{"aten::_cudnn_attention_backward", &attention_backward<2>},
    // [batch, positions, heads, width]
    RuleEntry{"aten::_flash_attention_forward", &attention<0, 1>},
    RuleEntry{"aten::_efficient_attention_forward", &attention<0, 1>},
    RuleEntry{"aten::_flash_attention_backward", &attention_backward<1>},
    RuleEntry{"aten::_efficient_attention_backward", &attention_backward<1>},
};

// Ops that touch a few elements of a large tensor: one operation for each of them, which is read and written,
// and the indices are read. (Filling the gradient of the large tensor with zeros is an op of its own.)
struct Lookup {
  std::string_view name;
  std::size_t indices;  // which input has them
  // The elements: as many as this input has, or a row of it (all but its first dimension) for each index, or
  // one for each index.
  std::size_t data;
  enum class Touches : std::uint8_t { kAll, kRows, kOne } touches;
  std::optional<std::size_t> more = {};  // another input of which all elements are touched, too
};
constexpr std::array kLookups{
    Lookup{"aten::embedding", 1, 0, Lookup::Touches::kRows},
    Lookup{"aten::embedding_dense_backward", 1, 0, Lookup::Touches::kAll},
    Lookup{"aten::embedding_bag", 1, 0, Lookup::Touches::kRows},
    Lookup{"aten::_embedding_bag", 1, 0, Lookup::Touches::kRows},
    Lookup{"aten::_embedding_bag_forward_only", 1, 0, Lookup::Touches::kRows},
    Lookup{"aten::_embedding_bag_dense_backward", 1, 0, Lookup::Touches::kAll},
    Lookup{"aten::index_select", 2, 0, Lookup::Touches::kRows},
    Lookup{"aten::index", 1, 0, Lookup::Touches::kRows},
    Lookup{"aten::gather", 2, 0, Lookup::Touches::kOne},
    Lookup{"aten::scatter", 2, 0, Lookup::Touches::kOne},
    Lookup{"aten::scatter_", 2, 0, Lookup::Touches::kOne},
    Lookup{"aten::scatter_add", 2, 0, Lookup::Touches::kOne},
    Lookup{"aten::scatter_add_", 2, 0, Lookup::Touches::kOne},
    Lookup{"aten::index_add_", 2, 3, Lookup::Touches::kAll},
    Lookup{"aten::index_copy_", 2, 3, Lookup::Touches::kAll},
    Lookup{"aten::index_put_", 1, 2, Lookup::Touches::kAll},
    Lookup{"aten::_index_put_impl_", 1, 2, Lookup::Touches::kAll},
    // (key, value, cache of keys, cache of values, slots): what goes into the cache.
    Lookup{"_C_cache_ops::reshape_and_cache", 4, 0, Lookup::Touches::kAll, 1},
    Lookup{"_C_cache_ops::reshape_and_cache_flash", 4, 0, Lookup::Touches::kAll, 1},
    Lookup{"aiter::reshape_and_cache", 4, 0, Lookup::Touches::kAll, 1},
    Lookup{"aiter::reshape_and_cache_flash", 4, 0, Lookup::Touches::kAll, 1},
    Lookup{"aten::nll_loss_forward", 1, 0, Lookup::Touches::kOne},
    Lookup{"aten::nll_loss_backward", 2, 1, Lookup::Touches::kOne},
    Lookup{"aten::nll_loss2d_forward", 1, 0, Lookup::Touches::kOne},
    Lookup{"aten::nll_loss2d_backward", 2, 1, Lookup::Touches::kOne},
};

// Ops that read what no shape tells, by parts of their names: pages of a KV cache, rows of FBGEMM's tables
// (which are all tables in one tensor).
constexpr std::array<std::string_view, 12> kUntold{"paged_attention", "unified_attention", "varlen_fwd",
                                                   "mha_varlen",      "mha_batch_prefill", "mla_decode",
                                                   "with_kvcache",    "batch_prefill",     "batch_decode",
                                                   "split_embedding", "SplitLookup",       "lookup_function"};

std::optional<TorchWork> work_of(const Lookup& lookup, const OpTensors& tensors) {
  const TensorFacts *indices = tensors.input(lookup.indices), *data = tensors.input(lookup.data);
  if (indices == nullptr || data == nullptr) return std::nullopt;
  std::int64_t touched = indices->elements();
  if (lookup.touches == Lookup::Touches::kAll) touched = data->elements();
  if (lookup.touches == Lookup::Touches::kRows && !data->shape.empty() && data->shape.front() > 0)
    touched = product(touched, data->elements() / data->shape.front());
  std::int64_t moved = product(2, product(touched, data->element_bytes));
  if (const TensorFacts* more = lookup.more ? tensors.input(*lookup.more) : nullptr) {
    touched = sum(touched, more->elements());
    moved = sum(moved, product(2, more->bytes()));
  }
  return TorchWork{.flops = Flops{touched}, .bytes = Bytes{sum(indices->bytes(), moved)}};
}

std::int64_t elements_of(const Argument& argument) {
  std::int64_t elements = 0;
  for (const TensorFacts& tensor : argument) elements = sum(elements, tensor.elements());
  return elements;
}
std::int64_t bytes_of(const Argument& argument) {
  std::int64_t bytes = 0;
  for (const TensorFacts& tensor : argument) bytes = sum(bytes, tensor.bytes());
  return bytes;
}

}  // namespace

std::optional<TorchWork> torch_work(std::string_view name, const IoInfo& inputs, const IoInfo& outputs) {
  const OpTensors tensors{.inputs = arguments_of(inputs), .outputs = arguments_of(outputs)};
  if (const auto lookup = std::ranges::find(kLookups, name, &Lookup::name); lookup != kLookups.end())
    return work_of(*lookup, tensors);
  if (std::ranges::any_of(kUntold, [&](std::string_view part) { return name.find(part) != name.npos; }))
    return TorchWork{.flops = Flops{1}, .bytes = Bytes{1}, .known = false};
  bool any = false;
  std::int64_t elements = 0, bytes = 0, largest_input = 0, output_bytes = 0;
  for (const Argument& argument : tensors.inputs) {
    any = any || !argument.empty();
    elements = std::max(elements, elements_of(argument));
    largest_input = std::max(largest_input, bytes_of(argument));
    bytes = sum(bytes, bytes_of(argument));
  }
  for (const Argument& argument : tensors.outputs) {
    any = any || !argument.empty();
    elements = std::max(elements, elements_of(argument));
    output_bytes = sum(output_bytes, bytes_of(argument));
  }
  if (!any) return std::nullopt;
  bytes = sum(bytes, tensors.outputs.empty() ? largest_input : output_bytes);
  TorchWork work{.flops = Flops{elements}, .bytes = Bytes{bytes}};
  const auto rule = std::ranges::find(kRules, name, &RuleEntry::name);
  if (rule == kRules.end()) return work;
  const std::optional<std::int64_t> counted = rule->rule(tensors);
  if (!counted) return std::nullopt;
  work.flops = Flops{*counted};
  return work;
}

}  // namespace nadi::inline traces
