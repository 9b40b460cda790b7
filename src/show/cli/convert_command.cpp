// nadi convert
#include <array>
#include <memory>
#include <ostream>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/cli/max_memory_flag.h"
#include "nadi/cli/strict_flag.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/convert/convert_files.h"
#include "nadi/input/content_kind.h"
#include "nadi/report/convert_report.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/progress_line.h"
#include "nadi/trace/file_patterns.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> kTimeUnits{"us", "ns"};
constexpr std::array<std::string_view, 2> kGatherSizes{"part", "whole"};
constexpr std::array kTimeUnitValues{KinetoTimeUnit::kMicroseconds, KinetoTimeUnit::kNanoseconds};

void add_input_flags(Flags& flags) {
  flags.set_positional(
      {.name = "FILE...",
       .help = "profiles of PyTorch (Kineto), traces of its host, or Chakra traces (.et of any version, or "
               "JSON), plain, gzip or zstd; a pattern in quotes stands for all files that fit, one per rank; "
               "or one workload as text, of ASTRA-sim 1 or AICB",
       .many = true,
       .fallback = "--input, or --device and --host"});
  flags.add({.names = {"--input"},
             .value = "FILE...",
             .help = "the same as FILE...",
             .fallback = "none",
             .group = "input",
             .many = true});
  flags.add({.names = {"--host"},
             .value = "FILE...",
             .help = "execution traces of PyTorch's host, in the order of the profiles; without profiles "
                     "the output has no times",
             .fallback = "none",
             .group = "input",
             .many = true});
  flags.add({.names = {"--device"},
             .value = "FILE...",
             .help = "profiles of PyTorch (Kineto)",
             .fallback = "none",
             .group = "input",
             .many = true});
}

void add_workload_flags(Flags& flags) {
  flags.add({.names = {"--ranks"},
             .value = "N",
             .help = "ranks that run the workload, of one stage of a pipeline",
             .fallback = "what the file says",
             .group = "workloads as text"});
  flags.add({.names = {"--model-group"},
             .value = "N",
             .help = "ranks that share the work of a layer",
             .fallback = "what the file says",
             .group = "workloads as text"});
  flags.add({.names = {"--gather-sizes"},
             .value = "OF",
             .help =
                 "what sizes of all-gathers mean: part: what a rank puts in, as in ASTRA-sim; whole: what "
                 "comes out, as in AICB",
             .fallback = "whole where the first line has all_gpus, else part",
             .choices = {kGatherSizes.begin(), kGatherSizes.end()},
             .group = "workloads as text"});
}

LayerWorkloadOptions workload_options(const Flags& flags, const ConvertInput& input) {
  if (input.workload.empty())
    for (const std::string_view flag : {"--ranks", "--model-group", "--gather-sizes"})
      if (flags.given(flag)) throw usage_error(format("{} is for workloads as text", flag));
  LayerWorkloadOptions options{.ranks = flags.integer("--ranks", 1),
                               .model_group = flags.integer("--model-group", 1)};
  if (const auto choice = flags.choice("--gather-sizes")) options.gathers_are_whole = *choice == 1;
  return options;
}

void add_convert_output_flags(Flags& flags) {
  std::string summaries;
  std::vector<std::string_view> names;
  for (const TraceFormat& entry : trace_formats()) {
    summaries += format("{}{}: {}", summaries.empty() ? "" : "; ", entry.name, entry.summary);
    names.push_back(entry.name);
  }
  flags.add(
      {.names = {"--output"},
       .value = "OUT",
       .help =
           "a file, run.0.et, or the start of file names: run writes run.0.et and so on, one file per rank; "
           "missing folders are created",
       .fallback = "required",
       .group = "output"});
  flags.add({.names = {"--format"},
             .value = "FORMAT",
             .help = summaries,
             .fallback = std::string(trace_formats().front().name),
             .choices = names,
             .group = "output"});
  flags.add({.names = {"--force"}, .help = "overwrite files that exist", .group = "output"});
}

// A file that was given as one kind and is of the other.
void refuse_other(const std::vector<fs::path>& files, FileKind other, std::string_view is,
                  std::string_view flag) {
  for (const fs::path& file : files)
    if (content_kind(file) == other)
      throw usage_error(format("{} is {}", file.string(), is), format("give it with {}", flag));
}

ConvertInput resolve_input(const Flags& flags) {
  ConvertInput input{.devices = expand_files(flags.texts("--device")),
                     .hosts = expand_files(flags.texts("--host"))};
  refuse_missing(input.hosts);
  refuse_missing(input.devices);
  refuse_other(input.hosts, FileKind::kKineto, "a profile, not a trace of the host", "--device");
  refuse_other(input.devices, FileKind::kPytorchHost, "a trace of the host, not a profile", "--host");
  std::vector<std::string> words = flags.texts("--input");
  if (flags.has_positional())
    words.insert(words.end(), flags.positionals().begin(), flags.positionals().end());
  add_files(input, words.empty() ? std::vector<fs::path>{} : expand_traces(words));
  if (input.empty()) throw usage_error("nothing to convert", "nadi convert run_kineto.json -o run.0.et");
  return input;
}

ConvertOutput resolve_output(const Flags& flags) {
  const std::optional<std::string> name = flags.text("--output");
  if (!name) throw usage_error("-o, --output is missing", "-o run.0.et writes that file");
  if (name->ends_with('/'))
    throw usage_error(format("-o takes a file or the start of file names, and '{}' is a folder", *name),
                      format("-o {0}run writes {0}run.0.et", *name));
  const std::optional<std::size_t> choice = flags.choice("--format");
  const std::string extension = std::filesystem::path(*name).extension().string();
  const TraceFormat* wanted = &trace_formats()[choice.value_or(0)];
  // The name says which form of Chakra's JSON.
  if (extension == ".jsonl" && (!choice || wanted == &trace_format("chakra-json")))
    wanted = &trace_format("chakra-jsonl");
  const TraceFormat& entry = *wanted;
  ConvertOutput output{.name = *name,
                       .is_file = false,
                       .format = &entry,
                       .overwrite = flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse};
  if (extension == ".json" && !choice)
    throw usage_error(format("unknown output format for {}", *name),
                      "pass --format chakra-json, kineto or node-link");
  if ((extension == ".json" || extension == ".jsonl" || extension == ".et") && extension != entry.extension)
    throw usage_error(
        format("--format {} writes {} files, and -o names {}", entry.name, entry.extension, *name));
  output.is_file = extension == entry.extension;
  return output;
}

void check_flags(const Flags& flags, const ConvertInput& input, const ConvertOutput& output) {
  if (output.is_file && input.traces() > 1)
    throw usage_error(
        format("-o {} is one file, and there are {} traces", output.name.string(), input.traces()),
        "give the start of the names, without the rank and the extension");
  if (flags.given("--rank") && input.traces() > 1) throw usage_error("--rank is for one trace");
  if (!input.workload.empty())
    for (const std::string_view flag : {"--num-ops", "--simulate-only", "--time-unit", "--rank"})
      if (flags.given(flag)) throw usage_error(format("{} does not apply to a workload as text", flag));
  if (flags.given("--num-ops") && !input.chakra.empty())
    throw usage_error(format("--num-ops does not apply to {}", input.chakra[0].string()),
                      "it is for profiles of PyTorch; Chakra traces have num_ops or have no shapes");
}

class ConvertCommand : public Command {
 public:
  void add_flags(Flags& flags) const override {
    add_input_flags(flags);
    flags.add({.names = {"--lenient"}, .help = "skip damaged records and count them", .group = "input"});
    add_strict_flag(flags, "input");
    add_max_memory_flag(flags, "input");
    flags.add({.names = {"--time-unit"},
               .value = "UNIT",
               .help = "unit of the times in a profile: some programs write nanoseconds",
               .fallback = std::string(kTimeUnits[0]),
               .choices = {kTimeUnits.begin(), kTimeUnits.end()},
               .group = "input"});
    flags.add({.names = {"--rank"},
               .value = "N",
               .help = "rank of the trace",
               .fallback = "what the file says",
               .group = "input"});
    add_workload_flags(flags);
    add_convert_output_flags(flags);
    flags.add({.names = {"--simulate-only"},
               .help = "keep only what simulators read: smaller files",
               .group = "output"});
    flags.add({.names = {"--num-ops"},
               .help = "give kernels num_ops and tensor_size, computed from the recorded shapes of the ops "
                       "that launched them: roofline simulators need both",
               .group = "output"});
    flags.add({.names = {"--json"}, .help = "print JSON: see docs/json.md", .group = "output"});
    flags.show_first({"--host", "--device", "--output", "--format", "--force", "--json"});
  }

  void run(const Flags& flags, Console& console) const override {
    const ConvertInput input = resolve_input(flags);
    const ConvertOutput output = resolve_output(flags);
    check_flags(flags, input, output);
    ProgressLine progress(console, "MB", steady_clock());
    const ConvertSummary summary =
        convert_files(input, output,
                      {.memory = memory_limit_of(flags),
                       .lenient = flags.given("--lenient"),
                       .strict = flags.given("--strict"),
                       .simulate_only = flags.given("--simulate-only"),
                       .num_ops = flags.given("--num-ops"),
                       .time_unit = kTimeUnitValues[flags.choice("--time-unit").value_or(0)],
                       .rank = flags.integer("--rank", 0),
                       .workload = workload_options(flags, input),
                       .progress = [&](Bytes done, Bytes total) { progress.update(done, total); },
                       .note = [&](const std::string& text) { console.info() << "note: " << text << '\n'; }});
    if (flags.given("--json"))
      console.out << dump_json(convert_json(summary));
    else
      print_convert(summary, console.out,
                    {.add_host = "--host adds the host's trace",
                     .add_profile = "--device adds the profile of the same run"});
  }
};

}  // namespace

std::unique_ptr<Command> make_convert_command() {
  return std::make_unique<ConvertCommand>();
}

}  // namespace nadi::inline show
