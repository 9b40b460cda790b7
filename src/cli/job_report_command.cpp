// nadi job report
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cli/chosen_job.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/draw/job_page.h"
#include "nadi/draw/job_timeline.h"
#include "nadi/job_report/folder_report.h"
#include "nadi/job_report/job_report_json.h"
#include "nadi/report/job_report_text.h"
#include "nadi/scheduler/job_folder.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/progress_line.h"

namespace nadi {
namespace {

namespace fs = std::filesystem;

// Traces of ranks that the job left: trace/ in its folder.
std::vector<fs::path> traces_of(const std::vector<fs::path>& folders) {
  std::vector<fs::path> traces;
  for (const fs::path& folder : folders) {
    std::error_code problem;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder / "trace", problem)) {
      const std::string name = entry.path().filename().string();
      if (entry.is_regular_file(problem) &&
          (name.ends_with(".et") || name.ends_with(".json") || name.ends_with(".json.gz")))
        traces.push_back(entry.path());
    }
  }
  std::ranges::sort(traces);
  return traces;
}

class JobReportCommand : public Command {
 public:
  void add_flags(Flags& flags) const override {
    flags.set_positional(
        {.name = "FOLDER...",
         .help = "the folder of a job: Nadi's, or <node>.out, <node>.err and <node>.gpu as other "
                 "scripts left them; several folders that are one run, such as master and slave",
         .many = true});
    flags.add(
        {.names = {"--output"},
         .value = "FILE",
         .help =
             "write a page with everything: curves, GPUs over time, timeline of the ranks, settings, errors",
         .fallback = "none",
         .group = "output"});
    flags.add({.names = {"--compare"},
               .value = "JOB...",
               .help = "another job: settings that differ, figures beside each other, curves on one plot",
               .fallback = "none",
               .many = true});
    flags.add({.names = {"--plan"},
               .value = "FILE",
               .help = "a plan file that the job follows: its prediction is compared with what was measured",
               .fallback = "plan.json in the folder, if it is there"});
    add_outputs_flag(flags);
    flags.add(
        {.names = {"--json"}, .help = "print JSON with everything: see docs/json.md", .group = "output"});
    flags.add({.names = {"--force"}, .help = "overwrite a file that exists", .group = "output"});
    flags.show_first({"--output", "--compare"});
  }

  void run(const Flags& flags, Console& console) const override {
    const Overwrite overwrite = flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse;
    // A page that cannot be written is refused before gigabytes are read.
    if (const auto page = flags.text("--output")) AtomicFile(*page, overwrite);
    const fs::path outputs = outputs_flag(flags);
    const std::optional<fs::path> plan =
        flags.given("--plan") ? std::optional<fs::path>(*flags.text("--plan")) : std::nullopt;
    const JobReport report = read_report(folders_of(flags.positionals(), outputs), plan, console);
    std::optional<JobReport> other;
    if (flags.given("--compare"))
      other = read_report(folders_of(flags.texts("--compare"), outputs), std::nullopt, console);

    std::optional<Bytes> page_size;
    if (const auto page = flags.text("--output"))
      page_size = write_page(report, other ? &*other : nullptr, *page, overwrite, console);
    if (flags.given("--json")) {
      console.out << job_report_json(report, {.compared_with = other ? &*other : nullptr});
    } else {
      print_job_report(report, console.out,
                       {.style = style_for(console), .compared_with = other ? &*other : nullptr});
      if (page_size) console.out << format("\n{} ({})\n", *flags.text("--output"), to_string(*page_size));
    }
  }

 private:
  static std::vector<fs::path> folders_of(const std::vector<std::string>& words, const fs::path& outputs) {
    std::vector<fs::path> folders;
    for (const std::string& word : words) {
      const std::optional<fs::path> folder = find_job_folder(word, outputs);
      if (!folder)
        throw usage_error(
            format("there is no job and no folder {}", word),
            format("give a folder that has <node>.out, or a job whose folder lies in {}; --outputs names "
                   "another one",
                   outputs.string()));
      folders.push_back(*folder);
    }
    return folders;
  }

  static JobReport read_report(const std::vector<fs::path>& folders, const std::optional<fs::path>& plan,
                               Console& console) {
    ProgressLine progress(console, "logs", steady_clock());
    return report_of_folders(
        folders, {.now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()),
                  .plan = plan,
                  .progress = [&](Bytes done, Bytes total) { progress.update(done, total); }});
  }

  static Bytes write_page(const JobReport& report, const JobReport* other, const fs::path& path,
                          Overwrite overwrite, Console& console) {
    std::string problem;
    const std::optional<TimelineView> timeline =
        job_timeline(report, {.traces = traces_of(report.folders)}, &problem);
    if (!problem.empty()) console.info() << "note: no timeline: " << problem << "\n";
    return write_job_page(
        {.report = &report, .compared_with = other, .timeline = timeline ? &*timeline : nullptr}, path,
        overwrite);
  }
};

}  // namespace

std::unique_ptr<Command> make_job_report_command() {
  return std::make_unique<JobReportCommand>();
}

}  // namespace nadi
