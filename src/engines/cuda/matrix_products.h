// Products of matrices on a GPU by cuBLASLt, which is looked for when the first product is asked for.
//
//   const Product product{.in = DType::kBF16, .out = DType::kF32, .m = 768, .n = 2304, .k = 4096, ...};
//   if (!device.products().multiply(product, {.a = x, .b = dy, .c = dw, .d = dw}, call.workspace, stream))
//     ...;  // cuBLASLt has no kernel for it: plain_product.h has one
//
// Everything here is row-major: D [m, n] = alpha op(A) op(B) + C + bias, where a row of D or C is followed by
// the next after `leading` elements. A factor that is `transposed` lies in memory as [k, m], or [n, k].
//
// Several algorithms can compute a product. Which one is decided when it is asked for the first time outside
// of a capture: the library's candidates are timed (product_choice.h), on the operands given, or with a
// result elsewhere where the product is added to what is there. The choice is kept on disk, for the next
// process. While a stream is captured, and with MathOptions::deterministic, which must not depend on times,
// it is the library's first.
//
// Not thread-safe: one per device and thread.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "nadi/graph/dtype.h"

namespace nadi::inline engines::cuda {

class Device;

struct Product {
  struct Factor {
    bool transposed = false;
    std::int64_t leading = 0;       // elements from a row in memory to the next
    std::int64_t batch_stride = 0;  // elements from a matrix to the next
  };

  DType in = DType::kF32;   // of A and B
  DType out = DType::kF32;  // of D, C and bias
  std::int64_t batches = 1;
  std::int64_t m = 0, n = 0, k = 0;
  Factor a, b, c, d;  // c and d are not transposed
  float alpha = 1;
  bool adds = false;  // C
  bool bias = false;  // [n], for all rows
};

struct ProductOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;  // may be d, if it has d's leading dimension
  void* d = nullptr;
  const void* bias = nullptr;
};

class MatrixProducts {
 public:
  // Error (environment) when cuBLASLt is not there.
  explicit MatrixProducts(const Device& device);
  ~MatrixProducts();
  MatrixProducts(const MatrixProducts&) = delete;
  MatrixProducts& operator=(const MatrixProducts&) = delete;

  // False, and nothing was done, when cuBLASLt has no kernel for these types, layouts and addresses. The
  // workspace holds kProductWorkspace bytes.
  bool multiply(const Product& product, const ProductOperands& operands, std::span<std::byte> workspace,
                cudaStream_t stream);

  // As cuBLASLt writes it: 130100 is 13.1.0.
  std::size_t library_version() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nadi::inline engines::cuda
