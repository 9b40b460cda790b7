// A graph as text, one op per line in order:
//
//   transformer.h.0.attn.c_attn.matmul: f32[4, 512, 2304] = matmul(transformer.h.0.ln_1.layer_norm,
//       transformer.h.0.attn.c_attn.weight, transformer.h.0.attn.c_attn.bias)  [forward]
//
// preceded by the variables, inputs and constants. Attributes are shown where they differ from their default.
#pragma once

#include <string>

namespace nadi::inline describe {

class Graph;
struct Op;

std::string print_graph(const Graph& graph);
std::string print_op(const Graph& graph, const Op& op);

}  // namespace nadi::inline describe
