// nadi simulate
#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/parse_duration.h"
#include "nadi/cli/cluster_flag.h"
#include "nadi/cli/slow_flag.h"
#include "nadi/cli/step_flags.h"
#include "nadi/cluster/what_if.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/parallel/stage_programs.h"
#include "nadi/report/simulation_report.h"
#include "nadi/sim/network_schedule.h"
#include "nadi/sim/simulation.h"
#include "nadi/terminal/console.h"

namespace nadi {
namespace {

constexpr std::uint64_t kDefaultJitterSeed = 1;

Cluster wanted_cluster(const Flags& flags) {
  if (auto cluster = given_cluster(flags)) return *std::move(cluster);
  throw usage_error("no hardware to simulate", "name it with --cluster; 'nadi clusters' lists what is known");
}

std::vector<SlowRank> slow_ranks(const Flags& flags, std::int64_t ranks) {
  std::vector<SlowRank> slow;
  if (const auto list = flags.text("--slow"))
    for (const auto& [rank, factor] : slow_ranks_of("--slow", *list, static_cast<int>(ranks)))
      slow.push_back({.rank = Rank{rank}, .factor = factor});
  return slow;
}

SimulationOptions simulation_options(const Flags& flags, std::int64_t ranks) {
  SimulationOptions options;
  if (const auto choice = flags.choice("--network")) options.network = static_cast<NetworkDetail>(*choice);
  if (const auto choice = flags.choice("--collective"))
    options.collective = static_cast<CollectiveAlgorithm>(*choice);
  options.symmetry = !flags.given("--no-symmetry");
  options.slow = slow_ranks(flags, ranks);
  if (flags.given("--seed") && !flags.given("--jitter"))
    throw usage_error("--seed makes no sense without --jitter");
  options.jitter = {
      .deviation = flags.number("--jitter", 1).value_or(0),
      .seed = static_cast<std::uint64_t>(flags.integer("--seed", 0).value_or(kDefaultJitterSeed))};
  return options;
}

std::optional<Nanoseconds> measured_time(const Flags& flags) {
  const auto text = flags.text("--measured");
  if (!text) return std::nullopt;
  const auto time = parse_duration(*text);
  if (!time || time->count() == 0)
    throw usage_error(format("--measured: '{}' is no duration", *text), "for example 1.4s, or 930ms");
  return time;
}

void check_ranks(std::int64_t ranks, const Cluster& cluster) {
  if (ranks > cluster.device_count())
    throw Error(ErrorKind::kInfeasible, {},
                format("{} ranks need as many devices, and {} has {}", with_thousands(ranks), cluster.name,
                       with_thousands(cluster.device_count())),
                "take a larger cluster ('dgx-h100x128' has 128 nodes), or a plan of fewer ranks");
}

void simulate_model(const Flags& flags, Console& console) {
  const ResolvedStep step = resolve_step(flags, console);
  const std::int64_t ranks = step.plan.world_size();
  Cluster cluster = wanted_cluster(flags).for_ranks(static_cast<std::int32_t>(ranks));
  check_ranks(ranks, cluster);
  const std::optional<Nanoseconds> measured = measured_time(flags);
  SimulationOptions options = simulation_options(flags, ranks);
  const StagePrograms programs(step.config, step.request, step.plan);
  const SimulationResult result = simulate_step(programs, cluster, options);
  const StepWork work = step_work(step);
  SimulationView view{.subject = step.config.name,
                      .cluster = cluster,
                      .result = result,
                      .step = &step,
                      .figures = simulation_figures(result, cluster, &work),
                      .measured = measured};
  for (const std::string& change : flags.texts("--what-if")) {
    Cluster other = cluster;
    apply_what_if(other, change);
    const SimulationResult changed = simulate_step(programs, other, options);
    view.what_if.push_back({.change = change,
                            .iteration_time = changed.iteration_time,
                            .dollars_per_step = simulation_figures(changed, other, &work).dollars_per_step});
  }
  if (const std::string problem = out_of_memory_text(view); !problem.empty())
    console.warnings() << "warning: " << problem << "\n";
  if (flags.given("--json"))
    console.out << dump_json(simulation_json(view));
  else
    print_simulation(view, console.out, style_for(console));
}

class SimulateCommand : public Command {
 public:
  void add_flags(Flags& flags) const override {
    flags.set_positional({.name = "MODEL|TRACE...",
                          .help = "a built-in model (see 'nadi models'), a config.json, a checkpoint folder; "
                                  "or Chakra traces of the ranks of a run, ours or others'",
                          .many = true});
    add_cluster_flag(flags, "the hardware", "required");
    flags.add({.names = {"--network"},
               .value = "DETAIL",
               .help = "analytical: closed forms; flow: whatever is under way at the same time shares links",
               .fallback = "analytical",
               .choices = {to_string(NetworkDetail::kAnalytical), to_string(NetworkDetail::kFlow)},
               .group = "hardware"});
    flags.add({.names = {"--collective"},
               .value = "ALGORITHM",
               .help = "how collectives run; auto: the fastest, as NCCL chooses",
               .fallback = "auto",
               .choices = collective_algorithm_names(),
               .group = "hardware"});
    flags.add({.names = {"--what-if"},
               .value = "CHANGE",
               .help = "simulate again with this change of the cluster, as link.nvlink.bandwidth=2x or "
                       "device.a10.memory_bandwidth=1TB/s; may be given several times",
               .fallback = "none",
               .group = "hardware",
               .repeatable = true});
    flags.add({.names = {"--slow"},
               .value = "LIST",
               .help = "ranks that compute more slowly: rank=3:1.2x,rank=5:2x",
               .fallback = "none",
               .group = "faults and variety"});
    flags.add({.names = {"--jitter"},
               .value = "SHARE",
               .help = "standard deviation of the time of every op, as a share of it: 0.05",
               .fallback = "0",
               .group = "faults and variety"});
    flags.add({.names = {"--seed"},
               .value = "N",
               .help = "of --jitter: the same seed gives the same times",
               .fallback = format("{}", kDefaultJitterSeed),
               .group = "faults and variety"});
    flags.add({.names = {"--no-symmetry"},
               .help = "simulate every rank, also those that do the same at the same time",
               .group = "output"});
    flags.add({.names = {"--measured"},
               .value = "TIME",
               .help = "what an iteration took in reality, as 1.4s: the error is shown",
               .fallback = "none",
               .group = "output"});
    flags.add({.names = {"--json"}, .help = "print JSON: see docs/json.md", .group = "output"});
    add_step_flags(flags);
    flags.show_first(
        {"--cluster", "--what-if", "--network", "--collective", "--slow", "--measured", "--json"});
  }

  void run(const Flags& flags, Console& console) const override { simulate_model(flags, console); }
};

}  // namespace

std::unique_ptr<Command> make_simulate_command() {
  return std::make_unique<SimulateCommand>();
}

}  // namespace nadi
