// nadi compare
#include <ostream>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/cli/max_memory_flag.h"
#include "nadi/cli/strict_flag.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/draw/timeline_of_comparison.h"
#include "nadi/draw/timeline_page.h"
#include "nadi/prediction/comparison_question.h"
#include "nadi/report/prediction_report.h"
#include "nadi/terminal/console.h"
#include "nadi/trace/file_patterns.h"

namespace nadi::inline show {
void add_compare_flags(Flags& flags) {
  flags.set_positional({.name = "FILE...",
                        .help = "traces of the ranks of a run, with times: Chakra (.et, JSON) or profiles of "
                                "PyTorch (Kineto); patterns in quotes",
                        .many = true});
  flags.value("--cluster", "CLUSTER",
              "what the run is predicted on: a file of 'nadi calibrate', another cluster file, or a "
              "name of the catalogue",
              "required");
  flags.value({"--timeline", "--output", "-o"}, "FILE.html",
              "write a page with measured and predicted lanes below each other", "none");
  flags.value("--top", "N", "largest differences that are listed", format("{}", ComparisonQuestion{}.top));
  flags.toggle("--all-steps",
               "count steps that were disturbed, too: more than 2% of the processor time was stolen by "
               "a hypervisor or taken by other processes");
  flags.toggle("--lenient", "skip damaged records");
  add_strict_flag(flags);
  add_max_memory_flag(flags);
  flags.toggle("--json", "print JSON: see docs/json.md");
  flags.toggle("--force", "overwrite a file that exists");
  flags.show_first({"--cluster", "--timeline", "--json"});
}

void run_compare(const Flags& flags, Console& console) {
  const auto name = flags.text("--cluster");
  if (!name) throw usage_error("--cluster is missing", "nadi calibrate -o me.json measures this machine");
  const auto page = flags.text("--timeline");
  const Overwrite overwrite = flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse;
  if (page && overwrite == Overwrite::kRefuse) refuse_existing(*page);
  ComparisonQuestion question{
      .files = expand_traces(flags.positionals()),
      .on = {.cluster = *name},
      .all_steps = flags.given("--all-steps"),
      .reading = {.memory = memory_limit_of(flags),
                  .lenient = flags.given("--lenient"),
                  .strict = flags.given("--strict"),
                  .note = [&](const std::string& text) { console.info() << "note: " << text << "\n"; }}};
  if (const auto top = flags.integer("--top", 0)) question.top = static_cast<std::size_t>(*top);
  const ComparisonAnswer answer = compare(question);
  if (answer.never_quiet)
    console.warnings()
        << "warning: every step was disturbed by what else the machine did: the measured times "
           "are too long\n";
  if (page) {
    TimelineView timeline;
    timeline.title = format("{}: measured and predicted", question.files.front().filename().string());
    timeline.subtitle =
        format("{:+.1f}%: measured {}, predicted {} on {}; single ops: median error {:.1f}%",
               100 * answer.iteration_error(), to_string(answer.result.measured_iteration),
               to_string(answer.predicted_iteration), answer.cluster.name, 100 * answer.result.median_error);
    timeline_of_comparison(timeline, answer.compared);
    write_timeline_page(timeline, *page, overwrite);
    console.info() << format("wrote {}\n", *page);
  }
  if (flags.given("--json"))
    console.out << dump_json(prediction_json(answer));
  else
    print_prediction(answer, console.out, style_for(console));
}

}  // namespace nadi::inline show
