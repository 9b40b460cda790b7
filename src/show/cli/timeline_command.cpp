// nadi timeline
#include <filesystem>
#include <optional>
#include <ostream>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/parse_duration.h"
#include "nadi/cli/max_memory_flag.h"
#include "nadi/cli/strict_flag.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/draw/pipeline_from_traces.h"
#include "nadi/draw/timeline_from_log.h"
#include "nadi/draw/timeline_from_traces.h"
#include "nadi/draw/timeline_json.h"
#include "nadi/draw/timeline_page.h"
#include "nadi/draw/timeline_perfetto.h"
#include "nadi/draw/timeline_report.h"
#include "nadi/input/content_kind.h"
#include "nadi/input/read_progress.h"
#include "nadi/megatron_log/log_reader.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/progress_line.h"
#include "nadi/trace/file_patterns.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;

enum class TimelineFormat : std::uint8_t { kHtml, kPerfetto, kJson };  // in the order of the flag's choices

struct TimelineOutput {
  fs::path path;
  TimelineFormat format = TimelineFormat::kHtml;
  Overwrite overwrite = Overwrite::kRefuse;
};

TimelineOutput resolve_timeline_output(const Flags& flags) {
  const std::string stem = flags.given("--pipeline") ? "pipeline" : "timeline";
  const std::optional<std::size_t> format_given = flags.choice("--format");
  TimelineOutput output{.path = flags.text("--output").value_or(""),
                        .overwrite = flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse};
  if (output.path.empty()) {
    constexpr std::string_view kEndings[] = {".html", ".perfetto.json", ".json"};
    output.path = stem + std::string(kEndings[format_given.value_or(0)]);
  }
  const std::string name = output.path.filename().string();
  if (format_given)
    output.format = static_cast<TimelineFormat>(*format_given);
  else if (name.ends_with(".html") || name.ends_with(".htm"))
    output.format = TimelineFormat::kHtml;
  else if (name.ends_with("perfetto.json") || name.ends_with(".trace"))
    output.format = TimelineFormat::kPerfetto;
  else if (name.ends_with(".json"))
    output.format = TimelineFormat::kJson;
  else
    throw usage_error(format("unknown output format for {}", output.path.string()),
                      "pass --format html, perfetto or json");
  return output;
}

std::optional<Nanoseconds> duration_of(const Flags& flags, std::string_view name) {
  const std::optional<std::string> text = flags.text(name);
  if (!text) return std::nullopt;
  const std::optional<Nanoseconds> duration = parse_duration(*text);
  if (!duration)
    throw usage_error(format("{} does not take '{}'", name, *text),
                      "a time with its unit, as 1.5ms, 200us, 2s");
  return duration;
}

std::vector<std::string> listed_words(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t comma = std::min(list.find(',', begin), list.size());
    if (comma > begin) words.push_back(list.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return words;
}

TimelineSelection resolve_selection(const Flags& flags) {
  TimelineSelection selection{.from = duration_of(flags, "--from"), .to = duration_of(flags, "--to")};
  if (const auto ranks = flags.text("--ranks")) selection.ranks = parse_number_ranges(*ranks, "--ranks");
  if (const auto steps = flags.text("--steps")) selection.steps = parse_number_ranges(*steps, "--steps");
  if (const auto streams = flags.text("--streams")) selection.streams = listed_words(*streams);
  if (selection.from && selection.to && *selection.from > *selection.to)
    throw usage_error("--from lies behind --to");
  return selection;
}

// The name of the run: that of its first file without rank and endings.
std::string title_of(const fs::path& file) {
  std::string name = file.filename().string();
  return name.substr(0, name.find('.'));
}

Bytes write_timeline(const TimelineView& view, const TimelineOutput& output) {
  switch (output.format) {
    case TimelineFormat::kHtml:
      return write_timeline_page(view, output.path, output.overwrite);
    case TimelineFormat::kPerfetto:
      return write_timeline_perfetto(view, output.path, output.overwrite);
    case TimelineFormat::kJson:
      return write_timeline_json(view, output.path, output.overwrite);
  }
  unreachable();
}

// Any text is taken for a log: the lines of iterations may come late.
bool are_logs(const std::vector<fs::path>& files) {
  std::size_t logs = 0;
  for (const fs::path& file : files) {
    std::error_code ignored;
    const FileKind kind = fs::exists(file, ignored) ? content_kind(file) : FileKind::kUnknown;
    logs += kind == FileKind::kTrainingLog || kind == FileKind::kText ? 1 : 0;
  }
  if (logs > 0 && logs < files.size())
    throw usage_error("some files are training logs, and others are not", "give them on their own");
  return logs > 0;
}

TrainingLog read_logs(const std::vector<fs::path>& files, const RunReadingOptions& reading) {
  std::vector<TrainingLog> logs;
  ReadProgress progress(files, reading.progress);
  for (const fs::path& file : files) {
    progress.begin(file);
    logs.push_back(read_training_log(file));
    if (logs.back().damaged_lines > 0)
      reading.note(format("{}: {} damaged lines passed over", file.string(),
                          with_thousands(logs.back().damaged_lines)));
  }
  TrainingLog log = merged(std::move(logs));
  if (log.iterations.empty())
    throw input_error({.file = files.front().string()},
                      "this text has no line of an iteration of Megatron-LM: there is nothing to draw",
                      "in a training log the last rank prints them; give the log of its node, too");
  return log;
}

}  // namespace

void add_timeline_flags(Flags& flags) {
  flags.set_positional(
      {.name = "FILE...",
       .help = "traces of the ranks of a run, with times: Chakra (.et, JSON) or profiles of PyTorch (Kineto) "
               "with or without traces of its host, plain, gzip or zstd; or training logs of Megatron-LM; "
               "patterns in quotes",
       .many = true});
  flags.toggle("--pipeline", "draw stages: forward and backward work by micro-batch, and bubbles");
  flags.value("--stages", "N", "of the pipeline, where a training log does not say it", "what the log says");
  flags.value("--micro-batches", "N", "of a step, where a training log does not say it", "what the log says");
  FlagHeading selection(flags, "selection");
  selection.value("--ranks", "LIST", "only these ranks: 0-3,7", "all");
  selection.value("--steps", "LIST", "only events of these steps: 3 or 3-5", "all");
  selection.value("--from", "TIME", "only events from here on, counted from the first event: 10ms, 200us",
                  "the first event");
  selection.value("--to", "TIME", "only events up to here, counted likewise", "the last event");
  selection.value("--streams", "LIST",
                  "only these lanes: device, host, a lane's name or the number of a stream or thread", "all");
  flags.toggle("--lenient", "skip damaged records");
  add_strict_flag(flags);
  add_max_memory_flag(flags);
  FlagHeading output(flags, "output");
  output.value("--output", "FILE",
               "the file to write; its ending tells the format: .html, .perfetto.json, .json",
               "timeline.html, or pipeline.html");
  output.value("--format", "FORMAT",
               "html: a page that needs nothing but itself; perfetto: for ui.perfetto.dev and "
               "chrome://tracing; json: the events as plain JSON",
               "by the ending of the file", {.choices = {"html", "perfetto", "json"}});
  output.value("--title", "TEXT", "heading of the page", "the name of the first file");
  output.toggle("--json", "print JSON: see docs/json.md");
  output.toggle("--force", "overwrite a file that exists");
  flags.show_first({"--output", "--pipeline", "--format"});
}

void run_timeline(const Flags& flags, Console& console) {
  const TimelineOutput output = resolve_timeline_output(flags);
  const TimelineSelection selection = resolve_selection(flags);
  if (output.overwrite == Overwrite::kRefuse) refuse_existing(output.path);
  const std::vector<fs::path> files = expand_traces(flags.positionals());
  const bool logs = are_logs(files);
  if (!logs || !flags.given("--pipeline"))
    for (const char* flag : {"--stages", "--micro-batches"})
      if (flags.given(flag)) throw usage_error(format("{} is for pipelines of training logs", flag));
  TimelineView view;
  view.title = flags.text("--title").value_or(title_of(files.front()));
  ProgressLine progress(console, "MB of traces", steady_clock());
  const RunReadingOptions reading{
      .memory = memory_limit_of(flags),
      .lenient = flags.given("--lenient"),
      .strict = flags.given("--strict"),
      .progress = [&](Bytes done, Bytes total) { progress.update(done, total); },
      .note = [&](const std::string& text) { console.info() << "note: " << text << "\n"; }};
  std::optional<TrainingLog> log;
  if (logs) log = read_logs(files, reading);
  if (flags.given("--pipeline")) {
    const PipelineSummary summary =
        log ? pipeline_from_log(view, *log,
                                {.selection = selection,
                                 .stages = flags.integer("--stages"),
                                 .micro_batches = flags.integer("--micro-batches")})
            : pipeline_from_traces(view, files, {.selection = selection, .reading = reading});
    view.subtitle = pipeline_subtitle(summary);
    const Bytes size = write_timeline(view, output);
    if (flags.given("--json"))
      console.out << dump_json(pipeline_json(summary, output.path, size));
    else
      print_pipeline(summary, output.path, size, console.out);
  } else {
    const TimelineSummary summary =
        log ? timeline_from_log(view, *log, selection)
            : timeline_from_traces(view, files, {.selection = selection, .reading = reading});
    view.subtitle = timeline_subtitle(summary);
    const Bytes size = write_timeline(view, output);
    if (flags.given("--json"))
      console.out << dump_json(timeline_json(summary, output.path, size));
    else
      print_timeline(summary, output.path, size, console.out);
  }
}

}  // namespace nadi::inline show
