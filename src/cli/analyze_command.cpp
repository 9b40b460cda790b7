// nadi analyze
#include <algorithm>
#include <memory>
#include <ostream>
#include <utility>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/nearest.h"
#include "nadi/base/version.h"
#include "nadi/cli/analyze_input.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/report/analyze_tables.h"
#include "nadi/report/analyze_verdict.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_width.h"
#include "nadi/terminal/wrap.h"
#include "nadi/trace/file_patterns.h"

namespace nadi {
namespace {

constexpr std::int64_t kShownRows = 10;

std::string_view to_string(TimelineClock clock) {
  switch (clock) {
    case TimelineClock::kNone:
      return "none";
    case TimelineClock::kRecorded:
      return "recorded";
    case TimelineClock::kReplayed:
      return "replayed";
  }
  unreachable();
}

// "critical-path" -> "critical_path"
std::string json_key(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

Json ranks_json(const RunAnalysis& run) {
  Json list = Json::array();
  for (const RankAnalysis& rank : run.ranks)
    list.push_back({{"rank", rank.rank},
                    {"file", rank.file},
                    {"nodes", rank.nodes},
                    {"left_out", rank.left_out},
                    {"without_times", rank.without_times},
                    {"clock", to_string(rank.clock)},
                    {"steps", rank.steps},
                    {"start_ns", rank.start.count()},
                    {"end_ns", rank.end.count()}});
  return list;
}

void print_heading(const RunAnalysis& run, std::string_view label, Console& console) {
  std::int64_t nodes = 0, untimed = 0, without_launch = 0;
  Nanoseconds span;
  bool replayed = false;
  for (const RankAnalysis& rank : run.ranks) {
    nodes += rank.nodes;
    span = std::max(span, rank.end - rank.start);
    untimed += rank.clock == TimelineClock::kNone ? 0 : rank.without_times;
    replayed = replayed || rank.clock == TimelineClock::kReplayed;
    if (!rank.launches.rows.empty()) without_launch += rank.launches.without_launch;
  }
  const RankAnalysis& first = run.ranks.front();
  std::string line = run.ranks.size() == 1 ? format("{} (rank {})", first.file, first.rank)
                     : first.file == run.ranks.back().file
                         ? format("{} ({} ranks)", first.file, run.ranks.size())
                         : format("{} ranks, {} to {}", run.ranks.size(), first.file, run.ranks.back().file);
  console.out << label << console.heading(line) << "\n";
  line = format("{} nodes", with_thousands(nodes));
  if (!first.steps.empty())
    line += first.steps.size() == 1 ? format(", step {}", first.steps[0])
                                    : format(", {} steps ({} to {})", first.steps.size(), first.steps.front(),
                                             first.steps.back());
  line += span.count() > 0 ? format(", {}", nadi::to_string(span)) : ", without times";
  console.out << line << "\n";
  if (first.left_out > 0)
    console.out << format("{} nodes of other steps are left out\n", with_thousands(first.left_out));
  if (replayed) console.out << "the files have no starts: those of a replay are used\n";
  if (untimed > 0) console.out << format("{} nodes have no times\n", with_thousands(untimed));
  if (without_launch > 0)
    console.out << format("{} nodes of the device have no launch call\n", with_thousands(without_launch));
  if (run.ranks.size() > 1 && span.count() > 0)
    console.out << (run.stragglers.measure == WaitMeasure::kArrival
                        ? "clocks of ranks are taken as recorded\n"
                        : "clocks of ranks look unrelated: waiting is told by durations\n");
  if (run.stragglers.unmatched > 0)
    console.out << format("{} collectives have no partner on another rank\n",
                          with_thousands(run.stragglers.unmatched));
}

void require_times(const RunAnalysis& run) {
  for (const RankAnalysis& rank : run.ranks)
    if (rank.clock == TimelineClock::kNone)
      throw usage_error(format("{} has no times: there is nothing to compare", rank.file),
                        "traces of runs have them: 'nadi train' writes such");
}

struct Output {
  std::optional<std::string> table;
  bool all = false;  // every table
  std::size_t rows = kShownRows;
};

// A sentence in as many lines as it needs; further ones are indented.
std::string wrapped(std::string_view sentence, std::size_t width) {
  constexpr std::string_view kIndent = "  ";
  std::string text;
  std::size_t at = 0;
  for (const std::string& word : words_of(sentence)) {
    if (at > 0 && at + 1 + word.size() > width) {
      text += "\n";
      text += kIndent;
      at = kIndent.size();
    } else if (at > 0) {
      text += ' ';
      ++at;
    }
    text += word;
    at += word.size();
  }
  return text + "\n";
}

void print_verdict(const RunAnalysis& run, Console& console) {
  bool first = true;
  for (const std::string& line : verdict_lines(run)) {
    const std::string text = wrapped(line, output_width(console.out));
    console.out << (std::exchange(first, false) ? console.heading(text) : text);
  }
  console.out << "\n";
}

void print_tables(const std::vector<ReportTable>& tables, const Output& output, Console& console) {
  if (output.table && tables.empty())
    console.out << format("\n{}: the trace has nothing for this table\n", *output.table);
  for (const ReportTable& table : tables) {
    console.out << "\n" << console.heading(table.title) << "\n";
    if (!table.note.empty()) console.out << wrapped("(" + table.note + ")", output_width(console.out));
    console.out << table_text(table, {.rows = output.rows,
                                      .width = output_width(console.out),
                                      .more = format(": --top {}", table.rows.size())});
  }
}

void write_csv_files(const std::vector<ReportTable>& tables, const std::filesystem::path& folder,
                     Overwrite overwrite, Console& console) {
  std::vector<AtomicFile> files;
  for (const ReportTable& table : tables) {
    files.emplace_back(folder / (table.name + ".csv"), overwrite, files.size());
    files.back().write(table_csv(table));
    files.back().close(Durability::kNow);
  }
  for (AtomicFile& file : files) {
    file.commit();
    console.out << file.path().string() << "\n";
  }
}

// Keeps these, in this order. Returns how many others there were.
std::size_t keep_tables(std::vector<ReportTable>& tables, const std::vector<std::string>& names) {
  std::vector<ReportTable> kept;
  for (const std::string& name : names)
    if (const auto table = std::ranges::find(tables, name, &ReportTable::name); table != tables.end())
      kept.push_back(std::move(*table));
  const std::size_t others = tables.size() - kept.size();
  tables = std::move(kept);
  return others;
}

class AnalyzeCommand : public Command {
 public:
  void add_flags(Flags& flags) const override {
    flags.set_positional(
        {.name = "FILE...",
         .help = "traces of the ranks of a run: Chakra (.et, JSON) or profiles of PyTorch (Kineto) with or "
                 "without traces of its host, plain, gzip or zstd; patterns in quotes",
         .many = true});
    flags.add({.names = {"--against"},
               .value = "FILE...",
               .help = "what changed from FILE... to these: traces of another run",
               .fallback = "none",
               .many = true});
    flags.add({.names = {"--step"}, .value = "N", .help = "only this step", .fallback = "all"});
    flags.add({.names = {"--lenient"},
               .help = "pass over what is damaged, and dependencies on nodes that are not in the file"});
    flags.add({.names = {"--consecutive-gap"},
               .value = "NS",
               .help =
                   "gaps below this many nanoseconds, of work launched in time, are what it costs to start "
                   "one kernel after the other",
               .fallback = "30"});
    flags.add({.names = {"--full-queue"},
               .value = "N",
               .help = "length at which a stream's queue counts as full",
               .fallback = "1024"});
    flags.add({.names = {"--all"},
               .help = "print every table, and not only those that the verdict is made of",
               .group = "output"});
    flags.add({.names = {"--table"},
               .value = "NAME",
               .help = format("only this table: {}", fmt::join(analysis_table_names(), ", ")) +
                       format("; with --against {}", fmt::join(comparison_table_names(), ", ")),
               .fallback = "those of the verdict",
               .group = "output"});
    flags.add({.names = {"--top"},
               .value = "N",
               .help = "rows of each table that are printed; 0 for all",
               .fallback = std::to_string(kShownRows),
               .group = "output"});
    flags.add({.names = {"--json"}, .help = "print JSON: see docs/json.md", .group = "output"});
    flags.add({.names = {"--csv"},
               .help = "print the table as CSV; with -o all tables as files",
               .group = "output"});
    flags.add({.names = {"--output"},
               .value = "FOLDER",
               .help = "with --csv: where to write NAME.csv for each table",
               .fallback = "none",
               .group = "output"});
    flags.add({.names = {"--force"}, .help = "overwrite files that exist", .group = "output"});
  }

  void run(const Flags& flags, Console& console) const override {
    const bool compares = flags.given("--against");
    const Output output = resolve_output(flags, compares);
    AnalysisOptions options{.step = flags.integer("--step", 0), .profile = compares};
    if (const auto gap = flags.integer("--consecutive-gap", 0)) options.idle.kernel_gap = Nanoseconds{*gap};
    if (const auto length = flags.integer("--full-queue")) options.launches.full_queue = *length;
    const bool lenient = flags.given("--lenient");
    const RunAnalysis run = analyze_files(expand_traces(flags.positionals()), options, lenient, console);
    std::optional<RunAnalysis> before;
    if (compares) before = analyze_files(expand_traces(flags.texts("--against")), options, lenient, console);

    if (before) {
      require_times(*before);
      require_times(run);
    }
    std::vector<ReportTable> tables = compares ? comparison_tables(*before, run) : analysis_tables(run);
    if (output.table)
      std::erase_if(tables, [&](const ReportTable& table) { return table.name != *output.table; });
    if (flags.given("--json")) {
      Json root{{"nadi_version", version()},
                {"verdict", verdict_json(run)},
                {"ranks", ranks_json(run)},
                {"before", before ? ranks_json(*before) : Json(nullptr)},
                {"matched_collectives", run.stragglers.matched},
                {"unmatched_collectives", run.stragglers.unmatched},
                {"matched_messages", run.matched_messages},
                {"unmatched_messages", run.unmatched_messages},
                {"path_crosses_ranks", run.path_crosses_ranks}};
      for (const ReportTable& table : tables) root["tables"][json_key(table.name)] = table_json(table);
      console.out << dump_json(root);
      return;
    }
    const bool one_for_csv = output.table && flags.given("--csv");  // its line of keys at least
    if (!one_for_csv) std::erase_if(tables, [](const ReportTable& table) { return table.rows.empty(); });
    if (flags.given("--csv")) return print_csv(tables, flags, console);
    if (before) {
      print_heading(*before, "before  ", console);
      console.out << wrapped(verdict_lines(*before)[0], output_width(console.out));
      print_heading(run, "after   ", console);
      console.out << wrapped(verdict_lines(run)[0], output_width(console.out));
    } else {
      print_verdict(run, console);
      print_heading(run, "", console);
    }
    std::size_t left_out = 0;
    if (!before && !output.all && !output.table) left_out = keep_tables(tables, summary_table_names(run));
    print_tables(tables, output, console);
    if (left_out > 0)
      console.out << wrapped(
          format("\n{} more tables: --all prints them, --table NAME one of them", left_out),
          output_width(console.out));
  }

 private:
  static Output resolve_output(const Flags& flags, bool compares) {
    Output output{.table = flags.text("--table"),
                  .all = flags.given("--all"),
                  .rows = static_cast<std::size_t>(flags.integer("--top", 0).value_or(kShownRows))};
    const std::vector<std::string> names = compares ? comparison_table_names() : analysis_table_names();
    if (output.table && std::ranges::find(names, *output.table) == names.end())
      throw usage_error(
          format("--table does not take '{}'{}", *output.table, compares ? " with --against" : ""),
          did_you_mean(*output.table, {names.begin(), names.end()}));
    if (output.all && output.table) throw usage_error("--all and --table exclude each other");
    if (flags.given("--csv") && flags.given("--json"))
      throw usage_error("--csv and --json exclude each other");
    if (flags.given("--csv") && !flags.given("--output") && !output.table)
      throw usage_error("--csv prints one table, and there are many",
                        "say which with --table, or where to write all of them with -o FOLDER");
    if (flags.given("--output") && !flags.given("--csv")) throw usage_error("-o, --output is for --csv");
    return output;
  }

  static void print_csv(const std::vector<ReportTable>& tables, const Flags& flags, Console& console) {
    if (const auto folder = flags.text("--output"))
      return write_csv_files(tables, *folder, flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse,
                             console);
    for (const ReportTable& table : tables) console.out << table_csv(table);
  }
};

}  // namespace

std::unique_ptr<Command> make_analyze_command() {
  return std::make_unique<AnalyzeCommand>();
}

}  // namespace nadi
