// nadi job watch
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ostream>
#include <set>
#include <thread>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/parse_duration.h"
#include "nadi/cli/outputs_flag.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/report/job_result_text.h"
#include "nadi/report/watch_report.h"
#include "nadi/supervision/job_watch.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/full_screen.h"
#include "nadi/terminal/output_stream.h"

namespace nadi::inline show {
namespace {

using std::chrono::milliseconds;
using WatchClock = std::chrono::steady_clock;

constexpr int kUnhealthyExitCode = 1;
// While it catches up with long logs, a frame comes at least so often.
constexpr Nanoseconds kMostReading{120'000'000};
constexpr milliseconds kKeyPatience{100};

void wait_for(milliseconds time, const Console& console) {
  constexpr milliseconds kTick{100};
  for (const auto end = WatchClock::now() + time; WatchClock::now() < end;) {
    console.check_interrupted();
    std::this_thread::sleep_for(
        std::min<milliseconds>(kTick, std::chrono::ceil<milliseconds>(end - WatchClock::now())));
  }
  console.check_interrupted();
}

void end_with(const WatchedState& state) {
  if (!is_healthy(state.findings)) throw SaidFailure{kUnhealthyExitCode};
}

void once(JobWatch& watcher, bool json, Console& console) {
  const WatchedState state = watcher.look();
  if (json)
    console.out << dump_json(watch_json(state));
  else
    print_watch(state, console.out, style_for(console));
  end_with(state);
}

// A line when something changed, and each finding when it is new.
void lines(JobWatch& watcher, milliseconds pause, bool json, Console& console) {
  std::string before, problem;
  std::set<std::string> known;
  for (;;) {
    const WatchedState state = watcher.look({.last = false});
    if (state.status_problem != problem && !state.status_problem.empty())
      console.warnings() << format("warning: the scheduler: {}\n", state.status_problem);
    problem = state.status_problem;
    if (json) {
      console.out << watch_json(state).dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
    } else {
      const std::string line = watch_line(state);
      if (line != before) console.out << line << "\n";
      before = line;
      std::set<std::string> now;
      for (const HealthFinding& finding : state.findings) {
        constexpr std::size_t kLongest = 1000;
        const std::string text = screen_text(finding_line(finding), kLongest);
        // A text with a growing number in it ("no progress for 5 min") is the same finding.
        const std::string key =
            format("{} {} {}", static_cast<int>(finding.rule), static_cast<int>(finding.severity),
                   finding.rule == HealthRule::kNoProgress ? "" : finding.text);
        if (!known.contains(key)) console.out << "  " << text << "\n";
        now.insert(key);
      }
      known = std::move(now);
    }
    console.out << std::flush;
    if (watcher.has_ended(state)) return end_with(state);
    wait_for(pause, console);
  }
}

void screen(JobWatch& watcher, milliseconds pause, int output, Console& console) {
  std::optional<WatchedState> state;
  {
    FullScreen full(STDIN_FILENO, output);
    ScreenView view{.colour = console.colour_out};
    auto next = WatchClock::now();
    for (bool stays = true; stays && !console.interrupted();) {
      if (WatchClock::now() >= next) {
        state.emplace(watcher.look({.reading = kMostReading, .patience = milliseconds(0)}));
        next = WatchClock::now() + (watcher.whole() ? pause : milliseconds(0));
      }
      const ScreenSize size = full.size();
      view.columns = size.columns;
      view.rows = size.rows;
      full.show(watch_screen(*state, view));
      const auto left = std::chrono::ceil<milliseconds>(next - WatchClock::now());
      stays = act(full.wait(std::clamp(left, milliseconds(0), kKeyPatience)), *state, view);
    }
  }
  console.check_interrupted();
  if (state) {
    // What was seen last stays readable after the screen is gone.
    console.out << state->title << ": " << watch_line(*state) << "\n";
    end_with(*state);
  }
}

}  // namespace

void add_job_watch_flags(Flags& flags) {
  flags.set_positional({.name = "JOB",
                        .help = "id of a job, or the folder of its logs, ours or of other scripts; "
                                "several: the folders of one run",
                        .many = true});
  flags.toggle("--once", "print how it is now, and end");
  flags.toggle("--all",
               "print everything once, as get_result.sh of the modified Megatron-LM does: last lines of "
               "output, errors and GPUs of each node, settings, times of iterations");
  flags.value("--interval", "TIME", "time between two looks", "2");
  flags.value("--start-patience", "TIME", "how long the first iteration may take: 90s, 30min",
              format("10min, or {} steps as the plan of the job predicts them", kStartSteps));
  flags.value("--from", "FILE",
              "settings file of the modified Megatron-LM: what was asked for, for folders of its scripts",
              "job.json in the folder, if it is there");
  flags.toggle("--json", "print JSON: one object with --once, else one in a line for each look");
  add_outputs_flag(flags);
}

void run_job_watch(const Flags& flags, Console& console) {
  constexpr double kLongestInterval = 86400, kShortestInterval = 0.1;
  const double interval = flags.number("--interval", kLongestInterval).value_or(2);
  if (interval < kShortestInterval)
    throw usage_error(format("--interval is {}, at least {}", interval, kShortestInterval));
  const milliseconds pause(static_cast<std::int64_t>(interval * 1000));
  const bool json = flags.given("--json");
  JobWatchQuestion question{.jobs = flags.positionals(),
                            .outputs = outputs_flag(flags),
                            .old_settings = flags.text("--from").value_or(""),
                            .interval = pause};
  if (const auto text = flags.text("--start-patience")) {
    const auto time = parse_duration(*text);
    constexpr std::int64_t kSecond = 1'000'000'000;
    if (!time || time->count() < kSecond)
      throw usage_error(format("--start-patience: '{}' is not a duration of a second or more", *text),
                        "for example 90s or 30min");
    question.start_patience = std::chrono::seconds(time->count() / kSecond);
  }
  JobWatch watcher(question);
  const auto* const output = dynamic_cast<const OutputStream*>(&console.out);
  if (flags.given("--all")) {
    if (json)
      throw usage_error("--all and --json contradict each other", "--once --json has the job as JSON");
    const WatchedState state = watcher.look();
    print_job_result(state, watcher.asked(), console.out, style_for(console));
    end_with(state);
  } else if (flags.given("--once")) {
    once(watcher, json, console);
  } else if (!json && output != nullptr && FullScreen::is_possible(STDIN_FILENO, output->descriptor())) {
    screen(watcher, pause, output->descriptor(), console);
  } else {
    lines(watcher, pause, json, console);
  }
}

}  // namespace nadi::inline show
