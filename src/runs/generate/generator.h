// Continues prompts with a model that predicts the next token, on one rank, or on several that split every
// layer (tensor parallelism).
//
//   Generator generator(config, {.input_tokens = 12, .output_tokens = 50, .weights = "gpt2/"});
//   const GenerationResult result =
//       generator.generate(prompts, [&](std::size_t prompt, TokenId token) {
//     print(prompt, token);
//     return true;                                      // false: no more for this prompt
//   });
//
// The prompts of a batch run together. Shapes are fixed, so shorter prompts are padded to `input_tokens`; the
// entries of the padding in the KV cache are overwritten before anything attends to them. The tokens of a
// prompt depend neither on the batch size nor on the other prompts, except through the rounding of matrix
// products of other shapes: the random numbers of a token are those of (seed, number of the prompt in the
// list, number of the token).
//
// Tokens come from a program of StepKind::kGenerate: one instruction for the first token, one for each later
// one. The program stops early when every prompt has ended. With `record` it always runs to its end, so that
// the record is the whole program: the trace of the run and the dry trace (compare_with_dry_trace()) have the
// same nodes.
//
// The first use of a program costs more than all later ones: kernels are made, and memory is touched for the
// first time. warm_up() does that outside of what is measured and recorded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/checked_memory.h"
#include "nadi/devices/make_engine.h"
#include "nadi/engine/engine_memory.h"
#include "nadi/graph/dtype.h"
#include "nadi/parallel/program_summary.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline describe {
struct ModelConfig;
struct Plan;
struct Program;
}  // namespace nadi::inline describe
namespace nadi::inline traces {
struct ExecutedStep;
}  // namespace nadi::inline traces
namespace nadi::inline engines {
class Communicator;
}  // namespace nadi::inline engines

namespace nadi::inline runs {

struct GeneratorOptions {
  std::int64_t batch_size = 1;      // prompts at a time
  std::int64_t input_tokens = 1;    // of the longest prompt
  std::int64_t output_tokens = 50;  // at most, for each prompt
  DType dtype = DType::kF32;
  double temperature = 1;  // of the softmax that tokens are drawn from; 0 means always the likeliest token
  std::int64_t top_k = 0;  // draw from so many likeliest tokens; 0 means from all
  double top_p = 1;        // and of these from the likeliest ones with this share of the probability
  std::uint64_t seed = 42;
  DeviceKind device = DeviceKind::kCpu;
  MathOptions math = {};               // of GPUs
  int threads = 0;                     // 0 means one per core
  double slowdown = 1;                 // computes that many times slower, for experiments with mixed speeds
  std::filesystem::path weights = {};  // Hugging Face folder; empty means random ones
  Verify verify = Verify::kYes;        // whether they are checked against their checksums
  std::optional<TokenId> end_token = {};  // a prompt ends with it
  // Only tokens below this one are generated: a tokenizer may have fewer than the model has room for. 0 means any.
  std::int64_t token_limit = 0;
  bool record = false;
  // The ranks that share the work, each holding a part of the model; nullptr means there is one. All of them make
  // the same calls and get the same tokens.
  Communicator* world = nullptr;
};

// Why the tokens of a prompt end.
enum class GenerationEnd : std::uint8_t {
  kLength,    // there are output_tokens of them
  kEndToken,  // the model said so; the token itself is left out
  kCaller,    // the caller said so
};
std::string_view to_string(GenerationEnd end);  // "length", "end", "stop"

struct Generation {
  std::vector<TokenId> tokens = {};
  GenerationEnd end = GenerationEnd::kLength;
};

struct GenerationTimes {
  double prefill_seconds = 0, decode_seconds = 0;
};

struct GenerationResult {
  std::vector<Generation> generations = {};  // one for each prompt, in their order
  // The prompts; the first token of each is made on the way.
  std::int64_t prefill_tokens = 0;
  double prefill_seconds = 0;
  // All other tokens, ends included.
  std::int64_t decode_tokens = 0;
  double decode_seconds = 0;
  std::vector<GenerationTimes> repetitions = {};  // of each run, where it was measured: medians are above
};

// What generating takes on each rank, as the engine will lay it out: for asking whether there is that much.
MemorySummary predicted_memory(const ModelConfig& config, const GeneratorOptions& options);
// The same with everything that the engine of the options' device takes beside: workspaces, padding, inputs.
EngineMemory predicted_engine_memory(const ModelConfig& config, const GeneratorOptions& options);

// Called with each token as soon as it is there, in the order of the prompts; end tokens are left out. False
// ends the prompt's tokens with this one. May throw.
using TokenCallback = std::function<bool(std::size_t prompt, TokenId token)>;

class Generator {
 public:
  // Loads the weights. Throws Error: usage when the model cannot generate, has fewer positions than
  // input_tokens + output_tokens, or does not divide over the ranks; input for damaged weights; environment
  // for too little memory.
  Generator(const ModelConfig& config, const GeneratorOptions& options);
  ~Generator();
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  // Reads the first batch of prompts and makes two tokens of it (the second is the first from the KV cache),
  // and forgets them. Changes no later token.
  void warm_up(std::span<const std::vector<TokenId>> prompts);

  // Each prompt has 1 to input_tokens tokens of the model's vocabulary. May be called again: numbers of
  // prompts start from 0.
  GenerationResult generate(std::span<const std::vector<TokenId>> prompts, const TokenCallback& callback);

  const Program& program() const;
  const Plan& plan() const;
  // With `record`: a step for each batch so far, since it was last forgotten.
  std::span<const ExecutedStep> recorded() const;
  void forget_recorded();
  // Names in the weights' files that the model does not have.
  const std::vector<std::string>& unused_weights() const;
  // What a user should know of the files with the weights.
  const std::vector<std::string>& weight_notes() const;
  std::string remark() const;  // of the engine, for the user; empty means none

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace nadi::inline runs
