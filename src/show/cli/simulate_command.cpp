// nadi simulate
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/parse_duration.h"
#include "nadi/cli/cluster_flag.h"
#include "nadi/cli/html_flag.h"
#include "nadi/cli/max_memory_flag.h"
#include "nadi/cli/plan_file_flag.h"
#include "nadi/cli/prediction_flags.h"
#include "nadi/cli/slow_flag.h"
#include "nadi/cli/step_flags.h"
#include "nadi/cli/strict_flag.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/draw/answer_page.h"
#include "nadi/draw/timeline_from_simulation.h"
#include "nadi/draw/timeline_page.h"
#include "nadi/prediction/plan_file_answer.h"
#include "nadi/prediction/simulation_question.h"
#include "nadi/report/simulation_report.h"
#include "nadi/sim/network_fault.h"
#include "nadi/sim/simulated_files.h"
#include "nadi/sim/simulated_traces.h"
#include "nadi/sim/simulation.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/progress_line.h"
#include "nadi/trace/file_patterns.h"

namespace nadi::inline show {
namespace {

std::vector<SlowRank> slow_ranks(const Flags& flags, std::int64_t ranks) {
  std::vector<SlowRank> slow;
  if (const auto list = flags.text("--slow"))
    for (const auto& [rank, factor] : slow_ranks_of("--slow", *list, static_cast<int>(ranks)))
      slow.push_back({.rank = Rank{rank}, .factor = factor});
  return slow;
}

void fill_conditions(const Flags& flags, std::int64_t ranks, SimulationConditions& conditions) {
  if (const auto choice = flags.choice("--network")) conditions.network = static_cast<NetworkDetail>(*choice);
  for (const std::string& link : flags.texts("--fail-link"))
    conditions.faults.push_back(parse_link_fault(link));
  conditions.symmetry = !flags.given("--no-symmetry");
  conditions.slow = slow_ranks(flags, ranks);
  if (flags.given("--seed") && !flags.given("--jitter"))
    throw usage_error("--seed needs --jitter", "without jitter nothing is random");
  Jitter& jitter = conditions.jitter;
  jitter.deviation = flags.number("--jitter", 1).value_or(jitter.deviation);
  if (const auto seed = flags.integer("--seed", 0)) jitter.seed = static_cast<std::uint64_t>(*seed);
  conditions.what_if = flags.texts("--what-if");
}

std::optional<Nanoseconds> measured_time(const Flags& flags) {
  const auto text = flags.text("--measured");
  if (!text) return std::nullopt;
  const auto time = parse_duration(*text);
  if (!time || time->count() == 0)
    throw usage_error(format("--measured: '{}' is no duration", *text), "for example 1.4s, or 930ms");
  return time;
}

// What was simulated, and how its files are written.
struct Subject {
  std::function<SimulatedFileReport(const std::string& prefix, Overwrite)> write_traces;
  std::function<void(TimelineView&)> draw;
};

Overwrite overwrite_of(const Flags& flags) {
  return flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse;
}

SimulatedFileOptions file_options(Overwrite overwrite, Console& console) {
  // A function may be copied: all its copies share the line.
  const auto line = std::make_shared<ProgressLine>(console, "traces", steady_clock());
  return {.overwrite = overwrite,
          .progress = [line](std::int64_t done, std::int64_t total) { line->update(done, total); }};
}

void check_outputs(const Flags& flags) {
  const auto page = html_path(flags);
  if (flags.given("--force") && !flags.given("--timeline") && !flags.given("--et-out") && !page)
    throw usage_error("--force needs --timeline, --html or --et-out",
                      "it overwrites the files that they write");
  const auto timeline = flags.text("--timeline");
  if (timeline && !timeline->ends_with(".html"))
    throw usage_error(format("--timeline writes a page, and '{}' does not end in .html", *timeline));
  if (timeline && overwrite_of(flags) == Overwrite::kRefuse) refuse_existing(*timeline);
}

void write_outputs(const Subject& subject, const SimulationView& view, const Flags& flags, Console& console) {
  if (const auto prefix = flags.text("--et-out")) {
    // Not ended from outside: temporaries would stay.
    const Interruption::Hold hold(console.interruption, "writing the predicted traces");
    const SimulatedFileReport written = subject.write_traces(*prefix, overwrite_of(flags));
    console.info() << format("{} predicted trace{}: {}.0.et{}\n", with_thousands(written.files),
                             written.files == 1 ? "" : "s", *prefix, written.files == 1 ? "" : ", ...");
  }
  if (const auto page = flags.text("--timeline")) {
    TimelineView timeline;
    subject.draw(timeline);
    timeline.title = view.subject;
    timeline.subtitle = format("predicted: {}", to_string(view.result.iteration_time));
    write_timeline_page(timeline, *page, overwrite_of(flags));
    console.info() << format("timeline: {}\n", *page);
  }
  if (const auto page = flags.text("--html")) {
    write_answer_page(simulation_page(view), *page, overwrite_of(flags));
    console.info() << format("page: {}\n", *page);
  }
}

void report(const Subject& subject, const SimulationView& view, const Flags& flags, Console& console) {
  if (const std::string problem = out_of_memory_text(view); !problem.empty())
    console.warnings() << "warning: " << problem << "\n";
  if (const std::string note = few_micro_batches_text(view); !note.empty())
    console.info() << "note: " << note << "\n";
  write_outputs(subject, view, flags, console);
  if (flags.given("--json"))
    console.out << dump_json(simulation_json(view));
  else
    print_simulation(view, console.out, style_for(console));
}

// --cluster, else that of the plan file, with the places of its ranks there.
void use_cluster_of_plan(const PlannedFlags& planned, SimulationQuestion& question, Console& console) {
  if (!planned.file || planned.flags.given("--cluster") || planned.file->cluster.empty()) return;
  question.placement = placed_devices(*planned.file);
  question.on.hardware = cluster_of_plan(*planned.file, planned.path);
  for (const std::string& note : placement_notes(*planned.file, planned.path, false))
    console.info() << "note: " << note << "\n";
}

void simulate_model(const PlannedFlags& planned, Console& console) {
  const Flags& flags = planned.flags;
  for (const std::string_view flag :
       {"--durations", "--ranks", "--degrees", "--recorded-on", "--lenient", "--strict", "--max-memory"})
    if (flags.given(flag))
      throw usage_error(format("{} is for traces, and '{}' is a model", flag, flags.positional()));
  SimulationQuestion question{.step = step_question(flags), .on = prediction_question(flags)};
  if (question.step.kind != StepKind::kTrain)
    for (const std::string_view flag : {"--grad-reduce-dtype", "--framework"})
      if (flags.given(flag))
        throw usage_error(format("{} does not apply to --step {}", flag, to_string(question.step.kind)),
                          flag == "--framework" ? "what frameworks do differently is known of --step train"
                                                : "gradients are reduced in --step train");
  fill_conditions(flags, question.step.plan.world_size(), question.conditions);
  use_cluster_of_plan(planned, question, console);
  const std::optional<Nanoseconds> measured = measured_time(flags);
  check_outputs(flags);
  ResolvedSimulation asked = resolve(question);
  note_step(asked.step, console);
  const SimulationAnswer answer = simulate(std::move(asked));
  SimulationView view = view_of(answer);
  view.measured = measured;
  report({.write_traces =
              [&](const std::string& prefix, Overwrite overwrite) {
                return write_predicted_traces(answer, prefix, file_options(overwrite, console));
              },
          .draw =
              [&](TimelineView& drawn) {
                timeline_from_simulated_step(drawn, *answer.programs, answer.result, {});
              }},
         view, flags, console);
}

void simulate_trace_files(const Flags& flags, Console& console) {
  if (const auto of_models = given_step_flags(flags); !of_models.empty())
    throw usage_error(format("{} is for models, and '{}' is a trace", of_models[0], flags.positionals()[0]));
  for (const std::string_view flag : {"--layer-times", "--grad-reduce-dtype", "--framework"})
    if (flags.given(flag))
      throw usage_error(format("{} is for models, and '{}' is a trace", flag, flags.positionals()[0]));
  const std::vector<std::filesystem::path> paths = expand_traces(flags.positionals());
  const RunReadingOptions quiet{.memory = memory_limit_of(flags),
                                .lenient = flags.given("--lenient"),
                                .strict = flags.given("--strict"),
                                .progress = [&](Bytes, Bytes) { console.check_interrupted(); }};
  RunReadingOptions reading = quiet;
  std::optional<ProgressLine> progress(std::in_place, console, "MB of traces", steady_clock());
  reading.progress = [&](Bytes done, Bytes total) { progress->update(done, total); };
  reading.note = [&](const std::string& text) { console.info() << "note: " << text << "\n"; };
  const TraceSet set = read_trace_set(paths, reading);
  progress.reset();
  TraceSimulationQuestion question{.files = flags.positionals(),
                                   .on = prediction_question(flags),
                                   .ranks = flags.integer("--ranks"),
                                   .degrees = flags.text("--degrees").value_or(""),
                                   .recorded_on = flags.text("--recorded-on").value_or("")};
  if (const auto choice = flags.choice("--durations"))
    question.durations = static_cast<TraceDurations>(*choice);
  fill_conditions(flags, question.ranks.value_or(recorded_ranks(set)), question.conditions);
  const std::optional<Nanoseconds> measured = measured_time(flags);
  check_outputs(flags);
  const TraceSimulationAnswer answer = simulate(set, question);
  SimulationView view = view_of(answer);
  view.measured = measured;
  report({.write_traces =
              [&](const std::string& prefix, Overwrite overwrite) {
                return write_simulated_traces(paths, quiet, answer.result, prefix,
                                              file_options(overwrite, console));
              },
          .draw =
              [&](TimelineView& drawn) {
                timeline_from_simulated_traces(drawn, paths, quiet, answer.result,
                                               {.recorded = set.has_times()});
              }},
         view, flags, console);
}

}  // namespace

void add_simulate_flags(Flags& flags) {
  flags.set_positional({.name = "MODEL|TRACE...",
                        .help = "a built-in model (see 'nadi models'), a config.json, a checkpoint folder; "
                                "or Chakra traces of the ranks of a run, ours or others'",
                        .many = true,
                        .fallback = "that of --plan"});
  add_cluster_flag(flags, "the hardware", "required");
  FlagHeading hardware(flags, "hardware");
  hardware.value("--network", "DETAIL",
                 "analytical: closed forms; flow: whatever is under way at the same time shares links",
                 "analytical",
                 {.choices = {to_string(NetworkDetail::kAnalytical), to_string(NetworkDetail::kFlow)}});
  add_prediction_flags(flags);
  hardware.value("--what-if", "CHANGE",
                 "simulate again with this change of the cluster, as link.nvlink.bandwidth=2x or "
                 "device.a10.memory_bandwidth=1TB/s; may be given several times",
                 "none", {.repeatable = true});
  FlagHeading faults(flags, "faults and variety");
  faults.value("--slow", "LIST", "ranks that compute more slowly: rank=3:1.2x,rank=5:2x", "none");
  faults.value("--fail-link", "LINK",
               "a link that has failed, or has a part of its bandwidth: node3, node3.up:0.5x, device5; may "
               "be given several times",
               "none", {.repeatable = true});
  faults.value("--jitter", "SHARE", "standard deviation of the time of every op, as a share of it: 0.05",
               "0");
  faults.value("--seed", "N", "of --jitter: the same seed gives the same times", format("{}", Jitter{}.seed));
  FlagHeading traces(flags, "traces");
  traces.toggle("--lenient", "skip damaged records");
  add_strict_flag(flags, "traces");
  add_max_memory_flag(flags, "traces");
  traces.value("--durations", "WHICH",
               "of computation in traces: recorded, where they have times, or those of the model",
               "recorded; model with --recorded-on another device",
               {.choices = {to_string(TraceDurations::kRecorded), to_string(TraceDurations::kModel)}});
  traces.value("--recorded-on", "DEVICE",
               "what the traces were recorded on: ops of unknown shape are scaled by the devices' ratio",
               "not known");
  traces.value("--ranks", "N",
               "so many ranks run the traces: more or fewer data-parallel replicas of the recorded run",
               "those of the traces");
  traces.value("--degrees", "LIST", "of the recorded run, for --ranks: tp=2,pp=4; also cp, dp and ep",
               "what the traces say");
  FlagHeading output(flags, "output");
  output.toggle("--no-symmetry", "simulate every rank, also those that do the same at the same time");
  output.value({"--timeline", "--output", "-o"}, "FILE.html",
               "also draw when each rank does what, as a page: t.html", "none");
  add_html_flag(
      flags, "output",
      "also as a page: memory over the step by stage, where time went, what goes through each link");
  output.value("--et-out", "PREFIX", "also write predicted Chakra traces: PREFIX.0.et and so on", "none");
  output.toggle("--force", "overwrite files that exist");
  output.value("--measured", "TIME", "what an iteration took in reality, as 1.4s: the error is shown",
               "none");
  output.toggle("--json", "print JSON: see docs/json.md");
  add_step_flags(flags);
  flags.show_first({"--cluster", "--what-if", "--network", "--collective", "--slow", "--measured", "--json"});
}

void run_simulate(const Flags& flags, Console& console) {
  const PlannedFlags planned = with_plan_file(flags);
  if (!planned.file && name_traces(flags.positionals()))
    simulate_trace_files(flags, console);
  else
    simulate_model(planned, console);
}

}  // namespace nadi::inline show
