#include "nadi/launched/launched_job.h"

#include <ostream>

#include "nadi/base/format.h"
#include "nadi/job_files/resumed_words.h"
#include "nadi/launched/rank_end.h"
#include "nadi/report/rank_output.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_stream.h"

namespace nadi::inline show {
namespace {

constexpr std::string_view kLessMemory =
    "a smaller batch or sequence, --recompute full, or fewer ranks on a machine need less";

}  // namespace

void run_job(const JobOptions& options, Console& console) {
  RankOutput printer(console, {.prefix = options.prefix, .json = options.json});
  const bool trains = !options.words.empty() && options.words[0] == "train";
  bool announced = false;
  const auto stop_asked = [&] {
    const bool interrupted = console.interrupted();
    if (!interrupted && !printer.reader_gone()) return false;
    if (!announced && interrupted)
      console.info() << "note: stopping the ranks; Ctrl-C again ends them at once\n";
    if (!announced && !interrupted && trains)
      console.info() << "note: nobody reads standard output any more: stopping the ranks\n";
    announced = true;
    return true;
  };
  std::vector<std::string> words = options.words;
  for (int restarts = 0;; ++restarts) {
    LaunchRequest request = request_for_self(options.ranks, words);
    request.hosts = options.hosts;
    request.hostfile = options.hostfile;
    request.nodes = options.nodes;
    request.environment = options.environment;
    request.environment.emplace_back(kCommTimeoutVariable, format("{}", options.comm_timeout.count()));
    request.comm_timeout = options.comm_timeout;
    request.collectives_folder = options.collectives_folder;
    request.output_stuck = [&](bool stopped) { end_for_stuck_output(options.comm_timeout, stopped); };
    const LaunchResult result = launch(request, printer, stop_asked);
    if (result.stopped && !console.interrupted() && printer.reader_gone()) {
      // Nothing is lost of what only prints.
      if (!trains) throw ClosedPipe{};
      throw SaidFailure{};
    }
    if (result.stopped && result.hung_at_stop) printer.print_hang_at_stop(*result.hung_at_stop);
    if (result.stopped) throw Interrupted{};
    if (!result.failure) return;
    printer.print_failure(*result.failure, result.failure->hang ? comm_timeout_hint() : kLessMemory);
    if (restarts == options.max_restarts || !result.failure->may_go_away())
      throw SaidFailure{result.exit_code()};
    words = words_to_resume(words);
    console.info() << format("note: starting again, {} of {}\n", restarts + 1, options.max_restarts);
  }
}

}  // namespace nadi::inline show
