// nadi convert
#include <array>
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
#include "nadi/conversion/conversion_question.h"
#include "nadi/convert/convert_files.h"
#include "nadi/report/convert_report.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/progress_line.h"

namespace nadi::inline show {
namespace {

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
  FlagHeading input(flags, "input");
  input.value("--input", "FILE...", "the same as FILE...", "none", {.many = true});
  input.value("--host", "FILE...",
              "execution traces of PyTorch's host, in the order of the profiles; without profiles "
              "the output has no times",
              "none", {.many = true});
  input.value("--device", "FILE...", "profiles of PyTorch (Kineto)", "none", {.many = true});
}

void add_workload_flags(Flags& flags) {
  FlagHeading workloads(flags, "workloads as text");
  workloads.value("--ranks", "N", "ranks that run the workload, of one stage of a pipeline",
                  "what the file says");
  workloads.value("--model-group", "N", "ranks that share the work of a layer", "what the file says");
  workloads.value("--gather-sizes", "OF",
                  "what sizes of all-gathers mean: part: what a rank puts in, as in ASTRA-sim; whole: what "
                  "comes out, as in AICB",
                  "whole where the first line has all_gpus, else part",
                  {.choices = {kGatherSizes.begin(), kGatherSizes.end()}});
}

void add_convert_output_flags(Flags& flags) {
  std::string summaries;
  std::vector<std::string_view> names;
  for (const TraceFormat& entry : trace_formats()) {
    summaries += format("{}{}: {}", summaries.empty() ? "" : "; ", entry.name, entry.summary);
    names.push_back(entry.name);
  }
  FlagHeading output(flags, "output");
  output.value(
      "--output", "OUT",
      "a file, run.0.et, or the start of file names: run writes run.0.et and so on, one file per rank; "
      "missing folders are created",
      "required");
  output.value("--format", "FORMAT", summaries, std::string(trace_formats().front().name),
               {.choices = names});
  output.toggle("--force", "overwrite files that exist");
}

ConversionQuestion conversion_question(const Flags& flags) {
  ConversionQuestion question{
      .files = flags.texts("--input"),
      .devices = flags.texts("--device"),
      .hosts = flags.texts("--host"),
      .output = flags.text("--output").value_or(""),
      .format = flags.text("--format").value_or(""),
      .overwrite = flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse,
      .options = {.memory = memory_limit_of(flags),
                  .lenient = flags.given("--lenient"),
                  .strict = flags.given("--strict"),
                  .simulate_only = flags.given("--simulate-only"),
                  .num_ops = flags.given("--num-ops"),
                  .time_unit = kTimeUnitValues[flags.choice("--time-unit").value_or(0)],
                  .rank = flags.integer("--rank", 0),
                  .workload = {.ranks = flags.integer("--ranks", 1),
                               .model_group = flags.integer("--model-group", 1)}}};
  if (flags.has_positional())
    question.files.insert(question.files.end(), flags.positionals().begin(), flags.positionals().end());
  if (const auto choice = flags.choice("--gather-sizes"))
    question.options.workload.gathers_are_whole = *choice == 1;
  return question;
}

}  // namespace

void add_convert_flags(Flags& flags) {
  add_input_flags(flags);
  FlagHeading input(flags, "input");
  input.toggle("--lenient", "skip damaged records and count them");
  add_strict_flag(flags, "input");
  add_max_memory_flag(flags, "input");
  input.value("--time-unit", "UNIT", "unit of the times in a profile: some programs write nanoseconds",
              std::string(kTimeUnits[0]), {.choices = {kTimeUnits.begin(), kTimeUnits.end()}});
  input.value("--rank", "N", "rank of the trace", "what the file says");
  add_workload_flags(flags);
  add_convert_output_flags(flags);
  FlagHeading output(flags, "output");
  output.toggle("--simulate-only", "keep only what simulators read: smaller files");
  output.toggle("--num-ops",
                "give kernels num_ops and tensor_size, computed from the recorded shapes of the ops "
                "that launched them: roofline simulators need both");
  output.toggle("--json", "print JSON: see docs/json.md");
  flags.show_first({"--host", "--device", "--output", "--format", "--force", "--json"});
}

void run_convert(const Flags& flags, Console& console) {
  if (!flags.given("--output")) throw usage_error("-o, --output is missing", "-o run.0.et writes that file");
  ResolvedTraceConversion asked = resolve(conversion_question(flags));
  ProgressLine progress(console, "MB", steady_clock());
  asked.options.progress = [&](Bytes done, Bytes total) { progress.update(done, total); };
  asked.options.note = [&](const std::string& text) { console.info() << "note: " << text << '\n'; };
  const ConvertSummary summary = convert_files(asked.input, asked.output, asked.options);
  if (flags.given("--json"))
    console.out << dump_json(convert_json(summary));
  else
    print_convert(summary, console.out,
                  {.add_host = "--host adds the host's trace",
                   .add_profile = "--device adds the profile of the same run"});
}

}  // namespace nadi::inline show
