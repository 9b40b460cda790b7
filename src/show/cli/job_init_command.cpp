// nadi job init
#include <array>
#include <ostream>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/process/find_program.h"
#include "nadi/scheduler/job_folder.h"
#include "nadi/scheduler/job_start.h"
#include "nadi/scheduler/scheduler.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/wrapping_buffer.h"

namespace nadi::inline show {
namespace {

// A start is worth having also where Slurm does not answer: the file says so.
std::vector<SchedulerNode> nodes_or_none(SchedulerKind kind, Console& console) {
  try {
    return make_scheduler(kind, {.outputs = std::string(kDefaultJobOutputs)})->nodes();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kEnvironment) throw;
    console.warnings() << format("warning: {}: the file names no partition\n", error.message());
    return {};
  }
}

}  // namespace

void add_job_init_flags(Flags& flags) {
  flags.value("--scheduler", "NAME", "who runs the job; slurm is asked what it has (sinfo)",
              "slurm where sinfo is installed, else local",
              {.choices = {to_string(SchedulerKind::kSlurm), to_string(SchedulerKind::kLocal)}});
  flags.value("--output", "FILE", "where the job file goes", "printed");
  flags.toggle("--force", "overwrite an existing file");
}

void run_job_init(const Flags& flags, Console& console) {
  constexpr std::array kKinds{SchedulerKind::kSlurm, SchedulerKind::kLocal};
  const auto output = flags.text("--output");
  if (flags.given("--force") && !output)
    throw usage_error("--force needs --output", "it overwrites the file that -o names");
  const Overwrite overwrite = flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse;
  if (output && overwrite == Overwrite::kRefuse) refuse_existing(*output);
  const std::size_t fallback = find_program("sinfo") ? 0 : 1;
  const SchedulerKind kind = kKinds[flags.choice("--scheduler").value_or(fallback)];
  const std::string text = job_start_text(kind, nodes_or_none(kind, console));
  if (!output) {
    print_verbatim(console.out, text);
    return;
  }
  write_atomically(*output, text, overwrite);
  console.out << format("job file {}\n", *output);
}

}  // namespace nadi::inline show
