// nadi job logs
#include <chrono>
#include <map>
#include <ostream>
#include <thread>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cli/outputs_flag.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/supervision/job_output.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/escaped_text.h"
#include "nadi/terminal/output_stream.h"
#include "nadi/terminal/output_width.h"
#include "nadi/terminal/wrapping_buffer.h"

namespace nadi::inline show {

void add_job_logs_flags(Flags& flags) {
  flags.set_positional({.name = "JOB",
                        .help = "id of a job, or the folder of its logs; several: the folders of one run",
                        .many = true});
  flags.value("--node", "NAME", "only of this node", "all", {.repeatable = true});
  flags.toggle("--err", "standard error in place of standard output");
  flags.toggle("--gpu", "samples of GPUs and memory in place of standard output");
  flags.toggle("--follow", "print what comes until the job has ended");
  flags.value("--lines", "N", "only the last N lines of each file", "all");
  add_outputs_flag(flags);
}

void run_job_logs(const Flags& flags, Console& console) {
  constexpr std::chrono::milliseconds kTick{200};
  const Verbatim as_it_is(console.out);
  if (flags.given("--err") && flags.given("--gpu"))
    throw usage_error("--err and --gpu contradict each other",
                      "one of them at a time; 'nadi job watch --all' has both");
  const bool follow = flags.given("--follow");
  JobOutput output({.jobs = flags.positionals(),
                    .outputs = outputs_flag(flags),
                    .nodes = flags.texts("--node"),
                    .extension = flags.given("--err")   ? ".err"
                                 : flags.given("--gpu") ? ".gpu"
                                                        : ".out",
                    .last_lines = flags.integer("--lines"),
                    .follow = follow});
  const bool headings = flags.texts("--node").size() != 1;
  const auto* const stream = dynamic_cast<const OutputStream*>(&console.out);
  const bool terminal = stream != nullptr && is_terminal(stream->descriptor());
  std::string shown;                          // the file of the last heading
  std::map<std::string, std::string> halves;  // by file: of a character whose rest was not read yet
  const auto print = [&](const std::filesystem::path& file, std::string_view bytes) {
    if (headings && shown != file.string())
      console.out << (shown.empty() ? "" : "\n")
                  << console.heading(format("==> {} <==", file.filename().string())) << "\n";
    shown = file.string();
    if (terminal)
      console.out << escaped_text(bytes, halves[shown]);
    else
      console.out << bytes;
    console.check_interrupted();
  };
  for (;;) {
    const bool news = output.read(print);
    if (!follow) return;
    // What came before the end is read once more.
    if (!news && output.ended()) {
      output.read(print);
      return;
    }
    console.out << std::flush;
    console.check_interrupted();
    std::this_thread::sleep_for(kTick);
    console.check_interrupted();
  }
}

}  // namespace nadi::inline show
