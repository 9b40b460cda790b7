#include "nadi/cli/launched_job.h"

#include <algorithm>
#include <array>
#include <map>
#include <ostream>

#include "nadi/base/format.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_stream.h"

namespace nadi {
namespace {

constexpr std::array<std::string_view, 3> kFolderFlags{"--save-dir", "--save", "--load"};

class JobPrinter : public LaunchListener {
 public:
  JobPrinter(Console& console, const JobOptions& options)
      : console_(console), prefix_(options.prefix), json_(options.json) {}

  void rank_printed(int rank, OutputKind kind, std::string_view line) override {
    if (kind == OutputKind::kOut) return rank_told(rank, line);
    ++err_lines_;
    last_err_line_[rank] = err_lines_;
    if (was_said_by_another(rank, line)) return;
    print(prefix_ ? format("[{}]", rank) : "", line, console_.err, console_.colour_err);
  }
  void mpirun_printed(std::string_view line) override {
    ++err_lines_;
    print(prefix_ ? "[mpirun]" : "", line, console_.err, console_.colour_err);
  }
  void caught_up() override {
    while_read([&] { console_.out.flush(); });
    console_.err.flush();
  }

  // Nobody reads standard output any more.
  bool reader_gone() const { return reader_gone_; }

  // Whether the user has what the rank said last before the eyes.
  bool just_said(int rank) const {
    constexpr std::int64_t kInView = 10;  // lines
    const auto last = last_err_line_.find(rank);
    return last != last_err_line_.end() && err_lines_ - last->second < kInView;
  }

 private:
  // One document: that of rank 0, as rank 0 printed it.
  void rank_told(int rank, std::string_view line) {
    if (json_ && rank != 0) return;
    const std::string label = prefix_ && !json_ ? format("[{}]", rank) : "";
    while_read([&] { print(label, line, console_.out, console_.colour_out); });
  }

  template <class Print>
  void while_read(const Print& print) {
    if (reader_gone_) return;
    try {
      print();
    } catch (const ClosedPipe&) {
      reader_gone_ = true;
    }
  }

  // What is wrong with the input is found by all ranks: it is said once.
  bool was_said_by_another(int rank, std::string_view line) {
    if (!line.starts_with("error: ") && !line.starts_with("  hint: ")) return false;
    return said_.try_emplace(std::string(line), rank).first->second != rank;
  }

  static void print(const std::string& label, std::string_view line, std::ostream& out, bool colour) {
    if (label.empty())
      out << line << '\n';
    else if (colour)
      out << "\033[2m" << label << "\033[0m " << line << '\n';
    else
      out << label << ' ' << line << '\n';
  }

  Console& console_;
  bool prefix_;
  bool json_;
  bool reader_gone_ = false;
  std::map<std::string, int> said_;  // errors, and which rank was first
  std::int64_t err_lines_ = 0;       // so far, of all ranks
  std::map<int, std::int64_t> last_err_line_;
};

void print_failure(const LaunchFailure& failure, const JobPrinter& printer, Console& console) {
  console.err << (console.colour_err ? "\033[1;31merror:\033[0m " : "error: ") << failure.to_string() << '\n';
  if (failure.out_of_memory)
    console.err
        << "  hint: a smaller batch or sequence, --recompute full, or fewer ranks on a machine need less\n";
  if (failure.last_lines.empty() || printer.just_said(*failure.rank)) return;
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
    if (flag == "--resume" || flag == "--resume-if-any") return words;
    saves = saves || std::ranges::find(kFolderFlags, flag) != kFolderFlags.end();
  }
  std::vector<std::string> resuming = words;
  if (saves) resuming.emplace_back("--resume-if-any");  // it may have failed before its first checkpoint
  return resuming;
}

void run_job(const JobOptions& options, Console& console) {
  JobPrinter printer(console, options);
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
    print_failure(*result.failure, printer, console);
    if (restarts == options.max_restarts || !may_go_away(*result.failure))
      throw SaidFailure{result.exit_code()};
    words = words_to_resume(words);
    console.info() << format("note: starting again, {} of {}\n", restarts + 1, options.max_restarts);
  }
}

}  // namespace nadi
