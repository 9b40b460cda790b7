// Flags of Megatron-LM's tools/checkpoint/convert.py that say what the source is: they are compared with it. And those that
// change nothing here.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/model/model_config.h"

namespace nadi::inline show {

class Flags;

void add_converter_claims(Flags& flags);

// Whether --loader and --checkpoint-type are true of the source. Error (usage) if not.
void check_source_claims(const Flags& flags, const std::filesystem::path& source);
// The same of --model-type, --model-size and --position-embedding-type, once its model is known.
void check_claims(const Flags& flags, const ModelConfig& config);

// The type of tokenizer that --model-size stands for.
std::optional<std::string_view> tokenizer_type_of(const Flags& flags);

// Flags that were given and have no effect here, and why.
std::vector<std::string> inert_converter_flags(const Flags& flags);

}  // namespace nadi::inline show
