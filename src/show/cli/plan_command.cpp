// nadi plan
#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cli/cluster_flag.h"
#include "nadi/cli/computation_choices.h"
#include "nadi/cli/html_flag.h"
#include "nadi/cli/plan_question_flags.h"
#include "nadi/cli/sense_limits.h"
#include "nadi/cli/step_flags.h"
#include "nadi/cluster/cluster_file.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/draw/answer_page.h"
#include "nadi/draw/pareto_from_plans.h"
#include "nadi/draw/pareto_page.h"
#include "nadi/megatron/megatron_command.h"
#include "nadi/plan/plan_explanation.h"
#include "nadi/plan/plan_file.h"
#include "nadi/plan/plan_search.h"
#include "nadi/prediction/planning_question.h"
#include "nadi/report/no_plan_error.h"
#include "nadi/report/plan_report.h"
#include "nadi/report/watched_search.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {
namespace {

constexpr std::int64_t kDefaultTop = 10;
constexpr std::int64_t kMostShown = 10'000;
constexpr std::int64_t kDefaultEffort = 1;

std::int64_t wanted_top(const Flags& flags) {
  const std::int64_t top = flags.integer("--top").value_or(kDefaultTop);
  if (top > kMostShown) throw usage_error(format("--top {}; the limit is {}", top, kMostShown));
  return top;
}

// --explain and --emit-rank name a plan of the table.
std::optional<std::int64_t> wanted_place(const Flags& flags, std::string_view flag) {
  const auto place = flags.integer(flag);
  if (place && *place > wanted_top(flags))
    throw usage_error(format("{} {}, and {} plans are listed", flag, *place, wanted_top(flags)),
                      "--top lists more");
  return place;
}

const RankedPlan& plan_at(const PlanAnswer& answer, std::string_view flag, std::int64_t place) {
  if (place > std::ssize(answer.plans))
    throw usage_error(format("{} {}: {} plan{} found", flag, place, answer.plans.size(),
                             answer.plans.size() == 1 ? " was" : "s were"));
  return answer.plans[static_cast<std::size_t>(place - 1)];
}

SearchOptions search_options(const Flags& flags) {
  // Larger numbers are typing mistakes.
  constexpr std::int64_t kMostEffort = 1'000'000;
  const std::int64_t effort = flags.integer("--effort", 0).value_or(kDefaultEffort);
  if (effort > kMostEffort)
    throw usage_error(format("--effort {}; the limit is {}", effort, kMostEffort),
                      "--effort 0 goes on until all is proven");
  return {.top = wanted_top(flags), .threads = resolve_threads(flags), .effort = effort};
}

Overwrite overwriting(const Flags& flags) {
  return flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse;
}

// Before a search that may take a minute.
void check_files(const Flags& flags) {
  bool writes = false;
  html_path(flags);
  if (flags.given("--html") && !flags.given("--explain"))
    throw usage_error("--html needs --explain", "the page is of the plan that --explain names");
  for (const std::string_view flag : {"--emit", "--all", "--pareto", "--html"})
    if (const auto path = flags.text(flag)) {
      writes = true;
      if (overwriting(flags) == Overwrite::kRefuse) refuse_existing(*path);
    }
  if (flags.given("--force") && !writes)
    throw usage_error("--force needs --emit, --all, --pareto or --html",
                      "it overwrites the files that they write");
  if (flags.given("--emit-rank") && !flags.given("--emit"))
    throw usage_error("--emit-rank needs --emit", "--emit names the file for the plan");
  if (const auto page = flags.text("--pareto"); page && !page->ends_with(".html"))
    throw usage_error(format("--pareto writes a page, and '{}' does not end in .html", *page));
  wanted_place(flags, "--explain");
  wanted_place(flags, "--emit-rank");
}

void write_pareto(const Flags& flags, const PlanningAnswer& answer, Console& console) {
  const ResolvedPlanning& asked = answer.asked;
  ParetoPage page = pareto_of_plans(
      {.question = asked.question, .work = asked.work, .front = answer.front, .behind = answer.behind});
  page.subtitle = question_text(asked);
  page.note = fleet_note(answer);
  if (std::ranges::any_of(answer.parts, [](const FleetChoice& choice) { return choice.step > 1; }))
    console.info() << "note: " << page.note << "\n";
  const std::string path = *flags.text("--pareto");
  write_pareto_page(page, path, overwriting(flags));
  console.info() << format("pareto: {}\n", path);
}

// The cluster of a fleet has no name that another command knows: it is written beside the plan.
std::string cluster_beside(const std::string& plan_path) {
  return plan_path.empty() ? ""
                           : std::filesystem::path(plan_path).replace_extension(".cluster.json").string();
}

// The plan as a file has it, under the names of the command line.
PlanFile file_of(const Flags& flags, const PlanQuestion& question, const RankedPlan& plan) {
  return plan_file_of(question, plan,
                      {.model = flags.positional(),
                       .cluster = flags.given("--fleet") ? cluster_beside(flags.text("--emit").value_or(""))
                                                         : *flags.text("--cluster"),
                       .layer_times = flags.text("--layer-times").value_or("")});
}

MegatronText megatron_text(const Flags& flags, const PlanQuestion& question, const RankedPlan& plan) {
  MegatronCommand command =
      megatron_command(question.config, file_of(flags, question, plan), question.cluster);
  return {.partition = std::move(command.partition),
          .layout = std::move(command.layout),
          .command = std::move(command.command),
          .notes = std::move(command.notes),
          .problems = std::move(command.problems)};
}

void emit(const Flags& flags, const PlanQuestion& question, const PlanAnswer& answer, Console& console) {
  const auto path = flags.text("--emit");
  if (!path) return;
  const RankedPlan& plan = plan_at(answer, "--emit-rank", wanted_place(flags, "--emit-rank").value_or(1));
  if (flags.given("--fleet"))
    write_atomically(cluster_beside(*path), cluster_text(question.cluster), overwriting(flags));
  write_plan_file(file_of(flags, question, plan), *path, overwriting(flags));
  console.info() << format("plan: {}\n", *path);
}

// Prints and writes what was asked for.
void report(const Flags& flags, const PlanningAnswer& answer, Console& console) {
  PlanView view{.answer = answer};
  const PlanQuestion& question = answer.asked.question;
  std::optional<PlanExplanation> why;
  if (const auto place = wanted_place(flags, "--explain"); place && !answer.found.stopped) {
    why = explain_plan(question, plan_at(answer.found, "--explain", *place),
                       [&console] { return console.interrupted(); });
    view.explanation = &*why;
    view.explained = *place;
    view.megatron = megatron_text(flags, question, why->plan);
  }
  if (const auto page = html_path(flags); page && why) {
    write_answer_page(plan_page(view, format("Plan {} of {} on {}", view.explained, question.config.name,
                                             question.cluster.name)),
                      *page, html_overwrite(flags));
    console.info() << format("page: {}\n", page->string());
  }
  if (flags.given("--json"))
    console.out << dump_json(plan_report_json(view));
  else
    print_plans(view, console.out, style_for(console));
  emit(flags, question, answer.found, console);
  if (answer.found.stopped || console.interrupted()) throw Interrupted{};
}

}  // namespace

void add_plan_flags(Flags& flags) {
  flags.set_positional(
      {.name = "MODEL", .help = "a built-in model (see 'nadi models'), a config.json, a checkpoint folder"});
  add_cluster_flag(flags, "the hardware", "required, or --fleet");
  FlagHeading hardware(flags, "hardware");
  hardware.value("--fleet", "FILE",
                 "in place of --cluster: nodes that can be rented, with the fewest and the most of each "
                 "kind, as examples/fleets/a100-a10.json; finds how many of which, by time and money: see "
                 "docs/planning.md",
                 "none");
  hardware.value("--ranks", "N",
                 "of a machine that 'nadi calibrate' measured with several numbers of ranks: this number",
                 "the cluster as it is");
  FlagHeading output(flags, "output");
  output.value("--top", "N", "plans that are listed", format("{}", kDefaultTop));
  output.value("--explain", "N",
               "say why the N-th plan: time and memory of each stage, what limits it, what other "
               "choices would cost",
               "none");
  add_html_flag(flags, "output",
                "the plan of --explain as a page: balance of its stages, and what else could be chosen");
  output.value("--emit", "FILE",
               "write a plan as a file for --plan of train, launch, trace, show and simulate", "none");
  output.value("--emit-rank", "N", "which of the listed plans --emit writes", "1, the best");
  output.value({"--pareto", "--output", "-o"}, "FILE.html",
               "draw time against money as a page: the fastest plan on each part of the cluster, and those "
               "that no other beats in both: p.html",
               "none");
  output.value("--all", "FILE", "write every plan that was evaluated as CSV", "none");
  output.value("--effort", "N",
               "work for the proof that nothing is better: N times the usual gives a narrower gap; 0 "
               "goes on until all is proven",
               format("{}", kDefaultEffort));
  output.value("--threads", "N", "threads that search; the answer does not depend on it", "one per core");
  add_oversubscribe_flag(flags, "output");
  output.toggle("--force", "overwrite files that exist");
  output.toggle("--json", "print JSON: see docs/json.md");
  add_question_flags(flags);
  flags.show_first({"--cluster", "--global-batch-size", "--top", "--objective", "--budget", "--deadline",
                    "--explain", "--emit", "--pareto", "--fleet", "--json"});
}

void run_plan(const Flags& flags, Console& console) {
  check_files(flags);
  if (flags.given("--fleet"))
    for (const std::string_view flag : {"--cluster", "--ranks"})
      if (flags.given(flag)) throw usage_error(format("--fleet and {} contradict each other", flag));
  ResolvedPlanning asked = resolve(planning_question(flags));
  name_ignored_keys(asked.question.config, console);
  WatchedSearch search(asked.question, search_options(flags), console);
  if (const auto path = flags.text("--all")) search.write_all(*path, overwriting(flags));
  PlanningAnswer answer = plan(std::move(asked), search.watch());
  search.clear_line();
  if (answer.found.plans.empty() && answer.found.stopped) throw Interrupted{};
  if (answer.found.plans.empty()) throw no_plan_error(answer);
  if (flags.given("--pareto")) {
    if (!flags.given("--fleet")) {
      WatchedSearch parts(answer.asked.question, search_options(flags), console);
      add_front(answer, parts.watch());
    }
    write_pareto(flags, answer, console);
  }
  report(flags, answer, console);
}

}  // namespace nadi::inline show
