// nadi generate
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <ostream>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/writable_folder.h"
#include "nadi/cli/cluster_flag.h"
#include "nadi/cli/comm_timeout_flag.h"
#include "nadi/cli/computation_choices.h"
#include "nadi/cli/sense_limits.h"
#include "nadi/cli/slow_flag.h"
#include "nadi/cli/start_ranks.h"
#include "nadi/comm/communicator.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/draw/trace_pictures.h"
#include "nadi/generate/generation_request.h"
#include "nadi/generate/generation_traces.h"
#include "nadi/generate/measured_generation.h"
#include "nadi/generation/generation_question.h"
#include "nadi/launch/rank_world.h"
#include "nadi/launched/memory_check.h"
#include "nadi/report/generate_output.h"
#include "nadi/report/generate_report.h"
#include "nadi/report/run_prediction_text.h"
#include "nadi/run/rank_clock.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/silent_console.h"

namespace nadi::inline show {
namespace {

// Name of the trace where drawings are wanted and it is not given.
constexpr std::string_view kDrawnTrace = "tensor_trace";
void add_generate_model_flags(Flags& flags) {
  FlagHeading group(flags, "model and prompts");
  flags.set_positional(
      {.name = "MODEL",
       .help = "a folder with weights in Hugging Face's format, which 'nadi train' writes, too; or "
               "a built-in model (see 'nadi models') or a config.json, with random weights",
       .fallback = format("{}, or --model-config", kDefaultGeneratedModel)});
  group.value("--model-config", "FILE", "a config.json, in place of MODEL", "none");
  group.value("--model-type", "TYPE", "architecture of a config.json without model_type",
              "what the configuration says");
  group.value("--tokenizer", "FOLDER", "tokenizer.json, vocab.json and merges.txt, or tokenizer.model",
              "the tokenizer in MODEL; without one, tokens are shown as numbers");
  group.value("--prompt", "TEXT", "the text to continue; \"\" begins a text", "none", {.may_be_empty = true});
  group.value("--prompts", "FILE", "a prompt on each line, or .jsonl with the key \"prompt\"", "none");
  group.value("--prompt-tokens", "IDS", "the prompt as token ids: 67,113,81", "none");
  group.value("--num-input-tokens", "N", "length of a prompt of random tokens, in place of a text",
              format("{} where no prompt is given", kDefaultRandomTokens));
}

void add_generate_output_flags(Flags& flags) {
  const GeneratorOptions defaults;
  FlagHeading output(flags, "output"), computing(flags, "computing and traces");
  output.value("--num-output-tokens", "N", "largest number of new tokens; the model may end its text earlier",
               format("{}, {} where no prompt is given, or as many as fit the model's positions",
                      defaults.output_tokens, kDefaultTokensAfterRandom));
  output.value("--stop", "TEXT", "end before the first occurrence of this text", "none");
  output.value("--temperature", "T",
               "of sampling: below 1 it favours likely tokens; 0 always takes the likeliest token",
               format("{}", defaults.temperature));
  output.value("--top-k", "N", "sample from the N likeliest tokens; 0 disables the limit",
               format("{}", defaults.top_k));
  output.value("--top-p", "P",
               "sample from the likeliest tokens whose probabilities add up to P; 1 disables the limit",
               format("{}", defaults.top_p));
  output.toggle("--greedy", "the same as --temperature 0");
  output.value("--seed", "N", "seed of sampling, random weights and random prompts",
               format("{}", defaults.seed));
  output.toggle("--json", "print JSON when done: see docs/json.md");

  computing.value("--batch-size", "N", "prompts per batch; with --num-input-tokens, the number of prompts",
                  format("all prompts, at most {}; 1 with --num-input-tokens", kDefaultPromptBatch));
  computing.value("--dtype", "TYPE", "data type of weights and activations", std::string(kDTypes[0].first),
                  {.choices = dtype_names()});
  computing.value("--device", "WHERE", device_help(), "cpu", {.choices = device_names()});
  for (FlagSpec& spec : math_flags()) computing.add(std::move(spec));
  computing.value(
      "--warmup", "N",
      "read the first batch and make two tokens N times before anything is measured or recorded, so that "
      "set-up is in no figure",
      format("{}", GenerationRequest{}.warmup));
  computing.value("--repeat", "N", "generate N times; the figures are medians, and the last run is recorded",
                  format("{}", GenerationRequest{}.repeat));
  computing.value("--threads", "N", "compute threads of each rank",
                  "one per core, or a rank's share of them");
  computing.value("--tp", "N",
                  "tensor-parallel ranks; they are started unless mpirun or srun has started them",
                  "all ranks there are");
  add_comm_timeout_flag(flags, "computing and traces");
  add_oversubscribe_flag(flags, "computing and traces");
  computing.value("--slow", "RANKS", "slow ranks down: rank=1:2x,rank=3:1.5x", "none");
  computing.toggle("--no-verify", "do not check the weights against their checksums");
  computing.toggle("--no-memory-check", "start even if the model needs more memory than is free");
  computing.value(
      "--trace", "PREFIX",
      "record the run, which then never ends before the last token: PREFIX.0.et (Chakra), "
      "PREFIX_kineto.json, PREFIX_stacks.txt; with several ranks, one of each per rank and one Kineto file "
      "of "
      "all ranks",
      "no trace");
  computing.toggle("--visualize-trace",
                   format("record the run and draw it, beside its trace: tensor_trace_graph.png and .json, "
                          "tensor_comm_graph.png, tensor_trace_chakra.json; --trace is {} unless it is given",
                          kDrawnTrace));
  computing.toggle("--force", "overwrite existing traces and drawings");
}

void take_sampling(const Flags& flags, GeneratorOptions& options) {
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

std::vector<TokenId> parse_tokens(const std::string& text) {
  std::vector<TokenId> ids;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    TokenId id = 0;
    const auto [after, error] = std::from_chars(at, end, id);
    if (error != std::errc{} || (after != end && *after != ','))
      throw usage_error(format("--prompt-tokens takes token ids, not '{}'", text),
                        "--prompt-tokens 67,113,81 is a prompt of three tokens");
    ids.push_back(id);
    if (after == end) return ids;
    at = after + 1;
  }
}

GenerationQuestion generation_question(const Flags& flags) {
  constexpr std::array<std::string_view, 4> kSources{"--prompt", "--prompts", "--prompt-tokens",
                                                     "--num-input-tokens"};
  if (std::ranges::count_if(kSources, [&](std::string_view flag) { return flags.given(flag); }) > 1)
    throw usage_error("give one of --prompt, --prompts, --prompt-tokens and --num-input-tokens",
                      "--num-input-tokens 10 makes a prompt of random tokens");
  if (flags.given("--model-config") && flags.has_positional())
    throw usage_error("MODEL and --model-config contradict each other", "give one of them");
  GenerationQuestion question{.model = flags.has_positional() ? flags.positional() : "",
                              .model_config = flags.text("--model-config").value_or(""),
                              .model_type = flags.text("--model-type").value_or(""),
                              .tokenizer = flags.text("--tokenizer"),
                              .prompt = flags.text("--prompt"),
                              .prompts = flags.text("--prompts").value_or(""),
                              .random_tokens = flags.integer("--num-input-tokens"),
                              .output_tokens = flags.integer("--num-output-tokens"),
                              .batch_size = flags.integer("--batch-size"),
                              .stop = flags.text("--stop").value_or("")};
  if (const auto tokens = flags.text("--prompt-tokens")) question.prompt_tokens = parse_tokens(*tokens);
  take_sampling(flags, question.options);
  return question;
}

TracePictures pictures_of(const GenerationRequest& request) {
  return trace_pictures_in(std::filesystem::path(request.trace_prefix).parent_path());
}

void resolve_trace(const Flags& flags, Communicator& world, GenerationRequest& request) {
  if (flags.given("--force")) {
    if (!flags.given("--trace") && !flags.given("--visualize-trace"))
      throw usage_error("--force needs --trace", "it overwrites the files that --trace writes");
    request.overwrite = Overwrite::kAllow;
  }
  std::optional<std::string> prefix = flags.text("--trace");
  if (!prefix && flags.given("--visualize-trace")) prefix = kDrawnTrace;
  if (!prefix) return;
  if (prefix->ends_with('/'))
    throw usage_error(format("--trace takes the start of file names, not '{}'", *prefix),
                      "--trace out/g writes out/g.0.et");
  if (const auto folder = std::filesystem::path(*prefix).parent_path(); !folder.empty())
    require_writable_folder(folder);
  request.trace_prefix = *prefix;
  request.options.record = true;
  if (request.overwrite == Overwrite::kRefuse) refuse_existing_traces(*prefix, world);
  if (flags.given("--visualize-trace")) require_pictures(pictures_of(request), request.overwrite);
}

// Several ranks are always tensor-parallel.
void check_ranks(const Flags& flags, const Communicator& world) {
  const std::int64_t wanted = flags.integer("--tp").value_or(world.size());
  if (wanted == world.size()) return;
  throw usage_error(format("--tp {} needs {} ranks; {} {} running", wanted, wanted, world.size(),
                           world.size() == 1 ? "is" : "are"),
                    format("nadi launch -n {} generate ...", wanted));
}

GenerationRequest resolve_generation(const Flags& flags, Communicator& world, Console& console) {
  const DeviceKind device = resolve_device(flags);
  check_ranks(flags, world);
  GenerationQuestion question = generation_question(flags);
  GeneratorOptions& options = question.options;
  options.device = device;
  options.math = resolve_math(flags, device);
  options.world = &world;
  if (flags.given("--no-verify")) options.verify = Verify::kNo;
  options.dtype = kDTypes[flags.choice("--dtype").value_or(0)].second;
  options.threads = resolve_threads(flags);
  options.slowdown = slowdown_of(flags, world.rank(), world.size());
  ResolvedGeneration asked = resolve(question);
  for (const std::string& note : asked.notes) console.info() << "note: " << note << "\n";
  for (const std::string& warning : asked.warnings) console.warnings() << "warning: " << warning << "\n";
  GenerationRequest& request = asked.request;
  resolve_trace(flags, world, request);
  request.warmup = flags.integer("--warmup", 0).value_or(request.warmup);
  request.repeat = flags.integer("--repeat").value_or(request.repeat);
  return std::move(request);
}

void write_trace(const GenerationRequest& request, const Generator& generator, const RankClock& clock,
                 Console& console) {
  const RunTraceFiles files = write_generation_traces(request, generator, clock);
  console.info() << format("trace: {}, {}, {}\n", files.chakra.string(),
                           generation_kineto_file(request.trace_prefix).string(), files.stacks.string());
}

// On rank 0, when the traces of all ranks are there.
void draw_trace(const GenerationRequest& request, const Communicator& world, Console& console) {
  std::vector<std::filesystem::path> traces;
  for (std::int64_t rank = 0; rank < world.size(); ++rank)
    traces.push_back(
        generation_trace_files(request.trace_prefix, world.size(), Rank{static_cast<int>(rank)}).chakra);
  const TracePictures pictures = pictures_of(request);
  write_trace_pictures(traces, pictures, request.overwrite, [&] { console.check_interrupted(); });
  console.info() << format("drawings: {}, {}, {}, {}\n", pictures.graph.string(), pictures.node_link.string(),
                           pictures.communication.string(), pictures.chakra.string());
}

}  // namespace

void add_generate_flags(Flags& flags) {
  add_generate_model_flags(flags);
  add_generate_output_flags(flags);
  add_cluster_flag(flags, "print what prompt and token would take on this hardware beside what they took",
                   "none");
  flags.show_first({"--prompt", "--prompt-tokens", "--num-input-tokens", "--num-output-tokens", "--tokenizer",
                    "--temperature", "--top-k", "--top-p", "--greedy", "--tp", "--trace", "--json"});
}

void run_generate(const Flags& flags, Console& own_console) {
  const std::optional<Cluster> cluster = given_cluster(flags);
  if (const std::int64_t wanted = flags.integer("--tp").value_or(1); starts_ranks(wanted))
    return start_ranks("generate", wanted, flags, own_console);
  RankWorld ranks(rank_watch_options(flags, own_console));
  Communicator& world = ranks.communicator();
  SilentConsole silence(own_console);
  Console& console = world.rank() == Rank{0} ? own_console : silence.console();
  const GenerationRequest request = resolve_generation(flags, world, console);
  if (!flags.given("--no-memory-check")) {
    if (request.options.device == DeviceKind::kCuda)
      check_gpu_memory(world, predicted_engine_memory(request.config, request.options), StepKind::kGenerate);
    else
      check_memory(world, predicted_memory(request.config, request.options), StepKind::kGenerate);
  }
  if (request.options.weights.empty()) console.info() << "note: the weights are random, and so is the text\n";
  Generator generator(request.config, request.options);
  if (const std::string remark = generator.remark(); !remark.empty())
    console.info() << "note: " << remark << "\n";
  const RankClock clock = request.options.record ? measure_rank_clock(world) : RankClock{};
  for (const std::string& note : generator.weight_notes()) console.info() << "note: " << note << '\n';
  if (const auto& unused = generator.unused_weights(); !unused.empty())
    console.info() << format("note: {} tensors of {} are not part of the model and were not loaded: '{}'{}\n",
                             unused.size(), request.model, unused[0], unused.size() > 1 ? ", ..." : "");
  const bool json = flags.given("--json");
  GenerateOutput output(console, {.prompts = request.prompts,
                                  .tokenizer = request.tokenizer.get(),
                                  .stop = request.stop,
                                  .silent = json});
  const auto tokens_to = [&](GenerateOutput& to) {
    return [&](std::size_t prompt, TokenId token) {
      console.check_interrupted();
      return to.add(prompt, token);
    };
  };
  std::optional<GenerateOutput> unseen;  // of further runs: ends texts, and prints nothing
  const GenerationResult result = measured_generation(
      generator, request,
      {.token = tokens_to(output),
       .again = [&]() -> TokenCallback {
         unseen.emplace(console, GenerateOutputOptions{.prompts = request.prompts,
                                                       .tokenizer = request.tokenizer.get(),
                                                       .stop = request.stop,
                                                       .silent = true});
         return tokens_to(*unseen);
       },
       .check_interrupted = [&] { console.check_interrupted(); }});
  output.finish(result.generations);
  if (json) console.out << dump_json(generation_json(request, result, output.texts()));
  console.out.flush();
  if (!request.trace_prefix.empty()) write_trace(request, generator, clock, console);
  if (flags.given("--visualize-trace") && world.rank() == Rank{0}) draw_trace(request, world, console);
  console.info() << generation_speed_text(result);
  if (cluster)
    console.info() << predicted_text(cluster->name,
                                     predict_generation(*cluster, request, result, world.size()));
}

}  // namespace nadi::inline show
