// Names of layers, as checkpoints have them: "transformer.h.3.attn.c_proj", "model.layers.3.mlp", "lm_head";
// or as PyTorch's profiler names modules: "BertModel_0.BertEncoder_0.BertLayer_3.BertOutput_3", where numbers
// count the modules of a class, and those whose class is a layer or a block say which layer it is.
//
//   layer_number("transformer.h.3.attn")   // 3
//   layer_box("transformer.h.3.attn")      // "transformer.h.3"
//   block_box("transformer.h.3.mlp.c_fc")  // "transformer.h.3.mlp"
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nadi::inline show {

// The first part of the name that is a number, or the number of a module that is a layer.
std::optional<std::int64_t> layer_number(std::string_view layer);

// What stands for the whole layer, up to its number; outside layers, the first two parts.
std::string layer_box(std::string_view layer);

// A part of the layer: one part behind the number.
std::string block_box(std::string_view layer);

// Whether it names modules of a profile: "BertModel_0.BertEncoder_0".
bool is_module_path(std::string_view layer);

// The name without what its box says already: "attn.c_proj" of "transformer.h.3.attn.c_proj".
std::string within_layer(std::string_view name);

}  // namespace nadi::inline show
