#include "nadi/cuda/product_pieces.h"

#include "nadi/base/error.h"

namespace nadi::inline engines::cuda {
namespace {

// Elements of 16 bits in the 16 bytes of an access.
constexpr std::int64_t kPieceMultiple = 8;
// Multiplications from which a second launch is worth it.
constexpr std::int64_t kWorthCutting = std::int64_t{1} << 28;

const void* moved(const void* data, std::int64_t elements, DType dtype) {
  return data == nullptr ? nullptr : static_cast<const std::byte*>(data) + elements * size_of(dtype);
}

bool has_even_rows(const Product::Factor& factor, std::int64_t extent) {
  return factor.leading % kPieceMultiple == 0 && extent > kPieceMultiple && extent % kPieceMultiple != 0;
}

// Elements from row `i` of op(A), or column `i` of op(B), to the first.
std::int64_t row_of_a(const Product& p, std::int64_t i) {
  return p.a.transposed ? i : i * p.a.leading;
}
std::int64_t column_of_b(const Product& p, std::int64_t i) {
  return p.b.transposed ? i * p.b.leading : i;
}

}  // namespace

bool multiply_in_pieces(MatrixProducts& products, const Product& product, const ProductOperands& operands,
                        std::span<std::byte> workspace, cudaStream_t stream) {
  const auto multiply = [&](const Product& p, const ProductOperands& o) {
    return multiply_in_pieces(products, p, o, workspace, stream);
  };
  Product main = product, rest = product;
  ProductOperands main_at = operands, rest_at = operands;
  const bool worth =
      size_of(product.in) == 2 && product.batches * product.m * product.n * product.k >= kWorthCutting;
  // What lies side by side in memory must be a multiple: n in D and B, k in A and B transposed, m in A
  // transposed.
  if (worth && has_even_rows(product.d, product.n) &&
      (product.b.transposed || product.b.leading % kPieceMultiple == 0)) {
    main.n = product.n / kPieceMultiple * kPieceMultiple;
    rest.n = product.n - main.n;
    rest_at.b = moved(operands.b, column_of_b(product, main.n), product.in);
    rest_at.c = moved(operands.c, main.n, product.out);
    rest_at.d = const_cast<void*>(moved(operands.d, main.n, product.out));
    rest_at.bias = moved(operands.bias, main.n, product.out);
  } else if (worth && product.a.transposed && has_even_rows(product.a, product.m)) {
    main.m = product.m / kPieceMultiple * kPieceMultiple;
    rest.m = product.m - main.m;
    rest_at.a = moved(operands.a, row_of_a(product, main.m), product.in);
    rest_at.c = moved(operands.c, main.m * product.c.leading, product.out);
    rest_at.d = const_cast<void*>(moved(operands.d, main.m * product.d.leading, product.out));
  } else if (worth && ((!product.a.transposed && has_even_rows(product.a, product.k)) ||
                       (product.b.transposed && has_even_rows(product.b, product.k)))) {
    // The small part first: it is rounded to the result's type before the large one is added.
    main.k = product.k / kPieceMultiple * kPieceMultiple;
    rest.k = product.k - main.k;
    rest_at.a = moved(operands.a, product.a.transposed ? main.k * product.a.leading : main.k, product.in);
    rest_at.b = moved(operands.b, product.b.transposed ? main.k : main.k * product.b.leading, product.in);
    main.adds = true;
    main.bias = false;
    main.c = main.d;
    main_at.c = operands.d;
    main_at.bias = nullptr;
    if (!multiply(rest, rest_at)) return false;
    check(multiply(main, main_at), "cuBLASLt takes one part of a product, and not the other");
    return true;
  } else {
    return products.multiply(product, operands, workspace, stream);
  }
  if (!multiply(main, main_at)) return false;
  check(multiply(rest, rest_at), "cuBLASLt takes one part of a product, and not the other");
  return true;
}

}  // namespace nadi::inline engines::cuda
