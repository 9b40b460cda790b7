#include "nadi/cli/launched_job.h"

#include <algorithm>
#include <array>
#include <map>
#include <ostream>

#include "nadi/base/format.h"
#include "nadi/cli/console.h"

namespace nadi {
namespace {

constexpr std::array<std::string_view, 3> kFolderFlags{"--save-dir", "--save", "--load"};

class JobPrinter : public LaunchListener {
 public:
  JobPrinter(Console& console, bool prefix) : console_(console), prefix_(prefix) {}

  void rank_printed(int rank, OutputKind kind, std::string_view line) override {
    if (kind == OutputKind::kErr && was_said_by_another(rank, line)) return;
    if (kind == OutputKind::kOut)
      print(format("[{}]", rank), line, console_.out, console_.colour_out);
    else
      print(format("[{}]", rank), line, console_.err, console_.colour_err);
  }
  void mpirun_printed(std::string_view line) override {
    print("[mpirun]", line, console_.err, console_.colour_err);
  }
  void caught_up() override {
    console_.out.flush();
    console_.err.flush();
  }

 private:
  // What is wrong with the input is found by all ranks: it is said once.
  bool was_said_by_another(int rank, std::string_view line) {
    if (!line.starts_with("error: ") && !line.starts_with("  hint: ")) return false;
    return said_.try_emplace(std::string(line), rank).first->second != rank;
  }

  void print(const std::string& label, std::string_view line, std::ostream& out, bool colour) const {
    if (!prefix_)
      out << line << '\n';
    else if (colour)
      out << "\033[2m" << label << "\033[0m " << line << '\n';
    else
      out << label << ' ' << line << '\n';
  }

  Console& console_;
  bool prefix_;
  std::map<std::string, int> said_;  // errors, and which rank was first
};

void print_failure(const LaunchFailure& failure, Console& console) {
  console.err << (console.colour_err ? "\033[1;31merror:\033[0m " : "error: ") << failure.to_string() << '\n';
  if (failure.last_lines.empty()) return;
  console.err << "  its last lines:\n";
  for (const std::string& line : failure.last_lines) console.err << "    " << line << '\n';
}

// A lost connection or a full disk may be gone the next time; a mistake is not.
bool may_go_away(const LaunchFailure& failure) {
  if (!failure.rank) return false;
  const int code = failure.status.value_or(EndStatus{}).exit_code;
  return code != 2 && code != 3 && code != 5;
}

}  // namespace

std::vector<std::string> words_to_resume(const std::vector<std::string>& words) {
  if (words.empty() || words[0] != "train") return words;
  bool saves = false;
  for (const std::string& word : words) {
    std::string flag = word.substr(0, word.find('='));
    std::ranges::replace(flag, '_', '-');
    if (flag == "--resume") return words;
    saves = saves || std::ranges::find(kFolderFlags, flag) != kFolderFlags.end();
  }
  std::vector<std::string> resuming = words;
  if (saves) resuming.emplace_back("--resume");
  return resuming;
}

void run_job(const JobOptions& options, Console& console) {
  JobPrinter printer(console, options.prefix);
  bool announced = false;
  const auto stop_asked = [&] {
    const bool stop = console.interrupted != nullptr && *console.interrupted != 0;
    if (stop && !announced) console.err << "note: stopping the ranks; Ctrl-C again ends them at once\n";
    announced = stop;
    return stop;
  };
  std::vector<std::string> words = options.words;
  for (int restarts = 0;; ++restarts) {
    LaunchRequest request = request_for_self(options.ranks, words);
    request.hosts = options.hosts;
    request.hostfile = options.hostfile;
    request.environment = options.environment;
    const LaunchResult result = launch(request, printer, stop_asked);
    if (result.stopped) throw Interrupted{};
    if (!result.failure) return;
    print_failure(*result.failure, console);
    if (restarts == options.max_restarts || !may_go_away(*result.failure))
      throw SaidFailure{result.exit_code()};
    words = words_to_resume(words);
    console.err << format("note: starting again, {} of {}\n", restarts + 1, options.max_restarts);
  }
}

}  // namespace nadi
