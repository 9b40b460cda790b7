// nadi job report
#include <optional>
#include <ostream>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cli/outputs_flag.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/draw/job_page.h"
#include "nadi/draw/job_timeline.h"
#include "nadi/job_report/job_report_json.h"
#include "nadi/report/job_report_text.h"
#include "nadi/supervision/job_report_question.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/progress_line.h"

namespace nadi::inline show {
namespace {

std::optional<TimelineView> timeline_of(const JobReport& report, Console& console) {
  std::string problem;
  std::optional<TimelineView> timeline =
      job_timeline(report, {.traces = find_job_traces(report.folders)}, &problem);
  if (!problem.empty()) console.info() << "note: no timeline: " << problem << "\n";
  return timeline;
}

}  // namespace

void add_job_report_flags(Flags& flags) {
  flags.set_positional({.name = "FOLDER...",
                        .help =
                            "the folder of a job: Nadi's, or <node>.out, <node>.err and <node>.gpu as other "
                            "scripts left them; several folders that are one run, such as master and slave",
                        .many = true});
  FlagHeading output(flags, "output");
  output.value(
      "--output", "FILE.html",
      "write a page with everything: curves, GPUs over time, timeline of the ranks, settings, errors",
      "none");
  flags.value("--compare", "JOB...",
              "another job: settings that differ, figures beside each other, curves on one plot", "none",
              {.many = true});
  flags.value("--plan", "FILE",
              "a plan file that the job follows: its prediction is compared with what was measured",
              "plan.json in the folder, if it is there");
  flags.value("--from", "FILE",
              "settings file of the modified Megatron-LM: what was asked for, for folders of its scripts",
              "job.json in the folder, if it is there");
  add_outputs_flag(flags);
  output.toggle("--json", "print JSON with everything: see docs/json.md");
  output.toggle("--force", "overwrite a file that exists");
  flags.show_first({"--output", "--compare"});
}

void run_job_report(const Flags& flags, Console& console) {
  const Overwrite overwrite = flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse;
  // A page that cannot be written is refused before gigabytes are read.
  if (const auto file = flags.text("--output")) AtomicFile(*file, overwrite);
  JobReportQuestion question{
      .jobs = flags.positionals(), .compared_with = flags.texts("--compare"), .outputs = outputs_flag(flags)};
  if (const auto plan = flags.text("--plan")) question.plan = *plan;
  if (const auto from = flags.text("--from")) question.old_settings = *from;
  const JobReportAnswer answer = [&] {
    ProgressLine progress(console, "logs", steady_clock());
    question.progress = [&](Bytes done, Bytes total) { progress.update(done, total); };
    return report_job(question);
  }();
  const JobReport& report = answer.report;
  const JobReport* const other = answer.other ? &*answer.other : nullptr;

  const bool json = flags.given("--json");
  const auto page = flags.text("--output");
  std::optional<TimelineView> timeline;
  if (json || page) timeline = timeline_of(report, console);
  std::optional<Bytes> page_size;
  if (page)
    page_size = write_job_page(
        {.report = &report, .compared_with = other, .timeline = timeline ? &*timeline : nullptr}, *page,
        overwrite);
  if (json) {
    console.out << job_report_json(
        report,
        {.compared_with = other, .timeline = timeline ? job_timeline_json(*timeline) : Json(nullptr)});
  } else {
    print_job_report(report, console.out, {.style = style_for(console), .compared_with = other});
    if (page_size) console.out << format("\n{} ({})\n", *page, to_string(*page_size));
  }
}

}  // namespace nadi::inline show
