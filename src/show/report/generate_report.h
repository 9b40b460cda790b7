// What was generated as JSON (docs/json.md), and how fast. The texts themselves are printed by
// generate_output.h.
#pragma once

#include <span>
#include <string>

#include "nadi/base/json.h"

namespace nadi::inline runs {
struct GenerationRequest;
struct GenerationResult;
}  // namespace nadi::inline runs

namespace nadi::inline show {

// `texts`: one for each prompt; empty without a tokenizer.
Json generation_json(const GenerationRequest& request, const GenerationResult& result,
                     std::span<const std::string> texts);

// "prefill: 4 tokens in 0.010 s, 400.0 tokens/s; decode: ..."; of several runs "; medians of 5 runs: prefill
// 0.009 to 0.012 s, decode ..." behind it.
std::string generation_speed_text(const GenerationResult& result);

}  // namespace nadi::inline show
