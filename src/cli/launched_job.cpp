#include "nadi/cli/launched_job.h"

#include <algorithm>
#include <array>
#include <ostream>

#include "nadi/base/format.h"
#include "nadi/report/rank_output.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_stream.h"

namespace nadi {
namespace {

constexpr std::array<std::string_view, 3> kFolderFlags{"--save-dir", "--save", "--load"};

constexpr std::string_view kLessMemory =
    "a smaller batch or sequence, --recompute full, or fewer ranks on a machine need less";

}  // namespace

std::vector<std::string> words_to_resume(const std::vector<std::string>& words) {
  if (words.empty() || words[0] != "train") return words;
  bool saves = false;
  for (const std::string& word : words) {
    std::string flag = word.substr(0, word.find('='));
    std::ranges::replace(flag, '_', '-');
    if (flag == "--resume" || flag == "--resume-if-any") return words;
    saves = saves || std::ranges::find(kFolderFlags, flag) != kFolderFlags.end();
  }
  std::vector<std::string> resuming = words;
  if (saves) resuming.emplace_back("--resume-if-any");  // it may have failed before its first checkpoint
  return resuming;
}

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
    request.environment = options.environment;
    const LaunchResult result = launch(request, printer, stop_asked);
    if (result.stopped && !console.interrupted()) {
      // Of what only prints, nothing is lost.
      if (!trains) throw ClosedPipe{};
      throw SaidFailure{};
    }
    if (result.stopped) throw Interrupted{};
    if (!result.failure) return;
    printer.print_failure(*result.failure, kLessMemory);
    if (restarts == options.max_restarts || !result.failure->may_go_away())
      throw SaidFailure{result.exit_code()};
    words = words_to_resume(words);
    console.info() << format("note: starting again, {} of {}\n", restarts + 1, options.max_restarts);
  }
}

}  // namespace nadi
