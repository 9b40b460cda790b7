#include "nadi/analysis/kind_patterns.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json_file.h"
#include "nadi/base/nearest.h"
#include "nadi/graph/op_definition.h"

namespace nadi::inline traces {
namespace {

// What a part of a name says. `also` must be in the name, too.
struct Pattern {
  std::string_view part;  // in lower case
  WorkKind kind;
  std::string_view also = {};
};

// Our own ops that the patterns below would miss or mistake, by their whole names: their definitions say what they are.
const std::map<std::string_view, WorkKind>& own_ops() {
  static const std::map<std::string_view, WorkKind> kOwn = [] {
    std::map<std::string_view, WorkKind> own;
    for (int kind = 0; kind < kOpKindCount; ++kind)
      if (const OpDefinition& op = definition(static_cast<OpKind>(kind)); op.work != WorkKind::kOther)
        own[op.name] = op.work;
    return own;
  }();
  return kOwn;
}

// Libraries and namespaces whose names say nothing, or the wrong thing, about a kernel: FBGEMM's GPU kernels
// look up embeddings, FlashInfer normalises and samples, too; types of CUTLASS are arguments of kernels of any
// kind. They are taken out before anything is looked at.
constexpr std::array<std::string_view, 12> kSilent{"fbgemm_gpu",
                                                   "fbgemm",
                                                   "flashinfer",
                                                   "at::cuda::blas",
                                                   "grouped_gemm::cuda::utils",
                                                   "rocm_cutlass_types",
                                                   "cutlass::bfloat16_t",
                                                   "cutlass::half_t",
                                                   "cutlass::float_e",
                                                   "cutlass::tfloat32_t",
                                                   "cutlass::array",
                                                   "(anonymous namespace)::"};

// Kernels of which only the template arguments tell what they do: the whole name is looked at.
constexpr std::array<std::string_view, 11> kCarriers{
    "elementwise_kernel", "elementwise_grid", "multi_tensor_apply", "kentry",
    "reduce_kernel",      "device_kernel",    "cutlass::kernel",    "trampoline_kernel",
    "enable_if",          "kernel_cutlass",   "globalkernel"};

// The first that is part of the name counts, so the order matters: a flash attention of cuDNN is called
// "sdpa ... fprop", and "fprop" alone is convolution; an implicit GEMM is convolution; a copy kernel of
// PyTorch is an elementwise kernel with a functor that copies.
constexpr std::array kPatterns{
    // Inductor's kernels: the start says the form, the rest which ops were fused into it, of which a matrix
    // product is computed elsewhere.
    Pattern{"triton_tem", WorkKind::kAttention, "attention"},
    Pattern{"triton_tem", WorkKind::kMatrixProduct},
    Pattern{"triton_mm", WorkKind::kMatrixProduct},
    Pattern{"triton_red", WorkKind::kNorm, "layer_norm"},
    Pattern{"triton_red", WorkKind::kNorm, "rms_norm"},
    Pattern{"triton_red", WorkKind::kNorm, "group_norm"},
    Pattern{"triton_red", WorkKind::kNorm, "batch_norm"},
    Pattern{"triton_red", WorkKind::kNorm, "rsqrt"},
    Pattern{"triton_red", WorkKind::kSoftmax, "softmax"},
    Pattern{"triton_red", WorkKind::kSoftmax, "nll_loss"},
    Pattern{"triton_red", WorkKind::kReduction},
    Pattern{"triton_per", WorkKind::kNorm, "layer_norm"},
    Pattern{"triton_per", WorkKind::kNorm, "rms_norm"},
    Pattern{"triton_per", WorkKind::kNorm, "group_norm"},
    Pattern{"triton_per", WorkKind::kNorm, "batch_norm"},
    Pattern{"triton_per", WorkKind::kNorm, "rsqrt"},
    Pattern{"triton_per", WorkKind::kSoftmax, "softmax"},
    Pattern{"triton_per", WorkKind::kSoftmax, "nll_loss"},
    Pattern{"triton_per", WorkKind::kReduction},
    Pattern{"triton_for", WorkKind::kOptimizer, "adam"},
    Pattern{"triton_poi", WorkKind::kElementwise},
    Pattern{"triton_for", WorkKind::kElementwise},
    Pattern{"triton_unk", WorkKind::kElementwise},
    // The KV cache: written and looked up by kernels that are named after the attention that reads it.
    Pattern{"reshape_and_cache", WorkKind::kCopy},
    Pattern{"store_kvcache", WorkKind::kCopy},
    Pattern{"concat_and_cache", WorkKind::kCopy},
    Pattern{"kv_buffer", WorkKind::kCopy},
    Pattern{"kv_cache_store", WorkKind::kCopy},
    Pattern{"transpose_readwrite", WorkKind::kCopy},
    Pattern{"kv_indices", WorkKind::kIndexing},
    Pattern{"page_indices", WorkKind::kIndexing},
    Pattern{"token_ids", WorkKind::kIndexing},
    Pattern{"req_to_token", WorkKind::kIndexing},
    Pattern{"compute_position", WorkKind::kIndexing},
    Pattern{"clamp_position", WorkKind::kIndexing},
    Pattern{"alloc_decode", WorkKind::kIndexing},
    Pattern{"alloc_extend", WorkKind::kIndexing},
    Pattern{"write_req", WorkKind::kIndexing},
    Pattern{"ep_scatter", WorkKind::kIndexing},
    Pattern{"ep_gather", WorkKind::kIndexing},
    Pattern{"sage_quant", WorkKind::kElementwise},
    Pattern{"quantize_with", WorkKind::kElementwise},
    Pattern{"kernel_cutlass", WorkKind::kNorm, "rmsnorm"},
    // Layer norms of Apex and Transformer Engine (layer_norm::ln_fwd_kernel) end like Triton's attentions.
    Pattern{"layer_norm", WorkKind::kNorm},
    Pattern{"ln_fwd", WorkKind::kNorm},
    Pattern{"ln_bwd", WorkKind::kNorm},
    Pattern{"norm_fwd", WorkKind::kNorm},
    Pattern{"norm_bwd", WorkKind::kNorm},
    Pattern{"attention", WorkKind::kAttention},
    Pattern{"flash", WorkKind::kAttention},
    Pattern{"fmha", WorkKind::kAttention},
    Pattern{"mha_fwd", WorkKind::kAttention},
    Pattern{"mha_bwd", WorkKind::kAttention},
    Pattern{"sdpa", WorkKind::kAttention},
    Pattern{"batchprefill", WorkKind::kAttention},
    Pattern{"batchdecode", WorkKind::kAttention},
    Pattern{"singleprefill", WorkKind::kAttention},
    Pattern{"singledecode", WorkKind::kAttention},
    Pattern{"mla_decode", WorkKind::kAttention},
    Pattern{"mla_fwd", WorkKind::kAttention},
    Pattern{"mla_prefill", WorkKind::kAttention},
    Pattern{"attn", WorkKind::kAttention},
    Pattern{"sage_fwd", WorkKind::kAttention},
    Pattern{"_fwd_grouped_kernel_stage", WorkKind::kAttention},
    Pattern{"_fwd_kernel_stage", WorkKind::kAttention},
    Pattern{"_fwd_kernel", WorkKind::kAttention},
    Pattern{"_bwd_kernel", WorkKind::kAttention},
    // Mixtures of experts: who goes where is indexing, the experts themselves are matrix products.
    Pattern{"moe::dev::routing", WorkKind::kIndexing},
    Pattern{"moe::dev::permute", WorkKind::kIndexing},
    Pattern{"moe::dev::finalize", WorkKind::kReduction},
    Pattern{"moe::dev::activation", WorkKind::kElementwise},
    Pattern{"moe::dev::convert", WorkKind::kElementwise},
    Pattern{"moe_align", WorkKind::kIndexing},
    Pattern{"moe_sort", WorkKind::kIndexing},
    Pattern{"moe_permute", WorkKind::kIndexing},
    Pattern{"moe_unpermute", WorkKind::kIndexing},
    Pattern{"moe_fused_gate", WorkKind::kIndexing},
    Pattern{"topk", WorkKind::kIndexing},
    Pattern{"routing", WorkKind::kIndexing},
    Pattern{"bitmatrix", WorkKind::kIndexing},
    Pattern{"dispatch_layout", WorkKind::kIndexing},
    Pattern{"fused_mapping", WorkKind::kIndexing},
    Pattern{"count_expert", WorkKind::kIndexing},
    Pattern{"expand_to_fused", WorkKind::kIndexing},
    Pattern{"group_indices", WorkKind::kIndexing},
    Pattern{"moe_sum", WorkKind::kReduction},
    Pattern{"moe_reduce", WorkKind::kReduction},
    Pattern{"fused_moe", WorkKind::kMatrixProduct},
    Pattern{"moe_fused", WorkKind::kMatrixProduct},
    Pattern{"moe_stage", WorkKind::kMatrixProduct},
    Pattern{"moe_gemm", WorkKind::kMatrixProduct},
    Pattern{"moe_mm", WorkKind::kMatrixProduct},
    Pattern{"convolution", WorkKind::kConvolution},
    Pattern{"convolve", WorkKind::kConvolution},
    Pattern{"implicit_gemm", WorkKind::kConvolution},
    Pattern{"implicitgemm", WorkKind::kConvolution},
    Pattern{"igemm_fwd", WorkKind::kConvolution},
    Pattern{"igemm_bwd", WorkKind::kConvolution},
    Pattern{"igemm_wrw", WorkKind::kConvolution},
    Pattern{"wgrad", WorkKind::kConvolution},
    Pattern{"dgrad", WorkKind::kConvolution},
    Pattern{"fprop", WorkKind::kConvolution},
    Pattern{"winograd", WorkKind::kConvolution},
    Pattern{"scudnn", WorkKind::kConvolution},
    Pattern{"conv_fwd", WorkKind::kConvolution},
    Pattern{"conv_bwd", WorkKind::kConvolution},
    Pattern{"conv2d", WorkKind::kConvolution},
    Pattern{"conv1d", WorkKind::kConvolution},
    Pattern{"conv3d", WorkKind::kConvolution},
    Pattern{"conv_depthwise", WorkKind::kConvolution},
    Pattern{"im2col", WorkKind::kConvolution},
    Pattern{"im2d2col", WorkKind::kConvolution},
    Pattern{"col2im", WorkKind::kConvolution},
    Pattern{"fft2d_", WorkKind::kConvolution},
    Pattern{"fft1d_", WorkKind::kConvolution},
    Pattern{"flip_filter", WorkKind::kConvolution},
    Pattern{"computeoffsetskernel", WorkKind::kConvolution},
    Pattern{"computeboffsetskernel", WorkKind::kConvolution},
    Pattern{"miopensp3", WorkKind::kConvolution},
    Pattern{"cask_cudnn", WorkKind::kConvolution},
    Pattern{"cutlass_cudnn", WorkKind::kConvolution},
    Pattern{"_cudnn::kernel", WorkKind::kConvolution},
    Pattern{"xdlops_bwd_weight", WorkKind::kConvolution},  // of Composable Kernel
    Pattern{"split_embedding", WorkKind::kIndexing},
    Pattern{"embedding_bag", WorkKind::kIndexing},
    Pattern{"bounds_check_indices", WorkKind::kIndexing},
    Pattern{"split_eb_", WorkKind::kIndexing},
    Pattern{"bucketize", WorkKind::kIndexing},
    Pattern{"offsets_range", WorkKind::kIndexing},
    Pattern{"gemm", WorkKind::kMatrixProduct},
    Pattern{"gemv", WorkKind::kMatrixProduct},
    Pattern{"nvjet", WorkKind::kMatrixProduct},
    Pattern{"xmma", WorkKind::kMatrixProduct},
    Pattern{"cublas", WorkKind::kMatrixProduct},
    Pattern{"cutlass", WorkKind::kMatrixProduct},
    Pattern{"splitk", WorkKind::kMatrixProduct},
    Pattern{"matmul", WorkKind::kMatrixProduct},
    Pattern{"cijk_", WorkKind::kMatrixProduct},
    Pattern{"bmm_", WorkKind::kMatrixProduct},
    Pattern{"marlin", WorkKind::kMatrixProduct},
    Pattern{"fc-dtype", WorkKind::kMatrixProduct},
    Pattern{"machete", WorkKind::kMatrixProduct},
    Pattern{"wvsplit", WorkKind::kMatrixProduct},
    Pattern{"_dot_kernel", WorkKind::kMatrixProduct},
    Pattern{"addmm", WorkKind::kMatrixProduct},
    Pattern{"aten::mm", WorkKind::kMatrixProduct},
    Pattern{"aten::bmm", WorkKind::kMatrixProduct},
    Pattern{"aten::baddbmm", WorkKind::kMatrixProduct},
    Pattern{"aten::linear", WorkKind::kMatrixProduct},
    Pattern{"aten::_scaled_mm", WorkKind::kMatrixProduct},
    Pattern{"aten::_int_mm", WorkKind::kMatrixProduct},
    Pattern{"adam", WorkKind::kOptimizer},
    Pattern{"adagrad", WorkKind::kOptimizer},
    Pattern{"lamb_", WorkKind::kOptimizer},
    Pattern{"fusedsgd", WorkKind::kOptimizer},
    Pattern{"optimizer", WorkKind::kOptimizer},
    Pattern{"layernorm", WorkKind::kNorm},
    Pattern{"rms_norm", WorkKind::kNorm},
    Pattern{"rmsnorm", WorkKind::kNorm},
    Pattern{"batch_norm", WorkKind::kNorm},
    Pattern{"batchnorm", WorkKind::kNorm},
    Pattern{"group_norm", WorkKind::kNorm},
    Pattern{"groupnorm", WorkKind::kNorm},
    Pattern{"qknorm", WorkKind::kNorm},
    Pattern{"qk_norm", WorkKind::kNorm},
    Pattern{"gammabeta", WorkKind::kNorm},
    Pattern{"cucomputegradinput", WorkKind::kNorm},  // of Apex
    Pattern{"residual_ln", WorkKind::kNorm},         // of DeepSpeed
    Pattern{"rowwisemoments", WorkKind::kNorm},
    Pattern{"computefusedparams", WorkKind::kNorm},
    Pattern{"computebackwardfusedparams", WorkKind::kNorm},
    Pattern{"computeinternalgradients", WorkKind::kNorm},
    Pattern{"bn_fw", WorkKind::kNorm},
    Pattern{"bn_bw", WorkKind::kNorm},
    Pattern{"softmax", WorkKind::kSoftmax},
    Pattern{"nll_loss", WorkKind::kSoftmax},
    Pattern{"nllcriterion", WorkKind::kSoftmax},
    Pattern{"bce_with_logits", WorkKind::kSoftmax},
    Pattern{"cross_entropy", WorkKind::kSoftmax},
    Pattern{"crossentropy", WorkKind::kSoftmax},
    Pattern{"rotary", WorkKind::kElementwise},
    Pattern{"rope_kernel", WorkKind::kElementwise},
    Pattern{"_rope", WorkKind::kElementwise},
    Pattern{"rope_store", WorkKind::kElementwise},
    Pattern{"embedding", WorkKind::kIndexing},
    Pattern{"gather", WorkKind::kIndexing},
    Pattern{"scatter", WorkKind::kIndexing},
    Pattern{"index", WorkKind::kIndexing},
    Pattern{"indices", WorkKind::kIndexing},
    Pattern{"permute", WorkKind::kIndexing},
    Pattern{"sort", WorkKind::kIndexing},
    Pattern{"compute_cuda_kernel", WorkKind::kIndexing},
    Pattern{"to_dense_representation", WorkKind::kIndexing},
    // Gradients of embeddings in PyTorch.
    Pattern{"partials_per_segment", WorkKind::kIndexing},
    Pattern{"compute_grad_weight", WorkKind::kIndexing},
    // Which token comes next.
    Pattern{"sampling", WorkKind::kIndexing},
    Pattern{"build_tree", WorkKind::kIndexing},
    Pattern{"verifytree", WorkKind::kIndexing},
    Pattern{"selective_scan", WorkKind::kReduction},
    Pattern{"chunk_scan", WorkKind::kReduction},
    Pattern{"scan", WorkKind::kIndexing},
    Pattern{"copy", WorkKind::kCopy},
    Pattern{"catarray", WorkKind::kCopy},
    Pattern{"chunk_cat", WorkKind::kCopy},
    Pattern{"reshape_cat", WorkKind::kCopy},
    Pattern{"concat_", WorkKind::kCopy},
    Pattern{"transform_0213", WorkKind::kCopy},
    Pattern{"aten::cat", WorkKind::kCopy},
    Pattern{"transpose", WorkKind::kCopy},
    Pattern{"nchwtonhwc", WorkKind::kCopy},
    Pattern{"nhwctonchw", WorkKind::kCopy},
    Pattern{"fill", WorkKind::kCopy},
    Pattern{"memset", WorkKind::kCopy},
    Pattern{"memcpy", WorkKind::kCopy},
    Pattern{"reduce", WorkKind::kReduction},
    Pattern{"reduction", WorkKind::kReduction},
    Pattern{"lpnorm", WorkKind::kReduction},
    Pattern{"vector_norm", WorkKind::kReduction},
    Pattern{"max_pool", WorkKind::kReduction},
    Pattern{"avg_pool", WorkKind::kReduction},
    Pattern{"average_pool", WorkKind::kReduction},
    Pattern{"pool2d", WorkKind::kReduction},
    Pattern{"elementwise", WorkKind::kElementwise},
    Pattern{"pointwise", WorkKind::kElementwise},
    Pattern{"multi_tensor_apply", WorkKind::kElementwise},
    Pattern{"dropout", WorkKind::kElementwise},
    Pattern{"swiglu", WorkKind::kElementwise},
    Pattern{"act_and_mul", WorkKind::kElementwise},
    Pattern{"gated_act", WorkKind::kElementwise},
    Pattern{"_penalties", WorkKind::kElementwise},
    Pattern{"_amp_", WorkKind::kElementwise},
    Pattern{"gelu", WorkKind::kElementwise},
    Pattern{"relu", WorkKind::kElementwise},
    Pattern{"silu", WorkKind::kElementwise},
    Pattern{"quant", WorkKind::kElementwise},
    Pattern{"fp8rowwise", WorkKind::kElementwise},
    Pattern{"fp8_qparam", WorkKind::kElementwise},
    Pattern{"upsample", WorkKind::kElementwise},
    Pattern{"triu_tril", WorkKind::kElementwise},
    Pattern{"cast_to", WorkKind::kElementwise},
    Pattern{"cast_back", WorkKind::kElementwise},
    Pattern{"scalepackedtensor", WorkKind::kElementwise},
    Pattern{"subtensorop", WorkKind::kElementwise},
    // MTIA's, where nothing above says more: add-dtype_Float.
    Pattern{"-dtype_", WorkKind::kElementwise},
    // Inductor of PyTorch 2.0 and 2.1, which does not say what it fused: elementwise work for the most part.
    Pattern{"triton__", WorkKind::kElementwise},
};

constexpr std::array kKinds{
    WorkKind::kMatrixProduct, WorkKind::kAttention,     WorkKind::kConvolution, WorkKind::kNorm,
    WorkKind::kSoftmax,       WorkKind::kElementwise,   WorkKind::kReduction,   WorkKind::kIndexing,
    WorkKind::kOptimizer,     WorkKind::kCommunication, WorkKind::kCopy,        WorkKind::kOther,
};

std::string lower_case(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return lower;
}

void take_out(std::string& name, std::string_view part) {
  for (std::size_t at = name.find(part); at != std::string::npos; at = name.find(part, at))
    name.erase(at, part.size());
}

bool has(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

WorkKind first_match(std::string_view name) {
  for (const Pattern& pattern : kPatterns)
    if (has(name, pattern.part) && has(name, pattern.also)) return pattern.kind;
  return WorkKind::kOther;
}

// "void cub::DeviceScanKernel<...>(...)" -> "void cub::DeviceScanKernel".
std::string_view function_of(std::string_view name) {
  return name.substr(0, name.find_first_of("<("));
}

}  // namespace

std::string_view to_string(WorkKind kind) {
  switch (kind) {
    case WorkKind::kMatrixProduct:
      return "matrix product";
    case WorkKind::kAttention:
      return "attention";
    case WorkKind::kConvolution:
      return "convolution";
    case WorkKind::kNorm:
      return "norm";
    case WorkKind::kSoftmax:
      return "softmax and loss";
    case WorkKind::kElementwise:
      return "elementwise";
    case WorkKind::kReduction:
      return "reduction";
    case WorkKind::kIndexing:
      return "embedding and index";
    case WorkKind::kOptimizer:
      return "optimizer";
    case WorkKind::kCommunication:
      return "communication";
    case WorkKind::kCopy:
      return "copy and fill";
    case WorkKind::kOther:
      return "other";
  }
  unreachable();
}

std::string_view plural_of(WorkKind kind) {
  switch (kind) {
    case WorkKind::kMatrixProduct:
      return "matrix products";
    case WorkKind::kConvolution:
      return "convolutions";
    case WorkKind::kNorm:
      return "norms";
    case WorkKind::kElementwise:
      return "elementwise work";
    case WorkKind::kReduction:
      return "reductions";
    case WorkKind::kCopy:
      return "copies and fills";
    case WorkKind::kOptimizer:
      return "the optimizer";
    case WorkKind::kOther:
      return "work of unknown kind";
    case WorkKind::kAttention:
    case WorkKind::kSoftmax:
    case WorkKind::kIndexing:
    case WorkKind::kCommunication:
      return to_string(kind);
  }
  unreachable();
}

WorkKind work_kind(std::string_view name) {
  if (name == "mm") return WorkKind::kMatrixProduct;
  if (const auto own = own_ops().find(name); own != own_ops().end()) return own->second;
  std::string lower = lower_case(name);
  for (const std::string_view silent : kSilent) take_out(lower, silent);
  const std::string_view function = function_of(lower);
  const WorkKind by_function = first_match(function);
  const bool carries =
      std::ranges::any_of(kCarriers, [&](std::string_view part) { return has(function, part); });
  if (by_function != WorkKind::kOther && !carries) return by_function;
  const WorkKind whole = first_match(lower);
  // Functors are named after the ops that they are for ("addmm", "attention"); what they do is elementwise.
  const bool computes_much =
      whole == WorkKind::kMatrixProduct || whole == WorkKind::kAttention || whole == WorkKind::kConvolution;
  if (by_function == WorkKind::kElementwise && computes_much) return by_function;
  return whole;
}

KindPatterns KindPatterns::from_file(const std::filesystem::path& path) {
  const JsonDocument document = read_json_of(path, "a file of kinds of kernels", {});
  const JsonValue root = document.root();
  if (!root.is_object())
    throw error_at(root, "kinds of kernels are an object of parts of names and kinds",
                   R"(for example {"my_kernel": "matrix product"})");
  KindPatterns patterns;
  std::vector<std::string> names;
  for (const WorkKind kind : kKinds) names.emplace_back(to_string(kind));
  for (const auto& [part, value] : root.items()) {
    const std::string& said = value.as_string();
    const auto found = std::ranges::find(names, said);
    if (found == names.end())
      throw error_at(value, format("'{}' is no kind of work", said), did_you_mean(said, names));
    if (part.empty()) throw error_at_key(value, "a part of a name is empty");
    patterns.parts_.emplace_back(lower_case(part), kKinds[static_cast<std::size_t>(found - names.begin())]);
  }
  // What says more counts first, whatever the order of the file.
  std::ranges::stable_sort(patterns.parts_,
                           [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  return patterns;
}

WorkKind KindPatterns::kind_of(std::string_view name) const {
  if (!parts_.empty()) {
    const std::string lower = lower_case(name);
    for (const auto& [part, kind] : parts_)
      if (has(lower, part)) return kind;
  }
  return work_kind(name);
}

}  // namespace nadi::inline traces
