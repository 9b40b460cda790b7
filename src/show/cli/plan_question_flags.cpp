#include "nadi/cli/plan_question_flags.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/base/read_number.h"
#include "nadi/cli/plan_flags.h"
#include "nadi/cli/prediction_flags.h"
#include "nadi/cli/step_flags.h"
#include "nadi/command_line/flags.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

constexpr std::string_view kSpaceGroup = "which plans may be taken";
// Larger numbers are typing mistakes, and longer lists, too.
constexpr std::int64_t kMostDegree = std::int64_t{1} << 30;
constexpr std::size_t kMostValues = 1000;

constexpr std::array<std::string_view, 3> kObjectives{"time", "cost", "memory"};
constexpr std::array<std::string_view, 3> kRecomputed{"none", "selective", "full"};
constexpr std::array<std::string_view, 2> kOffOn{"off", "on"};

std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

template <typename Value>
void keep_each_once(std::vector<Value>& values) {
  std::vector<Value> kept;
  for (const Value& value : values)
    if (std::ranges::find(kept, value) == kept.end()) kept.push_back(value);
  values = std::move(kept);
}

std::vector<std::int64_t> number_list(const Flags& flags, std::string_view flag, std::int64_t least = 1) {
  std::vector<std::int64_t> numbers;
  const auto text = flags.text(flag);
  if (!text) return numbers;
  for (const std::string_view part : split_at_commas(*text)) {
    std::int64_t number = 0;
    if (!read_number(part, number) || number < least || number > kMostDegree)
      throw usage_error(format("{} takes numbers from {} on, not '{}'", flag, least, *text),
                        format("several are separated by commas: {} 1,2,4", flag));
    numbers.push_back(number);
    if (numbers.size() > kMostValues)
      throw usage_error(format("{} lists more than {} numbers", flag, kMostValues));
  }
  keep_each_once(numbers);
  return numbers;
}

// Indices into `known`.
std::vector<std::size_t> choice_list(const Flags& flags, std::string_view flag,
                                     std::span<const std::string_view> known) {
  std::vector<std::size_t> chosen;
  const auto text = flags.text(flag);
  if (!text) return chosen;
  for (const std::string_view part : split_at_commas(*text)) {
    const auto found = std::ranges::find(known, part);
    if (found == known.end())
      throw usage_error(format("{}: unknown value '{}'", flag, part), did_you_mean(part, known));
    chosen.push_back(static_cast<std::size_t>(found - known.begin()));
  }
  keep_each_once(chosen);
  return chosen;
}

std::vector<std::string_view> schedule_names() {
  std::vector<std::string_view> names;
  for (const ScheduleEntry& entry : schedules()) names.push_back(entry.name);
  return names;
}

PlanSpace space_of(const Flags& flags) {
  PlanSpace space{.tp = number_list(flags, "--tp"),
                  .dp = number_list(flags, "--dp"),
                  .pp = number_list(flags, "--pp"),
                  .micro_batch_sizes = number_list(flags, "--micro-batch-size"),
                  .virtual_stages = number_list(flags, "--virtual-stages"),
                  .zero_stages = number_list(flags, "--zero", 0),
                  .uneven_partitions = !flags.given("--even"),
                  .unused_devices = !flags.given("--no-unused")};
  for (const std::size_t choice : choice_list(flags, "--sequence-parallel", kOffOn))
    space.sequence_parallel.push_back(choice == 1);
  for (const std::size_t choice : choice_list(flags, "--recompute", kRecomputed))
    space.recompute.push_back({.granularity = static_cast<Recompute::Granularity>(choice)});
  for (const std::size_t choice : choice_list(flags, "--schedule", schedule_names()))
    space.schedules.push_back(schedules()[choice].kind);
  if (const auto text = flags.text("--partition")) space.partition = parse_partition(*text);
  return space;
}

void add_space_flags(Flags& flags) {
  FlagHeading space(flags, kSpaceGroup);
  space.value("--tp", "LIST", "tensor-parallel degrees: 1,2,4", "all that fit");
  space.value("--dp", "LIST", "data-parallel degrees", "all that fit");
  space.value("--pp", "LIST", "numbers of pipeline stages", "all that fit");
  space.value("--micro-batch-size", "LIST", "sequences per micro-batch", "all that fit");
  space.value("--recompute", "LIST",
              format("what the backward pass computes again: {}",
                     join({kRecomputed.begin(), kRecomputed.end()}, ",")),
              "all that fit");
  space.value("--zero", "LIST", "1 splits the optimizer's state over the data-parallel ranks: 0,1", "both");
  space.value("--sequence-parallel", "LIST",
              "norms and the residual stream split over the --tp ranks: off,on", "both");
  space.value("--schedule", "LIST", format("order of micro-batches: {}", join(schedule_names(), ",")),
              "all that fit");
  space.value("--virtual-stages", "LIST",
              "chunks of layers per rank; more than 1 with --schedule interleaved", "all that fit");
  space.value("--partition", "A-B-C",
              "transformer layers of each stage: only plans with as many stages, and this one",
              "the best one");
  space.toggle("--even", "layers as even as possible over stages, nothing else");
  space.toggle("--no-unused", "only plans that use every device of the cluster");
}

}  // namespace

void add_question_flags(Flags& flags) {
  FlagHeading goal(flags, "what is best");
  goal.value("--objective", "WHAT",
             "time: the shortest step; cost: the cheapest; memory: the least on the fullest device", "time",
             {.choices = {kObjectives.begin(), kObjectives.end()}});
  goal.value("--budget", "PRICE", "plans may cost so much at most: \"5 $/1M tokens\", or \"0.02 $/step\"",
             "any");
  goal.value("--deadline", "TIME", "a step may take so long at most: 1.5s, or \"300B tokens in 30 days\"",
             "any");
  goal.value("--memory-share", "SHARE",
             "plans may fill so much of each device's memory; the context of a GPU and buffers of NCCL "
             "take some",
             format("{}", PlanLimits{}.memory_share));
  add_space_flags(flags);
  add_prediction_flags(flags);
  add_unsplit_step_flags(flags);
}

PlanningQuestion planning_question(const Flags& flags) {
  PlanningQuestion question{.step = unsplit_step_question(flags),
                            .on = prediction_question(flags),
                            .fleet = flags.text("--fleet").value_or(""),
                            .ranks = flags.integer("--ranks"),
                            .space = space_of(flags),
                            .budget = flags.text("--budget").value_or(""),
                            .deadline = flags.text("--deadline").value_or(""),
                            .memory_share = flags.number("--memory-share"),
                            .front = flags.given("--pareto")};
  if (const auto choice = flags.choice("--objective"))
    question.objective = static_cast<PlanObjective>(*choice);
  return question;
}

}  // namespace nadi::inline show
