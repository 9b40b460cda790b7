// nadi simulate
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/base/parse_duration.h"
#include "nadi/chakra/trace_summary.h"
#include "nadi/cli/cluster_flag.h"
#include "nadi/cli/computation_choices.h"
#include "nadi/cli/max_memory_flag.h"
#include "nadi/cli/plan_file_flag.h"
#include "nadi/cli/prediction_flags.h"
#include "nadi/cli/slow_flag.h"
#include "nadi/cli/step_flags.h"
#include "nadi/cli/step_metadata.h"
#include "nadi/cli/strict_flag.h"
#include "nadi/cluster/catalogue.h"
#include "nadi/cluster/what_if.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/draw/timeline_from_simulation.h"
#include "nadi/draw/timeline_page.h"
#include "nadi/model/catalogue.h"
#include "nadi/parallel/model_parameters.h"
#include "nadi/parallel/stage_programs.h"
#include "nadi/report/simulation_report.h"
#include "nadi/report/step_json.h"
#include "nadi/sim/framework.h"
#include "nadi/sim/layer_times.h"
#include "nadi/sim/network_fault.h"
#include "nadi/sim/simulated_files.h"
#include "nadi/sim/simulated_traces.h"
#include "nadi/sim/simulation.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/progress_line.h"
#include "nadi/trace/file_patterns.h"

namespace nadi::inline show {
namespace {

constexpr std::uint64_t kDefaultJitterSeed = 1;

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
  options.collective = given_collective(flags);
  for (const std::string& link : flags.texts("--fail-link")) options.faults.push_back(parse_link_fault(link));
  options.symmetry = !flags.given("--no-symmetry");
  options.slow = slow_ranks(flags, ranks);
  if (flags.given("--seed") && !flags.given("--jitter"))
    throw usage_error("--seed needs --jitter", "without jitter nothing is random");
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

// What is simulated, on any cluster.
struct Subject {
  std::string name;
  std::int64_t ranks = 0;
  const ResolvedStep* step = nullptr;  // nullptr means of traces
  std::optional<SimulatedWork> work = {};
  std::function<SimulationResult(const Cluster&)> simulate;
  std::function<SimulatedFileReport(const SimulationResult&, const std::string& prefix, Overwrite)>
      write_traces;
  std::function<void(const SimulationResult&, TimelineView&)> draw;
  std::string layer_times = {};
  std::optional<DType> gradient_dtype = {};
  std::vector<DeviceId> placement = {};  // by rank; empty means rank r on device r
  const Framework* framework = nullptr;
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
  if (flags.given("--force") && !flags.given("--timeline") && !flags.given("--et-out"))
    throw usage_error("--force needs --timeline or --et-out", "it overwrites the files that they write");
  const auto timeline = flags.text("--timeline");
  if (timeline && !timeline->ends_with(".html"))
    throw usage_error(format("--timeline writes a page, and '{}' does not end in .html", *timeline));
  if (timeline && overwrite_of(flags) == Overwrite::kRefuse) refuse_existing(*timeline);
}

void write_outputs(const Subject& subject, const SimulationResult& result, const Flags& flags,
                   Console& console) {
  if (const auto prefix = flags.text("--et-out")) {
    // Not ended from outside: temporaries would stay.
    const Interruption::Hold hold(console.interruption, "writing the predicted traces");
    const SimulatedFileReport written = subject.write_traces(result, *prefix, overwrite_of(flags));
    console.info() << format("{} predicted trace{}: {}.0.et{}\n", with_thousands(written.files),
                             written.files == 1 ? "" : "s", *prefix, written.files == 1 ? "" : ", ...");
  }
  if (const auto page = flags.text("--timeline")) {
    TimelineView view;
    subject.draw(result, view);
    view.title = subject.name;
    view.subtitle = format("predicted: {}", to_string(result.iteration_time));
    write_timeline_page(view, *page, overwrite_of(flags));
    console.info() << format("timeline: {}\n", *page);
  }
}

void simulate_and_print(const Subject& subject, const Cluster& cluster, const Flags& flags,
                        Console& console) {
  const SimulatedWork* const work = subject.work ? &*subject.work : nullptr;
  const std::optional<Nanoseconds> measured = measured_time(flags);
  check_outputs(flags);
  const SimulationResult result = subject.simulate(cluster);
  SimulationView view{.subject = subject.name,
                      .cluster = cluster,
                      .result = result,
                      .step = subject.step,
                      .figures = simulation_figures(result, cluster, work, subject.placement),
                      .layer_times = subject.layer_times,
                      .gradient_dtype = subject.gradient_dtype,
                      .framework = subject.framework,
                      .measured = measured};
  for (const std::string& change : flags.texts("--what-if")) {
    Cluster other = cluster;
    apply_what_if(other, change);
    const SimulationResult changed = subject.simulate(other);
    view.what_if.push_back(
        {.change = change,
         .iteration_time = changed.iteration_time,
         .dollars_per_step = simulation_figures(changed, other, work, subject.placement).dollars_per_step});
  }
  if (const std::string problem = out_of_memory_text(view); !problem.empty())
    console.warnings() << "warning: " << problem << "\n";
  if (const std::string note = few_micro_batches_text(view); !note.empty())
    console.info() << "note: " << note << "\n";
  write_outputs(subject, result, flags, console);
  if (flags.given("--json"))
    console.out << dump_json(simulation_json(view));
  else
    print_simulation(view, console.out, style_for(console));
}

// --cluster, else that of the plan file, with the places of its ranks there.
Cluster cluster_for(const PlannedFlags& planned, std::int64_t ranks, std::vector<DeviceId>& placement) {
  const bool of_plan = planned.file && !planned.flags.given("--cluster") && !planned.file->cluster.empty();
  if (of_plan) {
    placement = placed_devices(*planned.file);
    return *cluster_of_plan(*planned.file, planned.path);
  }
  const Cluster cluster = wanted_cluster(planned.flags, "no hardware to simulate");
  return cluster.for_ranks(static_cast<std::int32_t>(ranks));
}

std::vector<std::string_view> framework_names() {
  std::vector<std::string_view> names;
  for (const Framework& framework : frameworks()) names.push_back(framework.name);
  return names;
}

// What frameworks do differently is known of training only.
const Framework& wanted_framework(const Flags& flags, StepKind kind) {
  const auto choice = flags.choice("--framework");
  if (choice && kind != StepKind::kTrain)
    throw usage_error(format("--framework does not apply to --step {}", to_string(kind)),
                      "what frameworks do differently is known of --step train");
  return frameworks()[choice.value_or(0)];
}

// --attention, else that of --framework, else what runs on the cluster; a plan file says it itself.
void use_default_attention(const PlannedFlags& planned, const Framework& framework, const Cluster& cluster,
                           ResolvedStep& step) {
  const bool named = planned.flags.given("--framework");
  if (planned.flags.given("--attention") || step.request.kind != StepKind::kTrain) return;
  if (planned.file && !named) return;
  const bool fused = named ? framework.fused_attention : cluster.attention != "unfused";
  step.request.fused_attention = fused;
  for (Setting& setting : step.settings)
    if (setting.key == "attention") setting.value = attention_name(fused);
}

void simulate_model(const PlannedFlags& planned, Console& console) {
  const Flags& flags = planned.flags;
  for (const std::string_view flag :
       {"--durations", "--ranks", "--degrees", "--recorded-on", "--lenient", "--strict", "--max-memory"})
    if (flags.given(flag))
      throw usage_error(format("{} is for traces, and '{}' is a model", flag, flags.positional()));
  ResolvedStep step = resolve_step(flags, console);
  const bool trains = step.request.kind == StepKind::kTrain;
  if (flags.given("--grad-reduce-dtype") && !trains)
    throw usage_error(format("--grad-reduce-dtype does not apply to --step {}", to_string(step.request.kind)),
                      "gradients are reduced in --step train");
  const std::int64_t ranks = step.plan.world_size();
  std::vector<DeviceId> placement;
  const Cluster cluster = cluster_for(planned, ranks, placement);
  check_ranks(ranks, cluster);
  if (!placement.empty())
    for (const std::string& note : placement_notes(*planned.file, planned.path, false))
      console.info() << "note: " << note << "\n";
  use_default_dtype(flags, cluster, ranks, step);
  SimulationOptions options = simulation_options(flags, ranks);
  options.placement = placement;
  const Framework& framework = wanted_framework(flags, step.request.kind);
  use_default_attention(planned, framework, cluster, step);
  options.overlap = framework.overlap;
  if (trains) options.overlap.gradient_dtype = gradient_dtype(flags, step.request);
  const std::string layer_times = flags.text("--layer-times").value_or("");
  if (!layer_times.empty())
    options.retime = LayerTimes::read(layer_times).retime(step.config, step.request, step.plan);
  const StagePrograms programs(step.config, step.request, step.plan);
  simulate_and_print(
      {.name = step.config.name,
       .ranks = ranks,
       .step = &step,
       .work = step_work(step),
       .simulate = [&](const Cluster& on) { return simulate_step(programs, on, options); },
       .write_traces =
           [&](const SimulationResult& result, const std::string& prefix, Overwrite overwrite) {
             SimulatedFileOptions options = file_options(overwrite, console);
             options.metadata = step_metadata(resolved_json(step, model_parameters(step.config)));
             const DeviceSpec& device = cluster.device(DeviceId{0});
             options.metadata.emplace_back("device_kind", device.type == DeviceType::kGpu ? "GPU" : "CPU");
             options.metadata.emplace_back("device_name", device.product);
             return write_simulated_step(programs, result, prefix, options);
           },
       .draw = [&](const SimulationResult& result,
                   TimelineView& view) { timeline_from_simulated_step(view, programs, result, {}); },
       .layer_times = layer_times,
       .gradient_dtype = options.overlap.gradient_dtype,
       .placement = placement,
       .framework = trains ? &framework : nullptr},
      cluster, flags, console);
}

const DeviceSpec* recorded_device(const Flags& flags) {
  const auto name = flags.text("--recorded-on");
  if (!name) return nullptr;
  if (const DeviceSpec* device = find_device(*name)) return device;
  std::vector<std::string> known;
  for (const DeviceSpec& device : catalogue_devices()) known.push_back(device.name);
  throw usage_error(format("--recorded-on: unknown device '{}'", *name), did_you_mean(*name, known));
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
  TraceSimulationOptions traces{.ranks = flags.integer("--ranks"), .recorded_on = recorded_device(flags)};
  if (const auto degrees = flags.text("--degrees")) {
    if (!traces.ranks) throw usage_error("--degrees needs --ranks", "it says how the recorded run is scaled");
    traces.degrees = parse_trace_degrees(*degrees, set.traces().empty() ? 1 : set.traces().back().rank + 1);
  }
  const std::int64_t ranks = traces.ranks.value_or(set.traces().empty() ? 1 : set.traces().back().rank + 1);
  const Cluster cluster =
      wanted_cluster(flags, "no hardware to simulate").for_ranks(static_cast<std::int32_t>(ranks));
  check_ranks(ranks, cluster);
  // What was recorded on one device says nothing of another's time.
  const bool other_device =
      traces.recorded_on != nullptr && traces.recorded_on->name != cluster.device(DeviceId{0}).name;
  traces.durations = other_device ? TraceDurations::kModel : TraceDurations::kRecorded;
  if (const auto choice = flags.choice("--durations"))
    traces.durations = static_cast<TraceDurations>(*choice);
  const SimulationOptions options = simulation_options(flags, ranks);
  const std::size_t files = set.traces().size();
  simulate_and_print(
      {.name = files == 1 ? flags.positionals()[0] : format("{} traces", files),
       .ranks = ranks,
       .simulate = [&](const Cluster& on) { return simulate_traces(set, on, options, traces); },
       .write_traces =
           [&](const SimulationResult& result, const std::string& prefix, Overwrite overwrite) {
             return write_simulated_traces(paths, quiet, result, prefix, file_options(overwrite, console));
           },
       .draw =
           [&](const SimulationResult& result, TimelineView& view) {
             timeline_from_simulated_traces(view, paths, quiet, result, {.recorded = set.has_times()});
           }},
      cluster, flags, console);
}

// One word that is no file with a trace is a model, and its mistakes are those of a model.
bool are_traces(const std::vector<std::string>& words) {
  if (words.size() > 1) return true;
  const std::string& word = words[0];
  if (find_built_in_model(word) != nullptr) return false;
  if (word.ends_with(".et") || word.find_first_of("*?[") != std::string::npos || is_trace(word)) return true;
  if (is_trace_prefix(word)) return true;
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(word, ignored);
  return is_file && kind_of_file(word) != FileKind::kModelConfig && !word.ends_with("config.json");
}

class SimulateCommand : public Command {
 public:
  void add_flags(Flags& flags) const override {
    flags.set_positional({.name = "MODEL|TRACE...",
                          .help = "a built-in model (see 'nadi models'), a config.json, a checkpoint folder; "
                                  "or Chakra traces of the ranks of a run, ours or others'",
                          .many = true,
                          .fallback = "that of --plan"});
    add_cluster_flag(flags, "the hardware", "required");
    flags.add({.names = {"--network"},
               .value = "DETAIL",
               .help = "analytical: closed forms; flow: whatever is under way at the same time shares links",
               .fallback = "analytical",
               .choices = {to_string(NetworkDetail::kAnalytical), to_string(NetworkDetail::kFlow)},
               .group = "hardware"});
    add_prediction_flags(flags);
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
    flags.add(
        {.names = {"--fail-link"},
         .value = "LINK",
         .help = "a link that has failed, or has a part of its bandwidth: node3, node3.up:0.5x, device5; may "
                 "be given several times",
         .fallback = "none",
         .group = "faults and variety",
         .repeatable = true});
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
    flags.add({.names = {"--lenient"}, .help = "skip damaged records", .group = "traces"});
    add_strict_flag(flags, "traces");
    add_max_memory_flag(flags, "traces");
    flags.add({.names = {"--durations"},
               .value = "WHICH",
               .help = "of computation in traces: recorded, where they have times, or those of the model",
               .fallback = "recorded; model with --recorded-on another device",
               .choices = {to_string(TraceDurations::kRecorded), to_string(TraceDurations::kModel)},
               .group = "traces"});
    flags.add(
        {.names = {"--recorded-on"},
         .value = "DEVICE",
         .help = "what the traces were recorded on: ops of unknown shape are scaled by the devices' ratio",
         .fallback = "not known",
         .group = "traces"});
    flags.add(
        {.names = {"--ranks"},
         .value = "N",
         .help = "so many ranks run the traces: more or fewer data-parallel replicas of the recorded run",
         .fallback = "those of the traces",
         .group = "traces"});
    flags.add({.names = {"--degrees"},
               .value = "LIST",
               .help = "of the recorded run, for --ranks: tp=2,pp=4; also cp, dp and ep",
               .fallback = "what the traces say",
               .group = "traces"});
    flags.add({.names = {"--no-symmetry"},
               .help = "simulate every rank, also those that do the same at the same time",
               .group = "output"});
    flags.add({.names = {"--timeline", "--output", "-o"},
               .value = "FILE.html",
               .help = "also draw when each rank does what, as a page: t.html",
               .fallback = "none",
               .group = "output"});
    flags.add({.names = {"--et-out"},
               .value = "PREFIX",
               .help = "also write predicted Chakra traces: PREFIX.0.et and so on",
               .fallback = "none",
               .group = "output"});
    flags.add({.names = {"--force"}, .help = "overwrite files that exist", .group = "output"});
    flags.add({.names = {"--measured"},
               .value = "TIME",
               .help = "what an iteration took in reality, as 1.4s: the error is shown",
               .fallback = "none",
               .group = "output"});
    flags.add({.names = {"--json"}, .help = "print JSON: see docs/json.md", .group = "output"});
    flags.add({.names = {"--framework"},
               .value = "NAME",
               .help = "what trains: how communication and computation run beside each other "
                       "(docs/simulation.md)",
               .fallback = std::string(frameworks()[0].name),
               .choices = framework_names(),
               .group = "training"});
    add_step_flags(flags, kPredictedDtypeFallback);
    flags.show_first(
        {"--cluster", "--what-if", "--network", "--collective", "--slow", "--measured", "--json"});
  }

  void run(const Flags& flags, Console& console) const override {
    const PlannedFlags planned = with_plan_file(flags);
    if (!planned.file && are_traces(flags.positionals()))
      simulate_trace_files(flags, console);
    else
      simulate_model(planned, console);
  }
};

}  // namespace

std::unique_ptr<Command> make_simulate_command() {
  return std::make_unique<SimulateCommand>();
}

}  // namespace nadi::inline show
