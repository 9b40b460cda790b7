#include "nadi/report/generate_report.h"

#include <algorithm>

#include "nadi/base/format.h"
#include "nadi/base/version.h"
#include "nadi/comm/communicator.h"
#include "nadi/generate/generation_request.h"
#include "nadi/generate/generation_traces.h"
#include "nadi/model/compute_dtypes.h"

namespace nadi::inline show {
namespace {

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json trace_json(const GenerationRequest& request) {
  if (request.trace_prefix.empty()) return {{"chakra", nullptr}, {"kineto", nullptr}, {"stacks", nullptr}};
  const RunTraceFiles files =
      generation_trace_files(request.trace_prefix, request.options.world->size(), Rank{0});
  return {{"chakra", files.chakra.string()},
          {"kineto", generation_kineto_file(request.trace_prefix).string()},
          {"stacks", files.stacks.string()}};
}

Json repetitions_json(const GenerationResult& result) {
  Json all = Json::array();
  for (const GenerationTimes& times : result.repetitions)
    all.push_back({{"prefill_seconds", times.prefill_seconds}, {"decode_seconds", times.decode_seconds}});
  return all;
}

// "0.010 to 0.012 s" of all runs.
std::string spread_text(const GenerationResult& result, double GenerationTimes::*part) {
  const auto [least, most] = std::ranges::minmax(result.repetitions, {}, part);
  return format("{:.3f} to {:.3f} s", least.*part, most.*part);
}

}  // namespace

Json generation_json(const GenerationRequest& request, const GenerationResult& result,
                     std::span<const std::string> texts) {
  const GeneratorOptions& options = request.options;
  Json generations = Json::array();
  for (std::size_t i = 0; i < result.generations.size(); ++i)
    generations.push_back(
        {{"prompt", request.prompts.texts.empty() ? Json(nullptr) : Json(request.prompts.texts[i])},
         {"input_tokens", request.prompts.ids[i]},
         {"output_tokens", result.generations[i].tokens},
         {"text", request.tokenizer ? Json(texts[i]) : Json(nullptr)},
         {"ended_by", to_string(result.generations[i].end)}});
  return {{"nadi_version", version()},
          {"model", request.config.name},
          {"weights", text_or_null(options.weights.string())},
          {"tokenizer", text_or_null(request.tokenizer_name)},
          {"dtype", name_of(options.dtype)},
          {"batch_size", options.batch_size},
          {"num_input_tokens", options.input_tokens},
          {"num_output_tokens", options.output_tokens},
          {"temperature", options.temperature},
          {"top_k", options.top_k},
          {"top_p", options.top_p},
          {"seed", options.seed},
          {"stop", text_or_null(request.stop)},
          {"generations", std::move(generations)},
          {"prefill_tokens", result.prefill_tokens},
          {"prefill_seconds", result.prefill_seconds},
          {"decode_tokens", result.decode_tokens},
          {"decode_seconds", result.decode_seconds},
          {"warmup", request.warmup},
          {"repetitions", repetitions_json(result)},
          {"trace", trace_json(request)}};
}

std::string generation_speed_text(const GenerationResult& result) {
  const auto part = [](std::string_view name, std::int64_t tokens, double seconds) {
    return format("{} {} tokens in {:.3f} s, {:.1f} tokens/s", name, tokens, seconds,
                  seconds > 0 ? static_cast<double>(tokens) / seconds : 0.0);
  };
  std::string text = part("prefill:", result.prefill_tokens, result.prefill_seconds);
  if (result.decode_tokens > 0) text += part("; decode:", result.decode_tokens, result.decode_seconds);
  if (result.repetitions.size() > 1) {
    text += format("; medians of {} runs: prefill {}", result.repetitions.size(),
                   spread_text(result, &GenerationTimes::prefill_seconds));
    if (result.decode_tokens > 0)
      text += format(", decode {}", spread_text(result, &GenerationTimes::decode_seconds));
  }
  return text + "\n";
}

}  // namespace nadi::inline show
