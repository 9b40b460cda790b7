// cuBLASLt is column-major. A row-major matrix [r, c] with a leading dimension is, in the same memory, the
// column-major matrix [c, r] with that leading dimension: its transpose. So what is asked of cuBLASLt is
// D^T = op(B)^T op(A)^T: B is its first factor, and neither `transposed` changes.
#include "nadi/cuda/matrix_products.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cuda/cublas_lt.h"
#include "nadi/cuda/device.h"
#include "nadi/cuda/kernel_needs.h"
#include "nadi/cuda/product_choice.h"
#include "nadi/cuda/product_choice_file.h"

namespace nadi::inline engines::cuda {
namespace {

constexpr int kCandidates = 16;
// Multiplications below which a product takes a few microseconds whatever the algorithm: not timed.
constexpr std::int64_t kWorthTiming = std::int64_t{1} << 24;

cudaDataType_t cuda_type(DType dtype) {
  switch (dtype) {
    case DType::kBF16:
      return CUDA_R_16BF;
    case DType::kF16:
      return CUDA_R_16F;
    default:
      return CUDA_R_32F;
  }
}

// What cuBLASLt may assume of an address. No kernel wants more than the 16 bytes of the widest access, and
// one product must not have a choice of its own for each variable's place in its bucket.
std::uint32_t alignment_of(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address);
  std::uint32_t alignment = 16;
  while (bits % alignment != 0) alignment /= 2;
  return alignment;
}

struct Alignments {
  std::uint32_t a, b, c, d;
};

// The bias is read as D is written, in vectors: what holds for one must hold for the other.
Alignments alignments_of(const Product& product, const ProductOperands& o) {
  const std::uint32_t d = alignment_of(o.d);
  return {.a = alignment_of(o.a),
          .b = alignment_of(o.b),
          .c = product.adds ? alignment_of(o.c) : d,
          .d = product.bias ? std::min(d, alignment_of(o.bias)) : d};
}

// All that the choice of an algorithm depends on, in one line.
std::string product_line(const Product& p, const Alignments& alignments, const MathOptions& math) {
  const auto factor = [](const Product::Factor& f) {
    return format("{}{}+{}", f.transposed ? 't' : 'n', f.leading, f.batch_stride);
  };
  return format("{}{}>{} {}x{}x{}x{} {} {} {} {}{}{} {},{},{},{}", to_string(p.in),
                math.tf32 && p.in == DType::kF32 ? " tf32" : "", to_string(p.out), p.batches, p.m, p.n, p.k,
                factor(p.a), factor(p.b), factor(p.d), p.adds ? "add " + factor(p.c) : "put",
                p.bias ? " bias" : "", math.deterministic ? " deterministic" : "", alignments.a, alignments.b,
                alignments.c, alignments.d);
}

std::string hexadecimal(const cublasLtMatmulAlgo_t& algorithm) {
  std::string text;
  for (const std::uint64_t word : algorithm.data) text += format("{:016x}", word);
  return text;
}

// The way one kind of product is computed. Descriptors are made once; only addresses change from call to
// call.
class ProductPlan {
 public:
  ProductPlan(const CublasLt& lt, const Product& product, const MathOptions& math) : lt_(lt) {
    const bool tf32 = product.in == DType::kF32 && math.tf32;
    good_ = lt.desc_create(&operation_, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                           CUDA_R_32F) == CUBLAS_STATUS_SUCCESS;
    const cublasOperation_t first = product.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t second = product.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    set(CUBLASLT_MATMUL_DESC_TRANSA, first);
    set(CUBLASLT_MATMUL_DESC_TRANSB, second);
    if (product.bias) {
      const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    }
    const auto [batches, m, n, k] = std::array{product.batches, product.m, product.n, product.k};
    const auto layout = [&](DType dtype, std::int64_t rows, std::int64_t columns, const Product::Factor& f) {
      cublasLtMatrixLayout_t made = nullptr;
      good_ = good_ && lt.layout_create(&made, cuda_type(dtype), static_cast<std::uint64_t>(columns),
                                        static_cast<std::uint64_t>(rows), f.leading) == CUBLAS_STATUS_SUCCESS;
      const auto count = static_cast<std::int32_t>(batches);
      good_ = good_ && lt.layout_set(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count) ==
                           CUBLAS_STATUS_SUCCESS;
      good_ = good_ && lt.layout_set(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &f.batch_stride,
                                     sizeof f.batch_stride) == CUBLAS_STATUS_SUCCESS;
      return made;
    };
    a_ = layout(product.in, product.a.transposed ? k : m, product.a.transposed ? m : k, product.a);
    b_ = layout(product.in, product.b.transposed ? n : k, product.b.transposed ? k : n, product.b);
    c_ = layout(product.out, m, n, product.adds ? product.c : product.d);
    d_ = layout(product.out, m, n, product.d);
  }
  ~ProductPlan() {
    for (const cublasLtMatrixLayout_t layout : {a_, b_, c_, d_})
      if (layout != nullptr) lt_.layout_destroy(layout);
    if (operation_ != nullptr) lt_.desc_destroy(operation_);
  }
  ProductPlan(const ProductPlan&) = delete;
  ProductPlan& operator=(const ProductPlan&) = delete;

  // Best first, by the library's model of the device; none where there is no kernel.
  std::vector<cublasLtMatmulAlgo_t> candidates(cublasLtHandle_t handle, const Product& product,
                                               const Alignments& alignments,
                                               const ProductOperands& operands) {
    if (!good_) return {};
    set_bias(product, operands);
    cublasLtMatmulPreference_t preference = nullptr;
    if (lt_.preference_create(&preference) != CUBLAS_STATUS_SUCCESS) return {};
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      lt_.preference_set(preference, attribute, &value, sizeof value);
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(kProductWorkspace));
    // Parts of a sum are added up in fp32 and in a fixed order, never in a 16-bit result.
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignments.b);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignments.a);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignments.c);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignments.d);
    std::array<cublasLtMatmulHeuristicResult_t, kCandidates> results{};
    int count = 0;
    const cublasStatus_t status =
        lt_.candidates(handle, operation_, b_, a_, c_, d_, preference, kCandidates, results.data(), &count);
    lt_.preference_destroy(preference);
    std::vector<cublasLtMatmulAlgo_t> algorithms;
    if (status != CUBLAS_STATUS_SUCCESS) return algorithms;
    for (int i = 0; i < count; ++i)
      if (results[i].state == CUBLAS_STATUS_SUCCESS &&
          results[i].workspaceSize <= static_cast<std::size_t>(kProductWorkspace))
        algorithms.push_back(results[i].algo);
    return algorithms;
  }

  bool launch(cublasLtHandle_t handle, const Product& product, const ProductOperands& operands,
              const cublasLtMatmulAlgo_t& algorithm, std::span<std::byte> workspace, cudaStream_t stream) {
    set_bias(product, operands);
    const float alpha = product.alpha, beta = product.adds ? 1.0F : 0.0F;
    return lt_.matmul(handle, operation_, &alpha, operands.b, b_, operands.a, a_, &beta,
                      product.adds ? operands.c : operands.d, c_, operands.d, d_, &algorithm,
                      workspace.data(), workspace.size(), stream) == CUBLAS_STATUS_SUCCESS;
  }

  // Empty means cuBLASLt has none.
  std::vector<cublasLtMatmulAlgo_t> chosen;  // one at most
  bool settled = false;                      // timed, or not to be

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    good_ = good_ && lt_.desc_set(operation_, attribute, &value, sizeof value) == CUBLAS_STATUS_SUCCESS;
  }
  void set_bias(const Product& product, const ProductOperands& operands) {
    if (product.bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias);
  }

  const CublasLt& lt_;
  bool good_ = true;  // the library took all that it was told
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr, d_ = nullptr;
};

bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone;
}

// Memory that a result is timed in where D must keep its contents. Empty when there is not enough.
class TimingResult {
 public:
  explicit TimingResult(std::int64_t bytes) {
    if (cudaMalloc(&data_, static_cast<std::size_t>(bytes)) == cudaSuccess) return;
    data_ = nullptr;
    cudaGetLastError();  // it is no failure of what follows
  }
  ~TimingResult() {
    if (data_ != nullptr) cudaFree(data_);
  }
  TimingResult(const TimingResult&) = delete;
  TimingResult& operator=(const TimingResult&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

}  // namespace

struct MatrixProducts::State {
  explicit State(const Device& of_device)
      : device(of_device), file(product_choice_path(of_device.name(), lt.get_version())) {
    if (const cublasStatus_t status = lt.create(&handle); status != CUBLAS_STATUS_SUCCESS)
      throw environment_error(
          format("cuBLASLt cannot be used on GPU {}: status {}", device.number(), static_cast<int>(status)));
  }
  ~State() {
    plans.clear();
    lt.destroy(handle);
    file.save();
  }

  ProductPlan& plan_of(const Product& product, const ProductOperands& operands,
                       std::span<std::byte> workspace, cudaStream_t stream);
  std::size_t fastest(ProductPlan& plan, const Product& product, const ProductOperands& operands,
                      const std::vector<cublasLtMatmulAlgo_t>& candidates, std::span<std::byte> workspace,
                      cudaStream_t stream);

  const Device& device;
  const CublasLt lt;
  cublasLtHandle_t handle = nullptr;
  bool timing = true;
  ProductChoice choice;
  ProductChoiceFile file;
  std::map<std::string, ProductPlan> plans;  // by description
};

std::size_t MatrixProducts::State::fastest(ProductPlan& plan, const Product& product,
                                           const ProductOperands& operands,
                                           const std::vector<cublasLtMatmulAlgo_t>& candidates,
                                           std::span<std::byte> workspace, cudaStream_t stream) {
  ProductOperands timed = operands;
  std::unique_ptr<TimingResult> result;
  if (product.adds && operands.c == operands.d) {
    const std::int64_t elements =
        (product.batches - 1) * product.d.batch_stride + product.m * product.d.leading;
    result = std::make_unique<TimingResult>(elements * size_of(product.out));
    if (result->data() == nullptr) return 0;
    timed.c = timed.d = result->data();
  }
  return choice.fastest(
      candidates.size(),
      [&](std::size_t i) { return plan.launch(handle, product, timed, candidates[i], workspace, stream); },
      stream);
}

ProductPlan& MatrixProducts::State::plan_of(const Product& product, const ProductOperands& operands,
                                            std::span<std::byte> workspace, cudaStream_t stream) {
  const MathOptions& math = device.traits().math;
  const Alignments alignments = alignments_of(product, operands);
  const std::string key = product_line(product, alignments, math);
  ProductPlan& plan = plans.try_emplace(key, lt, product, math).first->second;
  if (plan.settled) return plan;
  const bool may_time =
      timing && !math.deterministic && product.batches * product.m * product.n * product.k >= kWorthTiming;
  if (is_captured(stream) && may_time && !plan.chosen.empty()) return plan;

  const std::vector<cublasLtMatmulAlgo_t> candidates = plan.candidates(handle, product, alignments, operands);
  std::size_t chosen = 0;
  plan.settled = true;
  if (may_time && candidates.size() > 1) {
    const std::string* known = file.find(key);
    const auto found = std::find_if(candidates.begin(), candidates.end(), [&](const auto& candidate) {
      return known != nullptr && hexadecimal(candidate) == *known;
    });
    if (found != candidates.end()) {
      chosen = static_cast<std::size_t>(found - candidates.begin());
    } else if (is_captured(stream)) {
      plan.settled = false;
    } else {
      chosen = fastest(plan, product, operands, candidates, workspace, stream);
      file.add(key, hexadecimal(candidates[chosen]));
    }
  }
  plan.chosen.clear();
  if (!candidates.empty()) plan.chosen.push_back(candidates[chosen]);
  return plan;
}

MatrixProducts::MatrixProducts(const Device& device) : state_(std::make_unique<State>(device)) {}
MatrixProducts::~MatrixProducts() = default;

std::size_t MatrixProducts::library_version() const {
  return state_->lt.get_version();
}

bool MatrixProducts::multiply(const Product& product, const ProductOperands& operands,
                              std::span<std::byte> workspace, cudaStream_t stream) {
  check(static_cast<std::int64_t>(workspace.size()) >= kProductWorkspace,
        "a product has too little workspace");
  const bool known_types = product.in == DType::kF32
                               ? product.out == DType::kF32
                               : product.out == product.in || product.out == DType::kF32;
  if (!known_types) return false;
  ProductPlan& plan = state_->plan_of(product, operands, workspace.first(kProductWorkspace), stream);
  if (plan.chosen.empty()) return false;
  return plan.launch(state_->handle, product, operands, plan.chosen[0], workspace.first(kProductWorkspace),
                     stream);
}

}  // namespace nadi::inline engines::cuda
