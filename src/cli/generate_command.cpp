// nadi generate
#include <algorithm>
#include <array>
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/writable_folder.h"
#include "nadi/cli/computation_choices.h"
#include "nadi/cli/memory_check.h"
#include "nadi/cli/ranks.h"
#include "nadi/cli/train_plan.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/engine/comm/communicator.h"
#include "nadi/generate/generation_request.h"
#include "nadi/generate/generation_traces.h"
#include "nadi/model/config_file.h"
#include "nadi/report/generate_output.h"
#include "nadi/report/generate_report.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/silent_console.h"
#include "nadi/train/rank_clock.h"

namespace nadi {
namespace {

constexpr std::array<std::string_view, 2> kDevices{"cpu", "cuda"};
// Prompts at once, where the user did not say: more of them want more memory.
constexpr std::int64_t kDefaultBatchSize = 8;
// Where neither MODEL nor --model-config is given.
constexpr std::string_view kDefaultModel = "gpt3-125m";

void add_model_flags(Flags& flags) {
  constexpr std::string_view kGroup = "model and prompts";
  flags.set_positional({.name = "MODEL",
                        .help =
                            "a folder with weights, as Hugging Face and 'nadi train' have it; or a built-in "
                            "model (see 'nadi models') or a config.json, with random weights",
                        .fallback = format("{}, or --model-config", kDefaultModel)});
  const auto add = [&](std::string_view name, std::string_view value, std::string help,
                       std::string fallback) {
    flags.add({.names = {name},
               .value = value,
               .help = std::move(help),
               .fallback = std::move(fallback),
               .group = kGroup});
  };
  add("--model-config", "FILE", "a config.json, in place of MODEL", "none");
  add("--model-type", "TYPE", "what a config.json without model_type is: gpt2, llama",
      "what the configuration says");
  add("--tokenizer", "FOLDER", "tokenizer.json, vocab.json and merges.txt, or tokenizer.model",
      "the one in MODEL; without any, tokens are shown as numbers");
  add("--prompt", "TEXT", "the text to continue", "none");
  add("--prompts", "FILE", "a prompt on each line, or .jsonl with the key \"prompt\"", "none");
  add("--num-input-tokens", "N", "length of a prompt of random tokens, in place of a text", "none");
}

void add_output_flags(Flags& flags) {
  const GeneratorOptions defaults;
  std::string_view group = "output";
  const auto add = [&](std::string_view name, std::string_view value, std::string help,
                       std::string fallback) {
    flags.add({.names = {name},
               .value = value,
               .help = std::move(help),
               .fallback = std::move(fallback),
               .group = group});
  };
  add("--num-output-tokens", "N", "tokens at most; fewer where the model ends its text",
      format("{}, or what the model's positions leave", defaults.output_tokens));
  add("--stop", "TEXT", "end before the first occurrence of this text", "none");
  add("--temperature", "T", "below 1 the likely tokens become likelier still; 0 always takes the likeliest",
      format("{}", defaults.temperature));
  add("--top-k", "N", "draw from the N likeliest tokens; 0 is no limit", format("{}", defaults.top_k));
  add("--top-p", "P",
      "draw from the likeliest tokens that have the share P of the probability, 1 all of them",
      format("{}", defaults.top_p));
  flags.add({.names = {"--greedy"}, .help = "the same as --temperature 0", .group = group});
  add("--seed", "N", "of drawing, random weights and random prompts", format("{}", defaults.seed));
  flags.add({.names = {"--json"}, .help = "print JSON when done: see docs/json.md", .group = group});

  group = "computing and traces";
  add("--batch-size", "N", "prompts at once; with --num-input-tokens, how many there are",
      format("all prompts, at most {}; 1 with --num-input-tokens", kDefaultBatchSize));
  flags.add({.names = {"--dtype"},
             .value = "TYPE",
             .help = "of weights and activations",
             .fallback = std::string(kDTypes[0].first),
             .choices = dtype_names(),
             .group = group});
  flags.add({.names = {"--device"},
             .value = "WHERE",
             .help = "what computes",
             .fallback = "cpu",
             .choices = {kDevices.begin(), kDevices.end()},
             .group = group});
  add("--threads", "N", "threads that compute, of each rank", "one per core, or a rank's share of them");
  add("--tp", "N", "ranks that split every layer; outside of mpirun and srun they are started",
      "all ranks there are");
  add("--slow", "RANKS", "compute slower on some ranks: rank=1:2x,rank=3:1.5x", "none");
  flags.add({.names = {"--no-memory-check"},
             .help = "start even where less memory is free than the model needs",
             .group = group});
  add("--trace", "PREFIX",
      "record what runs, to the last token whatever the model says: PREFIX.0.et (Chakra), "
      "PREFIX_kineto.json, PREFIX_stacks.txt; of several ranks each its own, and one Kineto file of all",
      "no trace");
  flags.add({.names = {"--force"}, .help = "overwrite traces that exist", .group = group});
}

void resolve_model(const Flags& flags, GenerationRequest& request, Console& console) {
  const auto file = flags.text("--model-config");
  if (file && flags.has_positional())
    throw usage_error("MODEL and --model-config contradict each other", "give one of them");
  if (!file && !flags.has_positional()) console.info() << format("note: no MODEL: using {}\n", kDefaultModel);
  const std::string model = file                     ? *file
                            : flags.has_positional() ? flags.positional()
                                                     : std::string(kDefaultModel);
  const std::string type = flags.text("--model-type").value_or("");
  use_model(request, model, file ? read_model_config(*file, type) : load_model_config(model, type));
  if (const std::string misfit = use_tokenizer(request, flags.text("--tokenizer")); !misfit.empty())
    console.warnings() << format("warning: the tokenizer in {} is not used: {}\n", model, misfit);
}

void resolve_sampling(const Flags& flags, GenerationRequest& request) {
  GeneratorOptions& options = request.options;
  for (const std::string_view flag : {"--temperature", "--top-k", "--top-p"})
    if (flags.given(flag) && flags.given("--greedy"))
      throw usage_error(format("{} and --greedy contradict each other", flag));
  options.temperature =
      flags.given("--greedy") ? 0 : flags.number("--temperature").value_or(options.temperature);
  options.top_k = flags.integer("--top-k", 0).value_or(options.top_k);
  options.top_p = flags.number("--top-p").value_or(options.top_p);
  if (options.top_p == 0 || options.top_p > 1)
    throw usage_error(
        format("--top-p takes a number above 0 and at most 1, not '{}'", *flags.text("--top-p")));
  options.seed = static_cast<std::uint64_t>(
      flags.integer("--seed", 0).value_or(static_cast<std::int64_t>(options.seed)));
}

void resolve_prompts(const Flags& flags, GenerationRequest& request) {
  constexpr std::array<std::string_view, 3> kSources{"--prompt", "--prompts", "--num-input-tokens"};
  const auto given = [&](std::string_view flag) { return flags.given(flag); };
  if (std::ranges::count_if(kSources, given) != 1)
    throw usage_error("one of --prompt, --prompts and --num-input-tokens is wanted",
                      "--num-input-tokens 10 makes a prompt of random tokens");
  const Tokenizer* tokenizer = request.tokenizer.get();
  GeneratorOptions& options = request.options;
  const auto batch_size = flags.integer("--batch-size");
  if (const auto length = flags.integer("--num-input-tokens")) {
    options.batch_size = batch_size.value_or(1);
    if (*length > request.config.positions)
      throw usage_error(format("--num-input-tokens {} does not fit {}, which has {} positions", *length,
                               request.config.name, request.config.positions));
    const std::int64_t vocabulary =
        tokenizer != nullptr ? tokenizer->vocabulary_size() : request.config.vocabulary;
    request.prompts = random_prompts({.tokens = *length, .vocabulary = vocabulary, .seed = options.seed},
                                     options.batch_size);
    return;
  }
  if (tokenizer == nullptr)
    throw usage_error(format("{} comes without a tokenizer, which a prompt of text needs", request.model),
                      "give --tokenizer FOLDER, or --num-input-tokens N for a prompt of random tokens");
  if (const auto text = flags.text("--prompt")) {
    request.prompts = encode_prompts(*tokenizer, {*text});
  } else {
    const std::string file = *flags.text("--prompts");
    request.prompts = encode_prompts(*tokenizer, read_prompts(file), file);
  }
  const auto count = static_cast<std::int64_t>(request.prompts.ids.size());
  options.batch_size = std::min(batch_size.value_or(kDefaultBatchSize), count);
}

void resolve_lengths(const Flags& flags, GenerationRequest& request, Console& console) {
  if (fit_lengths(request, flags.integer("--num-output-tokens")))
    console.info() << format("note: {} output tokens, which is what the {} positions of {} leave\n",
                             request.options.output_tokens, request.config.positions, request.config.name);
}

void resolve_trace(const Flags& flags, Communicator& world, GenerationRequest& request) {
  if (flags.given("--force")) {
    if (!flags.given("--trace")) throw usage_error("--force makes no sense without --trace");
    request.overwrite = Overwrite::kAllow;
  }
  const auto prefix = flags.text("--trace");
  if (!prefix) return;
  if (prefix->ends_with('/'))
    throw usage_error(format("--trace takes the start of file names, not '{}'", *prefix),
                      "--trace out/g writes out/g.0.et");
  if (const auto folder = std::filesystem::path(*prefix).parent_path(); !folder.empty())
    require_writable_folder(folder);
  request.trace_prefix = *prefix;
  request.options.record = true;
  if (request.overwrite == Overwrite::kRefuse) refuse_existing_traces(*prefix, world);
}

// Tensor parallelism is what several ranks are for.
void check_ranks(const Flags& flags, const Communicator& world) {
  const std::int64_t wanted = flags.integer("--tp").value_or(world.size());
  if (wanted == world.size()) return;
  throw usage_error(
      format("--tp {} was started on {} rank{}", wanted, world.size(), world.size() == 1 ? "" : "s"),
      format("nadi launch -n {} generate ...", wanted));
}

GenerationRequest resolve(const Flags& flags, Communicator& world, Console& console) {
  if (flags.choice("--device").value_or(0) != 0)
    throw environment_error("this build of Nadi has no CUDA engine", "generate with --device cpu");
  check_ranks(flags, world);
  GenerationRequest request;
  request.options.world = &world;
  resolve_model(flags, request, console);
  resolve_sampling(flags, request);
  resolve_prompts(flags, request);
  resolve_lengths(flags, request, console);
  resolve_trace(flags, world, request);
  if (const auto stop = flags.text("--stop")) {
    if (!request.tokenizer) throw usage_error("--stop makes no sense without a tokenizer");
    request.stop = *stop;
  }
  request.options.dtype = kDTypes[flags.choice("--dtype").value_or(0)].second;
  request.options.threads = resolve_threads(flags);
  request.options.slowdown = slowdown_of(flags, world.rank(), world.size());
  return request;
}

void write_trace(const GenerationRequest& request, const Generator& generator, const RankClock& clock,
                 Console& console) {
  const RunTraceFiles files = write_generation_traces(request, generator, clock);
  console.info() << format("trace: {}, {}, {}\n", files.chakra.string(),
                           generation_kineto_file(request.trace_prefix).string(), files.stacks.string());
}

class GenerateCommand : public Command {
 public:
  void add_flags(Flags& flags) const override {
    add_model_flags(flags);
    add_output_flags(flags);
    flags.show_first({"--prompt", "--num-input-tokens", "--num-output-tokens", "--tokenizer", "--temperature",
                      "--top-k", "--top-p", "--greedy", "--tp", "--trace", "--json"});
  }

  void run(const Flags& flags, Console& own_console) const override {
    if (const std::int64_t wanted = flags.integer("--tp").value_or(1); starts_ranks(wanted))
      return start_ranks("generate", wanted, flags, own_console);
    RankWorld ranks;
    Communicator& world = ranks.communicator();
    SilentConsole silence(own_console);
    Console& console = world.rank() == Rank{0} ? own_console : silence.console();
    const GenerationRequest request = resolve(flags, world, console);
    if (!flags.given("--no-memory-check"))
      check_memory(world, predicted_memory(request.config, request.options), StepKind::kGenerate);
    if (request.options.weights.empty())
      console.info() << "note: the weights are random, and so is what comes out\n";
    Generator generator(request.config, request.options);
    const RankClock clock = request.options.record ? measure_rank_clock(world) : RankClock{};
    if (const auto& unused = generator.unused_weights(); !unused.empty())
      console.info() << format("note: {} tensors of {} are not part of the model and were left: '{}'{}\n",
                               unused.size(), request.model, unused[0], unused.size() > 1 ? ", ..." : "");
    const bool json = flags.given("--json");
    GenerateOutput output(console, {.prompts = request.prompts,
                                    .tokenizer = request.tokenizer.get(),
                                    .stop = request.stop,
                                    .silent = json});
    const GenerationResult result =
        generator.generate(request.prompts.ids, [&](std::size_t prompt, TokenId token) {
          console.check_interrupted();
          return output.add(prompt, token);
        });
    output.finish(result.generations);
    if (json) console.out << dump_json(generation_json(request, result, output.texts()));
    console.out.flush();
    if (!request.trace_prefix.empty()) write_trace(request, generator, clock, console);
    console.info() << generation_speed_text(result);
  }
};

}  // namespace

std::unique_ptr<Command> make_generate_command() {
  return std::make_unique<GenerateCommand>();
}

}  // namespace nadi
