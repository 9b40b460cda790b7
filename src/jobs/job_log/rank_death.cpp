#include "nadi/job_log/rank_death.h"

#include <string.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <vector>

#include "nadi/base/ascii.h"
#include "nadi/base/format.h"
#include "nadi/base/natural_order.h"
#include "nadi/base/read_number.h"
#include "nadi/job_log/log_text.h"

namespace nadi::inline jobs {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMostRead = std::size_t{1} << 20;

// Signals as strsignal() of glibc, shells, srun and launchers say them.
struct SignalWords {
  std::string_view text;
  int signal;
};
constexpr std::array kSignalWords{
    SignalWords{"Segmentation fault", SIGSEGV},
    SignalWords{"Illegal instruction", SIGILL},
    SignalWords{"Bus error", SIGBUS},
    SignalWords{"Floating point exception", SIGFPE},
    SignalWords{"Aborted", SIGABRT},
    SignalWords{"Killed", SIGKILL},
    SignalWords{"Trace/breakpoint trap", SIGTRAP},
    SignalWords{"Bad system call", SIGSYS},
    SignalWords{"CPU time limit exceeded", SIGXCPU},
    SignalWords{"File size limit exceeded", SIGXFSZ},
};

// The number behind `before`; nothing where there is none.
std::optional<int> number_after(std::string_view text, std::string_view before) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(at + before.size());
  int number = 0;
  return take_number(rest, number) ? std::optional(number) : std::nullopt;
}

// Letters up to a space, a comma, a colon or the end.
std::string_view word_after(std::string_view text, std::string_view before) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + before.size());
  return rest.substr(0, rest.find_first_of(" ,:;"));
}

// An exit code above 128 is what shells make of a signal, one below 0 what Python does.
void take_code(RankDeath& death, int code) {
  constexpr int kShellSignals = 128, kMostSignals = 64;
  if (code < 0)
    death.signal = -code;
  else if (code > kShellSignals && code <= kShellSignals + kMostSignals)
    death.signal = code - kShellSignals;
  else
    death.exit_code = code;
}

// "srun: error: n061: tasks 4-7: Segmentation fault (core dumped)"
std::optional<RankDeath> of_srun(std::string_view text) {
  constexpr std::string_view kBegin = "srun: error: ";
  const std::size_t at = text.find(kBegin);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + kBegin.size());
  const std::size_t node_end = text.find(": task");
  if (node_end == std::string_view::npos) return std::nullopt;
  RankDeath death{.node = std::string(text.substr(0, node_end))};
  text.remove_prefix(node_end + 2);
  const std::size_t tasks_end = text.find(": ");
  if (tasks_end == std::string_view::npos) return std::nullopt;
  std::string_view tasks = text.substr(0, tasks_end);
  const bool several = tasks.starts_with("tasks ");
  tasks.remove_prefix(std::min<std::size_t>(tasks.size(), several ? 6 : 5));
  death.who = format("rank{} {}", several ? "s" : "", tasks);
  const std::string_view what = text.substr(tasks_end + 2);
  if (const auto code = number_after(what, "exit code ")) {
    take_code(death, *code);
    return death;
  }
  death.out_of_memory = what.starts_with("Out Of Memory");
  for (const SignalWords& words : kSignalWords)
    if (what.starts_with(words.text)) death.signal = words.signal;
  if (const auto signal = number_after(what, "signal ")) death.signal = *signal;
  if (death.signal == 0 && !death.out_of_memory) return std::nullopt;  // "Terminated": it was told to
  return death;
}

// "mpirun noticed that process rank 1 with PID 4711 on node n1 exited on signal 9 (Killed)."
std::optional<RankDeath> of_mpirun(std::string_view text) {
  if (const auto rank = number_after(text, "noticed that process rank ")) {
    RankDeath death{.who = format("rank {}", *rank), .node = std::string(word_after(text, " on node "))};
    const auto signal = number_after(text, "signal ");
    if (!signal) return std::nullopt;
    death.signal = *signal;
    return death;
  }
  if (const auto rank = number_after(text, "MPI_ABORT was invoked on rank ")) {
    RankDeath death{.who = format("rank {}", *rank), .aborted = true};
    death.exit_code = number_after(text, "errorcode ");
    return death;
  }
  constexpr std::string_view kString = "TERMINATED WITH THE EXIT STRING: ";
  if (const std::size_t at = text.find(kString); at != std::string_view::npos) {
    const auto signal = number_after(text.substr(at), "(signal ");
    if (!signal) return std::nullopt;
    return RankDeath{.signal = *signal};
  }
  return std::nullopt;
}

// "[E...] failed (exitcode: -9) local_rank: 0 (pid: 4711) of binary: ..."
std::optional<RankDeath> of_torchrun(std::string_view text) {
  const auto code = number_after(text, "failed (exitcode: ");
  if (!code) return std::nullopt;
  RankDeath death;
  if (const auto rank = number_after(text, "local_rank: ")) death.who = format("local rank {}", *rank);
  take_code(death, *code);
  return death;
}

// "error: rank 1 on n1 was ended by signal 11 (Segmentation fault)", "rank 1 failed with exit code 3", "rank
// 1 was killed because memory ran out: signal 9 (Killed)"
std::optional<RankDeath> of_launch(std::string_view text) {
  const std::size_t begin = text.find("rank ");
  if (begin == std::string_view::npos || (begin > 0 && text[begin - 1] != ' ')) return std::nullopt;
  const std::string_view rest = text.substr(begin);
  const auto rank = number_after(rest, "rank ");
  if (!rank) return std::nullopt;
  RankDeath death{.who = format("rank {}", *rank)};
  std::size_t verb = std::string_view::npos;
  if (const auto signal = number_after(rest, " was ended by signal ")) {
    verb = rest.find(" was ended by ");
    death.signal = *signal;
  } else if (const auto code = number_after(rest, " failed with exit code ")) {
    verb = rest.find(" failed with ");
    death.exit_code = *code;
  } else if ((verb = rest.find(" was killed because memory ran out")) != std::string_view::npos) {
    death.signal = SIGKILL;
    death.out_of_memory = true;
  } else {
    return std::nullopt;
  }
  const std::string_view subject = rest.substr(0, verb);
  if (const std::size_t on = subject.find(" on "); on != std::string_view::npos)
    death.node = std::string(subject.substr(on + 4));
  return death;
}

// "nadi: 2026-01-31T09:05:00Z rank 1 ended with exit code 139", "... the command ended with exit code 3"
std::optional<RankDeath> of_script(std::string_view text) {
  if (!text.starts_with("nadi: ")) return std::nullopt;
  const auto code = number_after(text, " ended with exit code ");
  if (!code || *code == 0 || text.find(" the ranks ended") != std::string_view::npos) return std::nullopt;
  RankDeath death;
  if (const auto rank = number_after(text, " rank ")) death.who = format("rank {}", *rank);
  take_code(death, *code);
  return death;
}

// "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. ..."
std::optional<RankDeath> of_stepd(std::string_view text) {
  if (text.find("slurmstepd: error: Detected ") == std::string_view::npos) return std::nullopt;
  if (text.find("oom_kill event") == std::string_view::npos &&
      text.find("oom-kill event") == std::string_view::npos)
    return std::nullopt;
  return RankDeath{.out_of_memory = true};
}

// How much it explains: the one of more is kept.
int weight_of(const RankDeath& death) {
  if (death.signal != 0 || death.out_of_memory) return 2;
  return death.aborted ? 2 : 1;
}

bool begins_start(std::string_view text) {
  return text.starts_with("SLURM_RESTART_COUNT:") || text.starts_with("RESTART_COUNT:") ||
         (text.starts_with("nadi: ") && text.find(" start ") != std::string_view::npos &&
          text.find(" of job ") != std::string_view::npos);
}

std::optional<RankDeath> read_deaths(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  file.seekg(0, std::ios::end);
  const auto size = static_cast<std::size_t>(std::max<std::streamoff>(file.tellg(), 0));
  const std::size_t begin = size > kMostRead ? size - kMostRead : 0;
  std::string text(size - begin, '\0');
  file.seekg(static_cast<std::streamoff>(begin));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  DeathReader reader(path.filename().string());
  for (std::size_t at = begin == 0 ? 0 : std::min(text.find('\n'), text.size()); at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    reader.line(std::string_view(text).substr(at, end - at));
    at = end + 1;
  }
  std::optional<RankDeath> death = reader.death();
  if (death && begin > 0) death->place = path.filename().string();
  return death;
}

}  // namespace

std::string RankDeath::text() const {
  std::string subject = who.empty() ? "a rank" : who;
  if (!node.empty()) subject += " on " + node;
  const bool several = who.starts_with("ranks");
  if (out_of_memory) return format("{} ran out of memory", subject);
  if (signal != 0) {
    const char* const name = sigdescr_np(signal);
    return format("{} {} ended by signal {} ({})", subject, several ? "were" : "was", signal,
                  name != nullptr ? name : "unknown");
  }
  const std::string code = exit_code ? format(" with exit code {}", *exit_code) : "";
  return format("{} {}{}", subject, aborted ? "called MPI_Abort" : "ended", code);
}

std::optional<RankDeath> rank_death_in(std::string_view line) {
  const std::string_view text = trimmed_text(without_label(line));
  for (const auto reader : {&of_srun, &of_mpirun, &of_torchrun, &of_launch, &of_script, &of_stepd})
    if (auto death = reader(text); death && death->signal != SIGTERM) {
      death->line = std::string(text.substr(0, kLongestDeathLine));
      return death;
    }
  return std::nullopt;
}

void DeathReader::line(std::string_view text) {
  ++lines_;
  if (begins_start(text)) {
    // Ranks of one node print it one after the other, before any of them can have died.
    death_.reset();
    half_.clear();
    return;
  }
  std::string joined;
  if (!half_.empty()) {
    joined = half_ + " " + std::string(trimmed_text(text));
    text = joined;
    half_.clear();
  }
  auto death = rank_death_in(text);
  // The sentences of mpirun are broken at 76 letters.
  const bool broken = (text.find("noticed that process rank ") != std::string_view::npos && !death) ||
                      (death && death->aborted && !death->exit_code);
  if (broken && joined.empty()) half_ = std::string(trimmed_text(text).substr(0, kLongestDeathLine));
  if (!death || (death_ && weight_of(*death) <= weight_of(*death_) && !joined.starts_with(death_->line)))
    return;
  death->place = format("{}:{}", file_, joined.empty() ? lines_ : lines_ - 1);
  death_ = std::move(death);
}

std::optional<RankDeath> find_rank_death(const fs::path& folder) {
  std::vector<fs::path> said, errors;
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    const fs::path& path = entry->path();
    const std::string name = path.filename().string();
    if (name.starts_with("slurm") && name.ends_with(".txt")) said.push_back(path);
    if (path.extension() == ".err") errors.push_back(path);
  }
  const auto by_name = [](const fs::path& a, const fs::path& b) {
    return natural_less(a.filename().string(), b.filename().string());
  };
  std::ranges::sort(said, by_name);
  std::ranges::sort(errors, by_name);
  std::optional<RankDeath> found;
  for (const std::vector<fs::path>* const files : {&said, &errors})
    for (const fs::path& path : *files)
      if (auto death = read_deaths(path); death && (!found || weight_of(*death) > weight_of(*found)))
        found = std::move(death);
  return found;
}

}  // namespace nadi::inline jobs
