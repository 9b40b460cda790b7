// nadi draw
#include <algorithm>
#include <array>
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/number_ranges.h"
#include "nadi/base/units.h"
#include "nadi/cli/max_memory_flag.h"
#include "nadi/cli/strict_flag.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/draw/draw_files.h"
#include "nadi/draw/draw_report.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/progress_line.h"
#include "nadi/trace/file_patterns.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kCollapseNames{"auto", "none", "block", "layer"};
constexpr std::array kCollapses{DrawCollapse::kAuto, DrawCollapse::kNone, DrawCollapse::kBlock,
                                DrawCollapse::kLayer};
constexpr std::array<std::string_view, 2> kEdgesKeys{"edges", "links"};
constexpr std::array<std::string_view, 2> kPasses{"first", "all"};
constexpr std::int64_t kLayoutSeconds = 60;

void add_what_flags(Flags& flags) {
  FlagHeading group(flags, "what is drawn");
  group.value("--layers", "LIST", "only these layers, such as 0-1 or 0,11", "all");
  group.value(
      "--collapse", "WHAT",
      "what becomes one box; layer: each layer; block: attention and feed-forward part of each layer; "
      "none: nothing; auto: nothing, but of a picture that is too large to read all but its first layer",
      std::string(kCollapseNames[0]), {.choices = {kCollapseNames.begin(), kCollapseNames.end()}});
  group.toggle(
      "--comm",
      "communication, across ranks where there are several, with a box for what is computed between two");
  group.toggle("--no-tensors", "operations and communication alone");
  group.value("--passes", "WHICH",
              "micro-batches, decode steps and training steps that do the same again: the first, or all",
              "first in pictures, all in files", {.choices = {kPasses.begin(), kPasses.end()}});
}

void add_draw_output_flags(Flags& flags) {
  std::string summaries;
  std::vector<std::string_view> names;
  for (const DrawFormatEntry& entry : draw_formats()) {
    summaries += format("{}{}: {}", summaries.empty() ? "" : "; ", entry.name, entry.summary);
    names.push_back(entry.name);
  }
  FlagHeading output(flags, "output");
  output.value("--output", "FILE", "the drawing; missing folders are created", "required");
  output.value("--format", "FORMAT", summaries, "what the name of FILE ends in", {.choices = names});
  output.value("--edges-key", "NAME",
               "name of the list of edges in node-link JSON: NetworkX before 3.4 reads links",
               std::string(kEdgesKeys[0]), {.choices = {kEdgesKeys.begin(), kEdgesKeys.end()}});
  output.value("--layout-time", "N", "seconds that Graphviz may take for a picture",
               std::to_string(kLayoutSeconds));
  output.toggle("--force", "overwrite a file that exists");
  output.toggle("--json", "print JSON: see docs/json.md");
}

std::vector<fs::path> resolve_drawn_files(const Flags& flags) {
  std::vector<std::string> words = flags.texts("--input");
  if (flags.has_positional())
    words.insert(words.end(), flags.positionals().begin(), flags.positionals().end());
  if (words.empty()) throw usage_error("nothing to draw", "nadi draw out/run.0.et -o graph.svg");
  return expand_traces(words);
}

DrawOutput resolve_drawing(const Flags& flags) {
  const auto name = flags.text("--output");
  if (!name) throw usage_error("-o, --output is missing", "-o graph.svg writes a picture");
  DrawOutput output{.file = *name,
                    .overwrite = flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse};
  if (const auto key = flags.choice("--edges-key")) output.edges_key = kEdgesKeys[*key];
  std::string extension = output.file.extension().string();
  if (extension == ".jsonl") extension = ".et";  // lines of JSON are another form of a Chakra trace
  const auto entry =
      std::ranges::find(draw_formats(), std::string_view(extension), &DrawFormatEntry::extension);
  if (const auto choice = flags.choice("--format")) {
    output.format = draw_formats()[*choice].format;
    // Chakra traces may be JSON, too.
    const bool is_json_trace = output.format == DrawFormat::kChakra && extension == ".json";
    if (entry != draw_formats().end() && entry->format != output.format && !is_json_trace)
      throw usage_error(
          format("-o {} is a name for {}, and --format says {}", *name, entry->name,
                 draw_formats()[*choice].name),
          format("leave --format out, or name the file *{}", draw_formats()[*choice].extension));
  } else {
    std::string known;
    for (const DrawFormatEntry& other : draw_formats()) known += format(" {}", other.extension);
    if (entry == draw_formats().end())
      throw usage_error(format("the name {} does not tell the format of the drawing", *name),
                        format("known endings:{}; or name it with --format", known));
    output.format = entry->format;
  }
  if (flags.given("--edges-key") && output.format != DrawFormat::kJson)
    throw usage_error("--edges-key is for node-link JSON", "--format json");
  if (output.format == DrawFormat::kChakra)
    for (const std::string_view flag : {"--layers", "--collapse", "--comm", "--no-tensors", "--passes"})
      if (flags.given(flag))
        throw usage_error(format("{} does not apply to --format chakra", flag),
                          "that trace holds the whole graph; the flag is for drawings");
  return output;
}

DrawOptions resolve_cut(const Flags& flags) {
  DrawOptions options{.collapse = kCollapses[flags.choice("--collapse").value_or(0)],
                      .communication = flags.given("--comm"),
                      .tensors = !flags.given("--no-tensors"),
                      .memory = memory_limit_of(flags),
                      .lenient = flags.given("--lenient"),
                      .strict = flags.given("--strict"),
                      .limit = std::chrono::seconds(flags.integer("--layout-time").value_or(kLayoutSeconds))};
  if (const auto layers = flags.text("--layers")) options.layers = parse_number_ranges(*layers, "--layers");
  if (const auto passes = flags.choice("--passes")) options.all_passes = *passes == 1;
  if (options.communication &&
      (options.collapse == DrawCollapse::kBlock || options.collapse == DrawCollapse::kLayer))
    throw usage_error("--comm makes its own boxes", "with --comm, --collapse takes auto or none");
  return options;
}

}  // namespace

void add_draw_flags(Flags& flags) {
  flags.set_positional(
      {.name = "FILE...",
       .help =
           "traces of the ranks of a run: Chakra (.et, JSON), profiles of PyTorch (Kineto), or a graph in "
           "node-link JSON; plain, gzip or zstd; patterns in quotes",
       .many = true,
       .fallback = "--input"});
  FlagHeading input(flags, "input");
  input.value("--input", "FILE...", "the same as FILE...", "none", {.many = true});
  input.toggle("--lenient", "skip damaged records");
  add_strict_flag(flags, "input");
  add_max_memory_flag(flags, "input");
  add_what_flags(flags);
  add_draw_output_flags(flags);
  flags.show_first({"--output", "--layers", "--collapse", "--comm", "--format", "--force"});
}

void run_draw(const Flags& flags, Console& console) {
  const std::vector<fs::path> files = resolve_drawn_files(flags);
  const DrawOutput output = resolve_drawing(flags);
  DrawOptions options = resolve_cut(flags);
  ProgressLine progress(console, "MB of traces", steady_clock());
  options.progress = [&](Bytes done, Bytes total) { progress.update(done, total); };
  options.wait = [&] { console.check_interrupted(); };
  options.note = [&](const std::string& text) { console.info() << "note: " << text << '\n'; };
  DrawSummary summary;
  try {
    summary = draw_files(files, output, options);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kEnvironment && error.hint() == "install the package graphviz")
      throw Error{error.kind(), error.place(), error.message(),
                  error.hint() + ", or write .html, .dot, .graphml or .json"};
    if (error.kind() != ErrorKind::kInfeasible || !error.hint().empty()) throw;
    throw Error{
        error.kind(), error.place(), error.message(),
        "--layers 0-1 draws these layers alone, --collapse layer (or block) a box for each; .html opens "
        "graphs of any size"};
  }
  for (const std::string& note : draw_notes(summary)) console.info() << "note: " << note << "\n";
  if (!summary.remarks.empty()) console.warnings() << "dot: " << summary.remarks;
  if (flags.given("--json"))
    console.out << dump_json(draw_json(summary));
  else
    print_drawn(summary, console.out);
}

}  // namespace nadi::inline show
