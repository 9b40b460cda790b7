// nadi generate
#include <algorithm>
#include <array>
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/version.h"
#include "nadi/base/writable_folder.h"
#include "nadi/cli/computation_choices.h"
#include "nadi/cli/generate_output.h"
#include "nadi/cli/memory_check.h"
#include "nadi/cli/ranks.h"
#include "nadi/cli/train_plan.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/data/tokenizer_check.h"
#include "nadi/engine/comm/communicator.h"
#include "nadi/generate/generator.h"
#include "nadi/generate/prompts.h"
#include "nadi/model/config_file.h"
#include "nadi/model/model.h"
#include "nadi/parallel/step_program.h"
#include "nadi/recording/kineto_merge.h"
#include "nadi/recording/run_traces.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/silent_console.h"
#include "nadi/train/rank_clock.h"
#include "nadi/unroll/plan_metadata.h"

namespace nadi {
namespace {

constexpr std::array<std::string_view, 2> kDevices{"cpu", "cuda"};
// Prompts at once, where the user did not say: more of them want more memory.
constexpr std::int64_t kDefaultBatchSize = 8;
// Where neither MODEL nor --model-config is given.
constexpr std::string_view kDefaultModel = "gpt3-125m";

// All that the command line says, looked up and checked.
struct GenerateRequest {
  std::string model;
  ModelConfig config;
  std::unique_ptr<Tokenizer> tokenizer;  // nullptr: tokens are shown as numbers
  std::string tokenizer_name;
  Prompts prompts;
  GeneratorOptions options;
  std::string stop;
  std::string trace_prefix;  // empty: no trace
  Overwrite overwrite = Overwrite::kRefuse;
};

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

// Of several ranks each has its number in the names of its files.
RunTraceFiles trace_files_of(const std::string& prefix, const Communicator& world, Rank rank) {
  const std::string number = world.size() > 1 ? format(".{}", to_number(rank)) : "";
  RunTraceFiles files{.kineto = format("{}_kineto{}.json", prefix, number),
                      .chakra = format("{}.{}.et", prefix, to_number(rank)),
                      .stacks = format("{}_stacks{}.txt", prefix, number)};
  if (world.size() > 1 && rank == Rank{0}) files.groups = prefix + ".groups.json";
  return files;
}

std::filesystem::path merged_trace_of(const std::string& prefix) {
  return prefix + "_kineto.json";
}

void resolve_model(const Flags& flags, GenerateRequest& request, Console& console) {
  const auto file = flags.text("--model-config");
  if (file && flags.has_positional())
    throw usage_error("MODEL and --model-config contradict each other", "give one of them");
  if (!file && !flags.has_positional()) console.info() << format("note: no MODEL: using {}\n", kDefaultModel);
  request.model = file ? *file : flags.has_positional() ? flags.positional() : std::string(kDefaultModel);
  const std::string type = flags.text("--model-type").value_or("");
  request.config = file ? read_model_config(*file, type) : load_model_config(request.model, type);
  if (!model_of(request.config.architecture).generates())
    throw usage_error(format("{} is not a model that generates text", request.config.name),
                      "GPT-2, GPT-3 and Llama are");
  const bool folder = std::filesystem::is_directory(request.model);
  if (folder) request.options.weights = request.model;
  if (const auto path = flags.text("--tokenizer"))
    request.tokenizer_name = *path;
  else if (folder && has_tokenizer(request.model))
    request.tokenizer_name = request.model;
  if (request.tokenizer_name.empty()) return;
  request.tokenizer = load_tokenizer(request.tokenizer_name);
  if (const std::string misfit = vocabulary_misfit(*request.tokenizer, request.config.vocabulary);
      !misfit.empty() && !flags.given("--tokenizer")) {
    console.warnings() << format("warning: {} is left aside: {}\n", request.tokenizer_name, misfit);
    request.tokenizer.reset();
    request.tokenizer_name.clear();
    return;
  }
  check_vocabulary(*request.tokenizer, request.config.vocabulary);
  request.options.end_token = request.tokenizer->special_tokens().end;
  request.options.token_limit = request.tokenizer->vocabulary_size();
}

void resolve_sampling(const Flags& flags, GenerateRequest& request) {
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

void resolve_prompts(const Flags& flags, GenerateRequest& request) {
  constexpr std::array<std::string_view, 3> kSources{"--prompt", "--prompts", "--num-input-tokens"};
  const auto given = [&](std::string_view flag) { return flags.given(flag); };
  if (std::ranges::count_if(kSources, given) != 1)
    throw usage_error("one of --prompt, --prompts and --num-input-tokens is wanted",
                      "--num-input-tokens 10 makes a prompt of random tokens");
  const Tokenizer* tokenizer = request.tokenizer.get();
  Prompts& prompts = request.prompts;
  GeneratorOptions& options = request.options;
  const auto batch_size = flags.integer("--batch-size");
  if (const auto length = flags.integer("--num-input-tokens")) {
    options.batch_size = batch_size.value_or(1);
    if (*length > request.config.positions)
      throw usage_error(format("--num-input-tokens {} does not fit {}, which has {} positions", *length,
                               request.config.name, request.config.positions));
    const std::int64_t vocabulary =
        tokenizer != nullptr ? tokenizer->vocabulary_size() : request.config.vocabulary;
    for (std::int64_t i = 0; i < options.batch_size; ++i)
      prompts.ids.push_back(
          random_prompt({.tokens = *length, .vocabulary = vocabulary, .seed = options.seed}, i));
    return;
  }
  if (tokenizer == nullptr)
    throw usage_error(format("{} comes without a tokenizer, which a prompt of text needs", request.model),
                      "give --tokenizer FOLDER, or --num-input-tokens N for a prompt of random tokens");
  if (const auto text = flags.text("--prompt")) {
    prompts.texts = {*text};
    prompts.ids = {encode_prompt(*tokenizer, *text)};
  } else {
    const std::string file = *flags.text("--prompts");
    prompts.texts = read_prompts(file);
    for (std::size_t i = 0; i < prompts.texts.size(); ++i)
      prompts.ids.push_back(encode_prompt(*tokenizer, prompts.texts[i],
                                          {.file = file, .line = static_cast<std::int64_t>(i + 1)}));
  }
  const auto count = static_cast<std::int64_t>(prompts.ids.size());
  options.batch_size = std::min(batch_size.value_or(kDefaultBatchSize), count);
}

// A number that the user gave must fit; the default is what fits.
void resolve_lengths(const Flags& flags, GenerateRequest& request, Console& console) {
  GeneratorOptions& options = request.options;
  const auto given = flags.integer("--num-output-tokens");
  options.input_tokens = longest_prompt(request.prompts.ids, request.config, given.value_or(1));
  const std::int64_t room = request.config.positions - options.input_tokens;
  if (!given && room < options.output_tokens)
    console.info() << format("note: {} output tokens, which is what the {} positions of {} leave\n", room,
                             request.config.positions, request.config.name);
  options.output_tokens = given.value_or(std::min(options.output_tokens, room));
}

void resolve_trace(const Flags& flags, Communicator& world, GenerateRequest& request) {
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
  if (request.overwrite == Overwrite::kAllow) return;
  refuse_existing(trace_files_of(*prefix, world, world.rank()));
  if (world.rank() == Rank{0}) refuse_existing(merged_trace_of(*prefix));
}

// Tensor parallelism is what several ranks are for.
void check_ranks(const Flags& flags, const Communicator& world) {
  const std::int64_t wanted = flags.integer("--tp").value_or(world.size());
  if (wanted == world.size()) return;
  throw usage_error(
      format("--tp {} was started on {} rank{}", wanted, world.size(), world.size() == 1 ? "" : "s"),
      format("nadi launch -n {} generate ...", wanted));
}

GenerateRequest resolve(const Flags& flags, Communicator& world, Console& console) {
  if (flags.choice("--device").value_or(0) != 0)
    throw environment_error("this build of Nadi has no CUDA engine", "generate with --device cpu");
  check_ranks(flags, world);
  GenerateRequest request;
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

void merge_traces(const GenerateRequest& request) {
  const Communicator& world = *request.options.world;
  std::vector<std::filesystem::path> parts;
  for (std::int32_t rank = 0; rank < world.size(); ++rank)
    parts.push_back(trace_files_of(request.trace_prefix, world, Rank{rank}).kineto);
  merge_kineto_files(parts, merged_trace_of(request.trace_prefix), request.overwrite);
}

void write_trace(const GenerateRequest& request, const Generator& generator, const RankClock& clock,
                 Console& console) {
  const GeneratorOptions& options = request.options;
  Communicator& world = *options.world;
  const RunTraceFiles files = trace_files_of(request.trace_prefix, world, world.rank());
  std::vector<std::pair<std::string, std::string>> metadata{
      {"generator", format("nadi {}", version())},
      {"model", request.model},
      {"step", "generate"},
      {"batch_size", format("{}", options.batch_size)},
      {"num_input_tokens", format("{}", options.input_tokens)},
      {"num_output_tokens", format("{}", options.output_tokens)},
      {"dtype", std::string(name_of(options.dtype))},
      {"temperature", format("{}", options.temperature)},
      {"top_k", format("{}", options.top_k)},
      {"top_p", format("{}", options.top_p)},
      {"seed", format("{}", options.seed)}};
  const auto plan = plan_metadata(generator.plan(), resolved_partition(request.config, generator.plan()),
                                  PlannedStep::kOther);
  metadata.insert(metadata.end(), plan.begin(), plan.end());
  write_run_traces(files, generator.program(), generator.recorded(),
                   {.name = std::filesystem::path(request.trace_prefix).filename().string(),
                    .overwrite = request.overwrite,
                    .metadata = std::move(metadata),
                    .plan = world.size() > 1 ? &generator.plan() : nullptr,
                    .rank = world.rank(),
                    .clock_offset = clock.offset,
                    .clock_origin = clock.wall_origin});
  if (world.size() > 1) {
    world.barrier(kWorld);
    if (world.rank() == Rank{0}) merge_traces(request);
  }
  console.info() << format("trace: {}, {}, {}\n", files.chakra.string(),
                           merged_trace_of(request.trace_prefix).string(), files.stacks.string());
}

void print_speed(const GenerationResult& result, Console& console) {
  const auto part = [](std::string_view name, std::int64_t tokens, double seconds) {
    return format("{} {} tokens in {:.3f} s, {:.1f} tokens/s", name, tokens, seconds,
                  seconds > 0 ? static_cast<double>(tokens) / seconds : 0.0);
  };
  console.info() << part("prefill:", result.prefill_tokens, result.prefill_seconds);
  if (result.decode_tokens > 0)
    console.info() << part("; decode:", result.decode_tokens, result.decode_seconds);
  console.info() << "\n";
}

Json result_json(const GenerateRequest& request, const GenerationResult& result,
                 const std::vector<std::string>& texts) {
  const GeneratorOptions& options = request.options;
  const auto text_or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  Json generations = Json::array();
  for (std::size_t i = 0; i < result.generations.size(); ++i)
    generations.push_back(
        {{"prompt", request.prompts.texts.empty() ? Json(nullptr) : Json(request.prompts.texts[i])},
         {"input_tokens", request.prompts.ids[i]},
         {"output_tokens", result.generations[i].tokens},
         {"text", request.tokenizer ? Json(texts[i]) : Json(nullptr)},
         {"ended_by", to_string(result.generations[i].end)}});
  Json trace{{"chakra", nullptr}, {"kineto", nullptr}, {"stacks", nullptr}};
  if (!request.trace_prefix.empty()) {
    const RunTraceFiles files = trace_files_of(request.trace_prefix, *options.world, Rank{0});
    trace = {{"chakra", files.chakra.string()},
             {"kineto", merged_trace_of(request.trace_prefix).string()},
             {"stacks", files.stacks.string()}};
  }
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
          {"generations", generations},
          {"prefill_tokens", result.prefill_tokens},
          {"prefill_seconds", result.prefill_seconds},
          {"decode_tokens", result.decode_tokens},
          {"decode_seconds", result.decode_seconds},
          {"trace", trace}};
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
    const GenerateRequest request = resolve(flags, world, console);
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
    if (json) console.out << dump_json(result_json(request, result, output.texts()));
    console.out.flush();
    if (!request.trace_prefix.empty()) write_trace(request, generator, clock, console);
    print_speed(result, console);
  }
};

}  // namespace

std::unique_ptr<Command> make_generate_command() {
  return std::make_unique<GenerateCommand>();
}

}  // namespace nadi
