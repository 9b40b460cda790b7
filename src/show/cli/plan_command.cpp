// nadi plan
#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cli/cluster_flag.h"
#include "nadi/cli/computation_choices.h"
#include "nadi/cli/plan_question_flags.h"
#include "nadi/cli/prediction_flags.h"
#include "nadi/cli/sense_limits.h"
#include "nadi/cli/watched_search.h"
#include "nadi/cluster/cluster_file.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/draw/pareto_from_plans.h"
#include "nadi/draw/pareto_page.h"
#include "nadi/megatron/megatron_command.h"
#include "nadi/parallel/step_check.h"
#include "nadi/plan/fleet.h"
#include "nadi/plan/plan_explanation.h"
#include "nadi/plan/plan_file.h"
#include "nadi/plan/plan_front.h"
#include "nadi/plan/plan_search.h"
#include "nadi/report/plan_report.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/progress_line.h"

namespace nadi::inline show {
namespace {

constexpr std::int64_t kDefaultTop = 10;
constexpr std::int64_t kMostShown = 10'000;
constexpr std::int64_t kDefaultEffort = 1;
// Parts of a cluster that a front is made of: a search each.
constexpr std::int64_t kMostParts = 2000;

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
  for (const std::string_view flag : {"--emit", "--all", "--pareto"})
    if (const auto path = flags.text(flag)) {
      writes = true;
      if (overwriting(flags) == Overwrite::kRefuse) refuse_existing(*path);
    }
  if (flags.given("--force") && !writes)
    throw usage_error("--force needs --emit, --all or --pareto", "it overwrites the files that they write");
  if (flags.given("--emit-rank") && !flags.given("--emit"))
    throw usage_error("--emit-rank needs --emit", "--emit names the file for the plan");
  if (const auto page = flags.text("--pareto"); page && !page->ends_with(".html"))
    throw usage_error(format("--pareto writes a page, and '{}' does not end in .html", *page));
  wanted_place(flags, "--explain");
  wanted_place(flags, "--emit-rank");
}

// Where the space has one value of each degree, the reason why no plan can be built is that of this plan.
void refuse_only_plan(const PlanQuestion& question) {
  const PlanSpace& space = question.space;
  if (space.tp.size() != 1 || space.pp.size() > 1 || space.dp.size() > 1) return;
  Plan plan{.tp = space.tp[0],
            .dp = space.dp.empty() ? 1 : space.dp[0],
            .pp = space.pp.empty() ? 1 : space.pp[0],
            .partition = space.partition};
  StepRequest request = question.request;
  request.batch_size = std::max<std::int64_t>(question.global_batch_size / plan.dp, 1);
  plan.micro_batches = request.batch_size;
  check_plan(question.config, request, plan);
}

[[noreturn]] void refuse_infeasible(const PlanQuestion& question, const PlanAnswer& answer) {
  const std::string miss = nearest_miss_text(question, answer);
  if (miss.empty()) {
    refuse_only_plan(question);
    throw Error(ErrorKind::kInfeasible, {},
                format("no plan of {} on {} is in the space that was asked for", question.config.name,
                       question.cluster.name),
                format("the batch divides over data-parallel ranks and micro-batches, heads over "
                       "tensor-parallel ranks; {} devices are there",
                       with_thousands(question.cluster.device_count())));
  }
  std::string hint = "more or larger devices";
  if (question.limits.dollars_per_million_tokens) hint += ", a higher --budget";
  if (question.limits.step_time) hint += ", a later --deadline";
  if (question.limits.memory_share < 1) hint += ", a larger --memory-share";
  throw Error(ErrorKind::kInfeasible, {},
              format("nothing fits {} on {}: {}", question.config.name, question.cluster.name, miss), hint);
}

// The front by the simulator's times, and all other points behind it.
// `known`: plans that are candidates for it, too.
ConfirmedFront front_of_fleet(const PlanQuestion& question, const FleetAnswer& found,
                              std::vector<RankedPlan> known, Console& console) {
  std::vector<RankedPlan> best = std::move(known);
  for (const std::size_t i : found.front) best.push_back(found.points[i].plan);
  ProgressLine line(console, "plans of the front", steady_clock());
  ConfirmedFront front =
      confirmed_front(question, std::move(best), [&](std::int64_t done, std::int64_t total) {
        line.show(done, total);
        return !console.interrupted();
      });
  for (std::size_t i = 0; i < found.points.size(); ++i)
    if (std::ranges::find(found.front, i) == found.front.end()) front.behind.push_back(found.points[i].plan);
  return front;
}

// What is asked of each mix of nodes: its fastest plan, which is its cheapest, too.
PlanQuestion by_time(PlanQuestion question) {
  question.objective = PlanObjective::kTime;
  return question;
}

std::string fleet_note(const FleetAnswer& found) {
  return format("The fastest plan on each of {} mixes of nodes; {} plans were evaluated.",
                with_thousands(found.subclusters), with_thousands(found.evaluated));
}

// The largest of the mixes on the front; nullopt means one of them was not searched to the end.
std::optional<double> gap_of_front(const FleetAnswer& found) {
  double gap = 0;
  for (const std::size_t i : found.front) {
    if (!found.points[i].gap) return std::nullopt;
    gap = std::max(gap, *found.points[i].gap);
  }
  return gap;
}

// The first `top` by what is asked for, simulated times before estimates.
void rank_by_objective(const PlanQuestion& question, std::vector<RankedPlan>& plans, std::int64_t top) {
  std::ranges::stable_sort(plans, {}, [&](const RankedPlan& plan) {
    PlanEstimate known = plan.estimate;
    if (plan.simulated && known.iteration.count() > 0) {
      const double ratio =
          static_cast<double>(plan.simulated->count()) / static_cast<double>(known.iteration.count());
      known.iteration = *plan.simulated;
      if (known.dollars_per_step) *known.dollars_per_step *= ratio;
    }
    return objective_of(question.objective, known);
  });
  if (std::ssize(plans) > top) plans.resize(static_cast<std::size_t>(top));
}

void write_pareto(const Flags& flags, const PlanView& view, std::vector<RankedPlan> behind,
                  const std::string& note, Console& console) {
  ParetoPage page =
      pareto_of_plans({.question = view.question, .work = view.work, .front = view.front, .behind = behind});
  page.subtitle = question_text(view.question, view.layer_times);
  page.note = note;
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
                                                         : *flags.text("--cluster")});
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

class PlanCommand : public Command {
 public:
  void add_flags(Flags& flags) const override {
    flags.set_positional(
        {.name = "MODEL",
         .help = "a built-in model (see 'nadi models'), a config.json, a checkpoint folder"});
    add_cluster_flag(flags, "the hardware", "required, or --fleet");
    flags.add({.names = {"--fleet"},
               .value = "FILE",
               .help =
                   "in place of --cluster: nodes that can be rented, with the fewest and the most of each "
                   "kind, as examples/fleets/a100-a10.json; finds how many of which, by time and money: see "
                   "docs/planning.md",
               .fallback = "none",
               .group = "hardware"});
    flags.add(
        {.names = {"--ranks"},
         .value = "N",
         .help = "of a machine that 'nadi calibrate' measured with several numbers of ranks: this number",
         .fallback = "the cluster as it is",
         .group = "hardware"});
    flags.add({.names = {"--top"},
               .value = "N",
               .help = "plans that are listed",
               .fallback = format("{}", kDefaultTop),
               .group = "output"});
    flags.add({.names = {"--explain"},
               .value = "N",
               .help = "say why the N-th plan: time and memory of each stage, what limits it, what other "
                       "choices would cost",
               .fallback = "none",
               .group = "output"});
    flags.add({.names = {"--emit"},
               .value = "FILE",
               .help = "write a plan as a file for --plan of train, launch, trace, show and simulate",
               .fallback = "none",
               .group = "output"});
    flags.add({.names = {"--emit-rank"},
               .value = "N",
               .help = "which of the listed plans --emit writes",
               .fallback = "1, the best",
               .group = "output"});
    flags.add(
        {.names = {"--pareto", "--output", "-o"},
         .value = "FILE.html",
         .help = "draw time against money as a page: the fastest plan on each part of the cluster, and those "
                 "that no other beats in both: p.html",
         .fallback = "none",
         .group = "output"});
    flags.add({.names = {"--all"},
               .value = "FILE",
               .help = "write every plan that was evaluated as CSV",
               .fallback = "none",
               .group = "output"});
    flags.add({.names = {"--effort"},
               .value = "N",
               .help = "work for the proof that nothing is better: N times the usual gives a narrower gap; 0 "
                       "goes on until all is proven",
               .fallback = format("{}", kDefaultEffort),
               .group = "output"});
    flags.add({.names = {"--threads"},
               .value = "N",
               .help = "threads that search; the answer does not depend on it",
               .fallback = "one per core",
               .group = "output"});
    add_oversubscribe_flag(flags, "output");
    flags.add({.names = {"--force"}, .help = "overwrite files that exist", .group = "output"});
    flags.add({.names = {"--json"}, .help = "print JSON: see docs/json.md", .group = "output"});
    add_question_flags(flags);
    flags.show_first({"--cluster", "--global-batch-size", "--top", "--objective", "--budget", "--deadline",
                      "--explain", "--emit", "--pareto", "--fleet", "--json"});
  }

  void run(const Flags& flags, Console& console) const override {
    check_files(flags);
    if (flags.given("--fleet"))
      plan_fleet(flags, console);
    else
      plan_cluster(flags, console);
  }

 private:
  static void plan_cluster(const Flags& flags, Console& console) {
    Cluster cluster = wanted_cluster(flags, "no hardware to plan for");
    if (const auto ranks = flags.integer("--ranks"))
      cluster = cluster.for_ranks(static_cast<std::int32_t>(std::min<std::int64_t>(*ranks, 1 << 30)));
    const PlanQuestion question = resolve_question(flags, std::move(cluster), console);
    const SimulatedWork work = question_work(question);
    WatchedSearch search(question, search_options(flags), console);
    if (const auto path = flags.text("--all")) search.write_all(*path, overwriting(flags));
    const PlanAnswer answer = search_plans(question, search.options());
    search.finish();
    if (answer.plans.empty() && answer.stopped) throw Interrupted{};
    if (answer.plans.empty()) refuse_infeasible(question, answer);
    PlanView view{.question = question, .answer = answer, .work = work};
    if (flags.given("--pareto")) draw_front(flags, view, console);
    report(flags, view, search.options().stop, console);
  }

  static void plan_fleet(const Flags& flags, Console& console) {
    for (const std::string_view flag : {"--cluster", "--ranks"})
      if (flags.given(flag)) throw usage_error(format("--fleet and {} contradict each other", flag));
    const Fleet fleet = read_fleet(*flags.text("--fleet"));
    const PlanQuestion question = resolve_question(flags, fleet.cluster, console);
    WatchedSearch search(question, search_options(flags), console);
    if (const auto path = flags.text("--all")) search.write_all(*path, overwriting(flags));
    SearchOptions options = search.options();
    // The one who wants to see every plan has asked for enough.
    options.proves_front = !flags.given("--all");
    const FleetAnswer found = search_fleet(by_time(question), fleet, options);
    search.finish();
    if (found.points.empty() && found.stopped) throw Interrupted{};
    if (found.points.empty())
      refuse_infeasible(question, search_plans(question, {.top = 1, .stop = search.options().stop}));
    PlanAnswer answer;
    answer.evaluated = found.evaluated;
    answer.stopped = found.stopped;
    ConfirmedFront front = front_of_fleet(question, found, {}, console);
    answer.plans = front.best;
    answer.plans.insert(answer.plans.end(), front.behind.begin(), front.behind.end());
    rank_by_objective(question, answer.plans, wanted_top(flags));
    for (const RankedPlan& plan : answer.plans) answer.simulated += plan.simulated ? 1 : 0;
    PlanView view{.question = question,
                  .answer = answer,
                  .work = question_work(question),
                  .front = std::move(front.best),
                  .of_fleet = true,
                  .subclusters = found.subclusters,
                  .front_gap = gap_of_front(found)};
    if (flags.given("--pareto"))
      write_pareto(flags, view, std::move(front.behind), fleet_note(found), console);
    report(flags, view, search.options().stop, console);
  }

  // Prints and writes what was asked for.
  static void report(const Flags& flags, PlanView& view, const std::function<bool()>& stop,
                     Console& console) {
    view.layer_times = flags.text("--layer-times").value_or("");
    std::optional<PlanExplanation> why;
    if (const auto place = wanted_place(flags, "--explain"); place && !view.answer.stopped) {
      why = explain_plan(view.question, plan_at(view.answer, "--explain", *place), stop);
      view.explanation = &*why;
      view.explained = *place;
      view.megatron = megatron_text(flags, view.question, why->plan);
    }
    if (flags.given("--json"))
      console.out << dump_json(plan_report_json(view));
    else
      print_plans(view, console.out, style_for(console));
    emit(flags, view.question, view.answer, console);
    if (view.answer.stopped || console.interrupted()) throw Interrupted{};
  }

  // On given nodes money goes with time: the front of all plans is that of the fastest on each part of the
  // cluster.
  static void draw_front(const Flags& flags, PlanView& view, Console& console) {
    const PlanQuestion& question = view.question;
    if (!view.answer.plans[0].estimate.dollars_per_step)
      throw usage_error(format("--pareto: nodes of {} have no price", question.cluster.name),
                        "\"price\": \"9.77 $/h\" of a node in the cluster file gives it one");
    const Fleet parts = parts_of(question.cluster, kMostParts);
    WatchedSearch search(question, search_options(flags), console);
    const FleetAnswer found = search_fleet(by_time(question), parts, search.options());
    search.finish();
    ConfirmedFront front = front_of_fleet(question, found, view.answer.plans, console);
    view.front = std::move(front.best);
    std::string note = fleet_note(found);
    for (const FleetChoice& choice : parts.choices)
      if (choice.step > 1)
        note += format(" Of {}, every {} nodes were looked at.",
                       question.cluster.kinds[static_cast<std::size_t>(choice.kind)].name, choice.step);
    if (note.find(" were looked at.") != std::string::npos) console.info() << "note: " << note << "\n";
    write_pareto(flags, view, std::move(front.behind), note, console);
  }

  static void emit(const Flags& flags, const PlanQuestion& question, const PlanAnswer& answer,
                   Console& console) {
    const auto path = flags.text("--emit");
    if (!path) return;
    const RankedPlan& plan = plan_at(answer, "--emit-rank", wanted_place(flags, "--emit-rank").value_or(1));
    if (flags.given("--fleet"))
      write_atomically(cluster_beside(*path), cluster_text(question.cluster), overwriting(flags));
    write_plan_file(file_of(flags, question, plan), *path, overwriting(flags));
    console.info() << format("plan: {}\n", *path);
  }
};

}  // namespace

std::unique_ptr<Command> make_plan_command() {
  return std::make_unique<PlanCommand>();
}

}  // namespace nadi::inline show
