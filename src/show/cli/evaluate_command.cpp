// nadi evaluate
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/cli/comm_timeout_flag.h"
#include "nadi/cli/computation_choices.h"
#include "nadi/cli/plan_flags.h"
#include "nadi/cli/sense_limits.h"
#include "nadi/cli/start_ranks.h"
#include "nadi/comm/communicator.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/data/token_file.h"
#include "nadi/launch/rank_world.h"
#include "nadi/model/config_file.h"
#include "nadi/report/evaluation_report.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/silent_console.h"
#include "nadi/train/token_evaluation.h"

namespace nadi::inline show {
namespace {

constexpr std::string_view kAllPositions = "all";

TokenPlace parse_place(std::string_view text) {
  TokenPlace place;
  const std::size_t colon = text.find(':');
  const auto number = [&](std::string_view digits, std::int64_t& into) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), into);
    return error == std::errc{} && end == digits.data() + digits.size() && into >= 0;
  };
  if (colon == std::string_view::npos || !number(text.substr(0, colon), place.sequence) ||
      !number(text.substr(colon + 1), place.position))
    throw usage_error(format("--positions takes sequences with positions, not '{}'", text),
                      "--positions 0:0,1:39 are the first of the first sequence and the 40th of the second");
  return place;
}

std::vector<TokenPlace> resolve_positions(const Flags& flags,
                                          const std::vector<std::vector<TokenId>>& sequences) {
  std::vector<TokenPlace> places;
  const std::string text = flags.text("--positions").value_or("");
  const auto tokens = [&](std::int64_t sequence) {
    return static_cast<std::int64_t>(sequences[static_cast<std::size_t>(sequence)].size());
  };
  const auto count = static_cast<std::int64_t>(sequences.size());
  if (text.empty() || text == kAllPositions) {
    for (std::int64_t sequence = 0; sequence < count; ++sequence)
      for (std::int64_t position = text.empty() ? tokens(sequence) - 1 : 0; position < tokens(sequence);
           ++position)
        places.push_back({sequence, position});
    return places;
  }
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    const TokenPlace place = parse_place(rest.substr(0, comma));
    if (place.sequence >= count)
      throw usage_error(
          format("--positions {}:{}: there are {} sequences", place.sequence, place.position, count),
          "they are counted from 0");
    if (place.position >= tokens(place.sequence))
      throw usage_error(format("--positions {}:{}: that sequence has {} tokens", place.sequence,
                               place.position, tokens(place.sequence)),
                        "they are counted from 0");
    places.push_back(place);
    if (comma == std::string_view::npos) return places;
    rest.remove_prefix(comma + 1);
  }
}

void check_lengths(const TokenEvaluationRequest& request, const std::string& file) {
  for (std::size_t i = 0; i < request.sequences.size(); ++i)
    if (const auto tokens = static_cast<std::int64_t>(request.sequences[i].size());
        tokens > longest_sequence(request.config))
      throw input_error({.file = file}, format("sequence {} has {} tokens, and {} has {}", i, tokens,
                                               request.config.name, room_of(request.config)));
}

TokenEvaluationRequest resolve_evaluation(const Flags& flags, const Communicator& world) {
  TokenEvaluationRequest request;
  request.device = resolve_device(flags);
  request.math = resolve_math(flags, request.device);
  request.plan = resolve_plan(flags);
  if (request.plan.world_size() != world.size())
    throw usage_error(format("a plan of {} ranks; {} {} running", request.plan.world_size(), world.size(),
                             world.size() == 1 ? "is" : "are"),
                      format("nadi launch -n {} evaluate ...", request.plan.world_size()));
  const std::string& model = flags.positional();
  request.config = load_model_config(model, flags.text("--model-type").value_or(""));
  if (std::filesystem::is_directory(model)) request.weights = model;
  const auto file = flags.text("--tokens");
  if (!file)
    throw usage_error("--tokens is missing",
                      "--tokens FILE.json, where the file has [[67, 113, 81], [5, 17]]");
  request.sequences = read_token_sequences(*file, request.config.vocabulary);
  check_lengths(request, *file);
  request.positions = resolve_positions(flags, request.sequences);
  request.gradients = flags.given("--gradients");
  request.dtype = kDTypes[flags.choice("--dtype").value_or(0)].second;
  request.fused_attention = flags.choice("--attention").value_or(kFusedAttention) == kFusedAttention;
  request.threads = resolve_threads(flags);
  if (flags.given("--no-verify")) request.verify = Verify::kNo;
  request.seed = static_cast<std::uint64_t>(
      flags.integer("--seed", 0).value_or(static_cast<std::int64_t>(request.seed)));
  return request;
}

}  // namespace

void add_evaluate_flags(Flags& flags) {
  flags.set_positional({.name = "MODEL",
                        .help =
                            "a folder with weights in Hugging Face's format, which 'nadi train' writes, too; "
                            "or a built-in model (see 'nadi models') or a config.json, with random weights"});
  FlagHeading results(flags, "tokens and results"), computing(flags, "computing");
  FlagHeading ranks(flags, "several ranks");
  results.value("--tokens", "FILE",
                "a JSON array of sequences, each an array of token ids: [[67, 113, 81], [5, 17]]",
                "required");
  results.value("--positions", "S:P,...",
                "whose logits are printed: position P of sequence S, both from 0; 'all' for every position",
                "the last of each sequence");
  results.toggle("--gradients", "the norm of the gradient of each parameter, too");
  results.toggle("--json", "print JSON: see docs/json.md");
  results.value("--model-type", "TYPE", "architecture of a config.json without model_type",
                "what the configuration says");
  results.value("--seed", "N", "of random weights", "42");

  computing.value("--dtype", "TYPE", "data type of weights and activations", std::string(kDTypes[0].first),
                  {.choices = dtype_names()});
  computing.add(attention_flag());
  computing.value("--device", "WHERE", device_help(), "cpu", {.choices = device_names()});
  for (FlagSpec& spec : math_flags()) computing.add(std::move(spec));
  computing.value("--threads", "N", "compute threads of each rank",
                  "one per core, or a rank's share of them");
  computing.toggle("--no-verify", "do not check the weights against their checksums");

  for (PlanFlag& flag : plan_flags()) {
    if (flag.spec.names[0] == "--zero") flag.spec.help = "of a plan that is taken over; changes nothing here";
    ranks.add(std::move(flag.spec));
  }
  add_comm_timeout_flag(flags, "several ranks");
  add_oversubscribe_flag(flags, "several ranks");
  flags.show_first({"--tokens", "--gradients", "--positions", "--dtype", "--device", "--tp", "--json"});
}

void run_evaluate(const Flags& flags, Console& own_console) {
  if (const std::int64_t wanted = resolve_plan(flags).world_size(); starts_ranks(wanted))
    return start_ranks("evaluate", wanted, flags, own_console);
  RankWorld ranks(rank_watch_options(flags, own_console));
  Communicator& world = ranks.communicator();
  SilentConsole silence(own_console);
  Console& console = world.rank() == Rank{0} ? own_console : silence.console();
  const TokenEvaluationRequest request = resolve_evaluation(flags, world);
  if (request.weights.empty()) console.info() << "note: the weights are random\n";
  const TokenEvaluation result = evaluate_tokens(request, world);
  for (const std::string& note : result.notes) console.info() << "note: " << note << '\n';
  if (!result.unused_weights.empty())
    console.info() << format("note: {} tensors of {} are not part of the model and were not loaded: '{}'{}\n",
                             result.unused_weights.size(), request.weights.string(), result.unused_weights[0],
                             result.unused_weights.size() > 1 ? ", ..." : "");
  if (flags.given("--json"))
    console.out << dump_json(evaluation_json(request, result));
  else
    console.out << evaluation_text(request, result);
  console.out.flush();
}

}  // namespace nadi::inline show
