// nadi analyze
#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/nearest.h"
#include "nadi/cli/max_memory_flag.h"
#include "nadi/cli/strict_flag.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/draw/analysis_page.h"
#include "nadi/examination/analysis_question.h"
#include "nadi/report/analysis_report.h"
#include "nadi/report/analysis_tables.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/progress_line.h"

namespace nadi::inline show {
namespace {

constexpr std::int64_t kShownRows = 10;

struct Output {
  std::optional<std::string> table;
  bool all = false;  // every table
  std::size_t rows = kShownRows;
};

// The page to write: --html, or -o with a name that ends like one.
std::optional<std::string> page_of(const Flags& flags) {
  if (const auto html = flags.text("--html")) return html;
  const auto output = flags.text("--output");
  return output && output->ends_with(".html") && !flags.given("--csv") ? output : std::nullopt;
}

Output resolve_output(const Flags& flags, bool compares) {
  Output output{.table = flags.text("--table"),
                .all = flags.given("--all"),
                .rows = static_cast<std::size_t>(flags.integer("--top", 0).value_or(kShownRows))};
  const std::vector<std::string> names = compares ? comparison_table_names() : analysis_table_names();
  if (output.table && std::ranges::find(names, *output.table) == names.end())
    throw usage_error(
        format("--table does not take '{}'{}", *output.table, compares ? " with --against" : ""),
        did_you_mean(*output.table, {names.begin(), names.end()}));
  if (output.all && output.table) throw usage_error("--all and --table exclude each other");
  if (flags.given("--csv") && flags.given("--json")) throw usage_error("--csv and --json exclude each other");
  for (const char* other : {"--json", "--csv", "--table", "--all", "--top"})
    if (page_of(flags) && flags.given(other))
      throw usage_error(
          format("{} and {} exclude each other", flags.given("--html") ? "--html" : "-o FILE.html", other),
          "the page has all tables with all rows");
  if (flags.given("--csv") && !flags.given("--output") && !output.table)
    throw usage_error("--csv prints one table, and there are many",
                      "name it with --table, or write all of them with -o FOLDER");
  if (flags.given("--output") && !flags.given("--csv") && !page_of(flags))
    throw usage_error(format("-o {} is neither a page nor with --csv", *flags.text("--output")),
                      "-o FILE.html writes a page, --csv -o FOLDER all tables");
  if (flags.given("--output") && flags.given("--html"))
    throw usage_error("-o and --html exclude each other", "they are names of the same file");
  return output;
}

AnalysisQuestion analysis_question(const Flags& flags, Console& console) {
  AnalysisQuestion question{
      .files = flags.positionals(),
      .against = flags.texts("--against"),
      .step = flags.integer("--step", 0),
      .full_queue = flags.integer("--full-queue"),
      .kinds = flags.text("--kinds").value_or(""),
      .picture = page_of(flags).has_value(),
      .reading = {.memory = memory_limit_of(flags),
                  .lenient = flags.given("--lenient"),
                  .strict = flags.given("--strict"),
                  .note = [&](const std::string& text) { console.info() << "note: " << text << "\n"; }}};
  if (const auto gap = flags.integer("--consecutive-gap", 0)) question.kernel_gap = Nanoseconds{*gap};
  return question;
}

}  // namespace

void add_analyze_flags(Flags& flags) {
  flags.set_positional(
      {.name = "FILE...",
       .help = "traces of the ranks of a run: Chakra (.et, JSON) or profiles of PyTorch (Kineto) with or "
               "without traces of its host, plain, gzip or zstd; patterns in quotes",
       .many = true});
  flags.value("--against", "FILE...",
              "compare with these traces of an earlier run: what changed from them to FILE...", "none",
              {.many = true});
  flags.value("--step", "N", "analyze only this step", "all");
  flags.toggle("--lenient", "skip damaged records");
  add_strict_flag(flags);
  add_max_memory_flag(flags);
  flags.value("--consecutive-gap", "NS",
              "gaps shorter than this many nanoseconds, before work launched in time, count as the cost of "
              "starting one kernel after another; Holistic Trace Analysis compares with 30 us, too",
              "30000");
  flags.value("--kinds", "FILE",
              "kinds of kernels that the program does not know, before those that it does: parts of "
              "names and their kinds, as {\"my_kernel\": \"matrix product\"}; kinds are those of the "
              "table 'kinds'",
              "none");
  flags.value("--full-queue", "N", "length at which a stream's queue counts as full", "1024");
  FlagHeading output(flags, "output");
  output.toggle("--all", "print every table, not only those behind the verdict");
  output.value("--table", "TABLE",
               format("only this table: {}", fmt::join(analysis_table_names(), ", ")) +
                   format("; with --against {}", fmt::join(comparison_table_names(), ", ")),
               "those of the verdict");
  output.value("--top", "N", "rows printed of each table; 0 prints all", std::to_string(kShownRows));
  output.toggle("--json", "print JSON: see docs/json.md");
  output.toggle("--csv", "print the table as CSV; with -o, write all tables as files");
  output.value("--output", "FILE.html|FOLDER",
               "write a page with everything: verdict, bars, timeline, tables, and how each figure was "
               "computed; with --csv the folder for NAME.csv of each table",
               "none");
  output.value("--html", "FILE.html", "the same as -o FILE.html", "none");
  output.toggle("--force", "overwrite files that exist");
  flags.show_first({"--against", "--step", "--all", "--table", "--top", "--output", "--json"});
}

void run_analyze(const Flags& flags, Console& console) {
  const bool compares = flags.given("--against");
  const Output output = resolve_output(flags, compares);
  const Overwrite overwrite = flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse;
  // A page that cannot be written is refused before the traces are read.
  if (const auto html = page_of(flags)) AtomicFile(*html, overwrite);
  AnalysisQuestion question = analysis_question(flags, console);
  const AnalysisAnswer answer = [&] {
    ProgressLine progress(console, "MB of traces", steady_clock());
    question.reading.progress = [&](Bytes done, Bytes total) { progress.update(done, total); };
    return analyze(question);
  }();
  const RunAnalysis* const before = answer.before ? &*answer.before : nullptr;

  if (const auto html = page_of(flags)) {
    write_analysis_page({.run = answer.run, .before = before}, *html, overwrite);
    console.out << *html << "\n";
    return;
  }
  AnalysisReport report(answer.run, before);
  if (output.table) report.keep_only(*output.table);
  if (flags.given("--json")) {
    console.out << dump_json(report.json());
  } else if (flags.given("--csv") && flags.given("--output")) {
    for (const std::filesystem::path& file : report.write_csv(*flags.text("--output"), overwrite))
      console.out << file.string() << "\n";
  } else if (flags.given("--csv")) {
    report.print_csv(console.out);
  } else {
    report.print(console.out, {.style = style_for(console),
                               .all = output.all,
                               .rows = output.rows,
                               .more_rows = [](std::size_t rows) { return format(": --top {}", rows); },
                               .more_tables = ": --all prints them, --table NAME one of them"});
  }
}

}  // namespace nadi::inline show
