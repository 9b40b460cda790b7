// The model that Megatron's flags describe (--num-layers, --hidden-size, --swiglu, ...), as one of Nadi's
// architectures:
//
//   GPT-2   learned positions, LayerNorm, GELU, biases
//   Llama   rope, RMSNorm and SwiGLU, with biases or without (--disable-bias-linear)
//   Qwen2   the same without biases but with those of --add-qkv-bias
//   Qwen3   the same without biases but with --qk-layernorm
//   BERT    the word `bert`; norms stand behind the blocks, as in the original
//
// A combination that no architecture has is Error (usage), which names what is missing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nadi/model/model_config.h"

namespace nadi::inline show {

class Flags;

// Whether the word stands for a model that flags describe: "gpt", "llama", "bert".
bool is_model_family(std::string_view word);

// Whether flags were given that only a model can have.
bool has_model_flags(const Flags& flags);

// `family` is one of the words above, or "" when none was given, which is "gpt". The vocabulary is 0 when
// --vocab-size does not say: see settle_vocabulary(). Numbers that do not fit together are Error (usage).
// What a user should know about the model goes to `notes`.
ModelConfig megatron_model(const Flags& flags, std::string_view family, std::vector<std::string>& notes);

// For a model that was named: Error (usage) for a flag that contradicts it, with both numbers. Dropout, the
// deviation of fresh weights and the norm's epsilon are taken from the flags.
void apply_model_flags(const Flags& flags, ModelConfig& config);

// Rounded up as --make-vocab-size-divisible-by says.
std::int64_t padded_vocabulary(const Flags& flags, std::int64_t vocabulary);

}  // namespace nadi::inline show
