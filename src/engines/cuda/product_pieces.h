// A product as several of which the extents suit the tensor cores. With 50,257 columns, one more than a
// multiple of 8, cuBLASLt takes kernels that are seven times as slow, though rows begin at round addresses:
// so 50,256 columns are one product, and the last column is another.
#pragma once

#include "nadi/cuda/matrix_products.h"

namespace nadi::inline engines::cuda {

// As MatrixProducts::multiply().
bool multiply_in_pieces(MatrixProducts& products, const Product& product, const ProductOperands& operands,
                        std::span<std::byte> workspace, cudaStream_t stream);

}  // namespace nadi::inline engines::cuda
