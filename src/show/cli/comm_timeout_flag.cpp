#include "nadi/cli/comm_timeout_flag.h"

#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/parse_duration.h"
#include "nadi/base/read_number.h"
#include "nadi/command_line/flags.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kTimeoutFlag = "--comm-timeout";
constexpr milliseconds kLeastTimeout{1000};
constexpr int kHungExitCode = 1;

milliseconds parse_timeout(std::string_view name, const std::string& text) {
  const std::optional<Nanoseconds> time = parse_duration(text);
  if (!time)
    throw usage_error(format("{}: '{}' is not a duration", name, text), "for example 90s, 10min, or 0");
  const milliseconds whole(time->count() / 1'000'000);
  if (time->count() > 0 && whole < kLeastTimeout)
    throw usage_error(format("{} is {}; it is at least 1 s, or 0 for no limit", name, text));
  return whole;
}

// Standard error may be the pipe that is full: it gets a moment.
void say_at_once(const std::string& text) {
  constexpr int kPatienceMs = 1000;
  for (std::size_t at = 0; at < text.size();) {
    pollfd entry{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    if (poll(&entry, 1, kPatienceMs) <= 0 || (entry.revents & POLLOUT) == 0) return;
    // As much as a pipe that can be written to takes for certain.
    constexpr std::size_t kAtOnce = 512;
    const ssize_t written = write(STDERR_FILENO, text.data() + at, std::min(kAtOnce, text.size() - at));
    if (written <= 0) return;
    at += static_cast<std::size_t>(written);
  }
}

std::string whole_seconds_text(milliseconds time) {
  return format("{} s", (time.count() + 500) / 1000);
}

}  // namespace

void add_comm_timeout_flag(Flags& flags, std::string_view group) {
  FlagHeading(flags, group)
      .value(kTimeoutFlag, "TIME",
             "end the ranks when none has made progress for so long: 90s, 10min; 0 disables the limit",
             "10min");
}

std::optional<milliseconds> given_comm_timeout(const Flags& flags) {
  if (flags.find(kTimeoutFlag) == nullptr) return std::nullopt;
  const auto text = flags.text(kTimeoutFlag);
  return text ? std::optional(parse_timeout(kTimeoutFlag, *text)) : std::nullopt;
}

milliseconds comm_timeout_of(const Flags& flags) {
  if (const auto given = given_comm_timeout(flags)) return *given;
  const char* const launched = std::getenv(kCommTimeoutVariable);
  if (launched == nullptr) return kDefaultCommTimeout;
  const std::string_view text = launched;
  std::int64_t number = 0;
  if (!read_number(text, number) || number < 0)
    throw usage_error(format("{} is '{}', not a number of milliseconds", kCommTimeoutVariable, text));
  return milliseconds(number);
}

std::filesystem::path collectives_folder(const Flags& flags) {
  for (const std::string_view name : {"--save-dir", "--save"})
    if (flags.find(name) != nullptr)
      if (const auto folder = flags.text(flags.find(name)->names[0])) return *folder;
  const char* const job = std::getenv("JOB_FOLDER");  // scheduler/job_variables.h
  std::error_code ignored;
  return job != nullptr && std::filesystem::is_directory(job, ignored) ? std::filesystem::path(job) : ".";
}

RankWatchOptions rank_watch_options(const Flags& flags, const Console& console) {
  RankWatchOptions options{.timeout = comm_timeout_of(flags),
                           .collectives_folder = collectives_folder(flags)};
  if (flags.find("--save-dir") != nullptr && flags.given("--save-dir"))
    options.shared_folder = options.collectives_folder;
  options.under_mpirun = std::getenv("OMPI_COMM_WORLD_RANK") != nullptr;  // MPI itself may set it later
  const Interruption* const interruption = console.interruption;
  options.stop_asked = [interruption] {
    return interruption != nullptr && interruption->wish() != EndWish::kNone;
  };
  options.end = [interruption](const RankWatchOptions::End& end) {
    std::string text;
    if (end.stopped)
      text = "error: asked to end, and nothing gets on: ended at once\n";
    else
      text = format("error: no rank has made progress for {}: the ranks were ended\n",
                    whole_seconds_text(end.report->idle));
    for (const std::string& line : end.report->lines) text += "  " + line + "\n";
    if (!end.report->file.empty())
      text += format("  the last collectives of every rank: {}\n", end.report->file.string());
    if (!end.report->file_problem.empty())
      text += format("  the last collectives were not written: {}\n", end.report->file_problem);
    if (!end.stopped) text += format("  hint: {}\n", comm_timeout_hint());
    if (end.tells) say_at_once(text);
    _exit(end.stopped && interruption != nullptr ? interruption->exit_code() : kHungExitCode);
  };
  return options;
}

void end_for_stuck_output(milliseconds timeout, bool stopped) {
  if (stopped) {
    say_at_once("error: asked to end, and nobody reads what the ranks print: ended at once\n");
    _exit(kInterruptedExitCode);
  }
  say_at_once(
      format("error: nobody has read standard output or standard error for {}: the ranks were ended\n  hint: "
             "write to a file, or let the reader read; {}\n",
             whole_seconds_text(timeout), comm_timeout_hint()));
  _exit(kHungExitCode);
}

std::string_view comm_timeout_hint() {
  return "--comm-timeout 30min waits longer, --comm-timeout 0 for ever";
}

}  // namespace nadi::inline show
