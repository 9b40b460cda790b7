#include "nadi/generate/generator.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "nadi/base/error.h"
#include "nadi/comm/plan_groups.h"
#include "nadi/comm/single_process.h"
#include "nadi/devices/make_engine.h"
#include "nadi/engine/engine.h"
#include "nadi/model/model_config.h"
#include "nadi/parallel/stage_programs.h"
#include "nadi/parallel/step_program.h"
#include "nadi/recording/execution.h"
#include "nadi/run/sharded_state.h"

namespace nadi::inline runs {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

StepRequest request_of(const GeneratorOptions& options) {
  return {.kind = StepKind::kGenerate,
          .batch_size = options.batch_size,
          .input_tokens = options.input_tokens,
          .output_tokens = options.output_tokens,
          .dtype = options.dtype,
          .sampling = options.temperature > 0,
          .token_limit = options.token_limit};
}

// Tensor parallelism over all ranks.
Plan plan_of(const GeneratorOptions& options) {
  return {.tp = options.world != nullptr ? options.world->size() : 1};
}

using PromptTokens = std::span<const std::vector<TokenId>>;

}  // namespace

std::string_view to_string(GenerationEnd end) {
  switch (end) {
    case GenerationEnd::kLength:
      return "length";
    case GenerationEnd::kEndToken:
      return "end";
    case GenerationEnd::kCaller:
      return "stop";
  }
  unreachable();
}

MemorySummary predicted_memory(const ModelConfig& config, const GeneratorOptions& options) {
  return summarize(build_step(config, request_of(options), plan_of(options), 0)).memory;
}

EngineMemory predicted_engine_memory(const ModelConfig& config, const GeneratorOptions& options) {
  const Program program = build_step(config, request_of(options), plan_of(options), 0);
  return engine_memory(
      program, plan_kernels(options.device, program, {.threads = options.threads, .math = options.math}));
}

class Generator::State {
 public:
  State(const ModelConfig& config, const GeneratorOptions& options)
      : options_(options),
        vocabulary_(config.vocabulary),
        plan_(plan_of(options)),
        programs_(config, request_of(options), plan_),
        world_(options.world != nullptr ? *options.world : alone_),
        groups_(world_, plan_),
        engine_(make_engine(options.device, {.threads = options.threads,
                                             .groups = world_.size() > 1 ? &groups_ : nullptr,
                                             .slowdown = options.slowdown,
                                             .math = options.math})),
        loaded_(engine_->load(program())) {
    engine_->bind();
    if (!options.weights.empty()) {
      ShardedState state(*engine_, world_, programs_);
      unused_ = state.load_weights(options.weights, options.verify);
      notes_ = state.notes();
    }
    engine_->initialize(options.seed);
    if (!engine_->has_input(loaded_, "sampling")) return;
    const std::array sampling{static_cast<float>(options.temperature), static_cast<float>(options.top_k),
                              static_cast<float>(options.top_p)};
    engine_->set_input<float>(loaded_, kInputs, "sampling", sampling);
  }

  const Program& program() const { return programs_.of(0); }

  // The prompts from number `first` on, as many as fit a batch.
  void run_batch(PromptTokens prompts, std::size_t first, const TokenCallback& callback,
                 GenerationResult& result) {
    const std::size_t count = std::min(prompts.size() - first, static_cast<std::size_t>(options_.batch_size));
    set_prompts(prompts.subspan(first, count));
    ExecutedStep* record = nullptr;
    if (options_.record)
      record = &recorded_.emplace_back(ExecutedStep{.step = static_cast<std::int64_t>(recorded_.size())});

    Batch batch{.first = first, .going = std::vector<char>(count, 1), .left = count};
    batch.chosen.resize(static_cast<std::size_t>(options_.batch_size));
    double start = seconds_now();
    std::optional<Ticket> before;  // the token that is still to be read
    for (std::int64_t number = 0; number < options_.output_tokens; ++number) {
      if (batch.left == 0 && record == nullptr) break;
      set_random(number, first);
      const auto instruction = static_cast<std::size_t>(number);
      const Ticket ticket = engine_->run(
          loaded_, {.inputs = kInputs, .first = instruction, .end = instruction + 1, .record = record});
      // A device beside the host has the token that the next one needs. It goes on while the host looks at
      // the one before; of a prompt that has ended one token too many is computed, which nobody sees.
      if (before) read_token(*before, number - 1, start, batch, callback, result);
      before = ticket;
      if (reads_ahead()) continue;
      read_token(*std::exchange(before, std::nullopt), number, start, batch, callback, result);
    }
    if (before && batch.left > 0)
      read_token(*before, options_.output_tokens - 1, start, batch, callback, result);
  }

  void warm_up(PromptTokens prompts) {
    set_prompts(prompts.first(std::min(prompts.size(), static_cast<std::size_t>(options_.batch_size))));
    constexpr std::int64_t kTokens = 2;
    for (std::int64_t number = 0; number < std::min(kTokens, options_.output_tokens); ++number) {
      set_random(number, 0);
      const auto instruction = static_cast<std::size_t>(number);
      engine_->wait(engine_->run(loaded_, {.inputs = kInputs, .first = instruction, .end = instruction + 1}));
    }
  }

  const GeneratorOptions options_;
  const std::int64_t vocabulary_;
  const Plan plan_;
  const StagePrograms programs_;
  SingleProcess alone_;
  Communicator& world_;
  const PlanGroups groups_;
  const std::unique_ptr<Engine> engine_;
  const ProgramHandle loaded_;
  std::vector<std::string> unused_ = {};
  std::vector<std::string> notes_ = {};
  std::vector<ExecutedStep> recorded_ = {};

 private:
  // One token needs the one before: there is nothing to be set ahead.
  static constexpr InputSet kInputs = InputSet::kFirst;

  // Prompts under way together.
  struct Batch {
    std::size_t first = 0;  // its number
    std::vector<char> going = {};
    std::size_t left = 0;
    std::vector<std::int32_t> chosen = {};
  };

  // One token at a time is read with the ticket of its run, while the next one is computed.
  bool reads_ahead() const {
    return engine_->runs_beside_host() && options_.batch_size == 1 && !options_.record;
  }

  // `start` is when the tokens before were read, and becomes when these are.
  void read_token(Ticket ticket, std::int64_t number, double& start, Batch& batch,
                  const TokenCallback& callback, GenerationResult& result) {
    if (reads_ahead()) {
      batch.chosen[0] = static_cast<std::int32_t>(engine_->scalar(ticket, "next_token"));
    } else {
      engine_->wait(ticket);
      engine_->read("next_token", 0, std::as_writable_bytes(std::span(batch.chosen)));
    }
    const double now = seconds_now();
    if (number == 0)
      result.prefill_seconds += now - start;
    else if (batch.left > 0)
      result.decode_seconds += now - start;
    start = now;
    for (std::size_t row = 0; row < batch.going.size(); ++row) {
      if (batch.going[row] == 0) continue;
      if (number > 0) ++result.decode_tokens;
      batch.going[row] =
          take(batch.chosen[row], batch.first + row, callback, result.generations[batch.first + row]);
      if (batch.going[row] == 0) --batch.left;
    }
  }

  // Rows without a prompt, in a batch that is not full, hold one token: the work is the same, the result is
  // left alone.
  void set_prompts(PromptTokens prompts) {
    const std::int64_t width = options_.input_tokens;
    std::vector<std::int32_t> ids(options_.batch_size * width, 0);
    std::vector<std::int32_t> lengths(options_.batch_size, 1);
    for (std::size_t row = 0; row < prompts.size(); ++row) {
      const std::vector<TokenId>& prompt = prompts[row];
      check(!prompt.empty() && static_cast<std::int64_t>(prompt.size()) <= width,
            "a prompt without tokens, or with more than there is room for");
      for (const TokenId id : prompt)
        check(id >= 0 && id < vocabulary_, "a token that the model does not have");
      std::ranges::copy(prompt, ids.begin() + static_cast<std::int64_t>(row) * width);
      lengths[row] = static_cast<std::int32_t>(prompt.size());
    }
    engine_->set_input<std::int32_t>(loaded_, kInputs, "input_ids", ids);
    engine_->set_input<std::int32_t>(loaded_, kInputs, "lengths", lengths);
  }

  // Prefill and the first decode are both micro-batch 0, hence between the instructions.
  void set_random(std::int64_t token, std::size_t first_prompt) {
    if (!engine_->has_input(loaded_, "random")) return;
    const std::array<std::int64_t, 3> random{static_cast<std::int64_t>(options_.seed), token,
                                             static_cast<std::int64_t>(first_prompt)};
    engine_->set_input<std::int64_t>(loaded_, kInputs, "random", random,
                                     std::max<std::int64_t>(token - 1, 0));
  }

  // Whether the prompt goes on after this token.
  bool take(TokenId token, std::size_t prompt, const TokenCallback& callback, Generation& generation) const {
    if (token == options_.end_token) {
      generation.end = GenerationEnd::kEndToken;
      return false;
    }
    generation.tokens.push_back(token);
    if (!callback(prompt, token)) {
      generation.end = GenerationEnd::kCaller;
      return false;
    }
    return static_cast<std::int64_t>(generation.tokens.size()) < options_.output_tokens;
  }
};

Generator::Generator(const ModelConfig& config, const GeneratorOptions& options)
    : state_(std::make_unique<State>(config, options)) {}

Generator::~Generator() = default;

void Generator::warm_up(PromptTokens prompts) {
  if (!prompts.empty()) state_->warm_up(prompts);
}

GenerationResult Generator::generate(PromptTokens prompts, const TokenCallback& callback) {
  GenerationResult result;
  result.generations.resize(prompts.size());
  for (const std::vector<TokenId>& prompt : prompts)
    result.prefill_tokens += static_cast<std::int64_t>(prompt.size());
  for (std::size_t first = 0; first < prompts.size();
       first += static_cast<std::size_t>(state_->options_.batch_size))
    state_->run_batch(prompts, first, callback, result);
  return result;
}

const Program& Generator::program() const {
  return state_->program();
}

const Plan& Generator::plan() const {
  return state_->plan_;
}

std::span<const ExecutedStep> Generator::recorded() const {
  return state_->recorded_;
}

void Generator::forget_recorded() {
  state_->recorded_.clear();
}

const std::vector<std::string>& Generator::weight_notes() const {
  return state_->notes_;
}

const std::vector<std::string>& Generator::unused_weights() const {
  return state_->unused_;
}

std::string Generator::remark() const {
  return state_->engine_->remark();
}

}  // namespace nadi::inline runs
