// Which lines of stderr are errors. Warnings are most of what training programs write there, and many of them
// have the word "error" in them; so a word alone decides nothing. In this order:
//   1. What Slurm says when it ends a step.
//   2. Who wrote the line says what it is: a level ("ERROR", "[E ...", "W1116 ..."), a warning's class. The
//   first such mark
//      of the line counts.
//   3. The words of error_words.h: of crashes, of memory, of missing files.
//   4. The word "error" as a name of a Python exception ("RuntimeError"), or before a colon and a text, or
//   behind the name
//      of a library ("CUDA error").
#include "nadi/job_log/error_group.h"

#include <algorithm>
#include <array>
#include <string>

#include "nadi/base/ascii.h"
#include "nadi/base/error.h"
#include "nadi/job_log/error_words.h"
#include "nadi/job_log/log_text.h"
#include "nadi/job_log/stderr_pieces.h"

namespace nadi::inline jobs {
namespace {

constexpr std::size_t npos = std::string_view::npos;

bool is_word(char c) {
  return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '_';
}

// Where `word` stands as a whole word, ignoring case; both texts in lower case.
std::size_t find_word(std::string_view lower, std::string_view word, std::size_t from = 0) {
  for (std::size_t at = lower.find(word, from); at != npos; at = lower.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word(lower[at - 1])) && (end >= lower.size() || !is_word(lower[end]))) return at;
  }
  return npos;
}

// Where the words of a sort are hinted at.
constexpr StderrTopic topic_of(ErrorSort sort) {
  return sort == ErrorSort::kMemory  ? StderrTopic::kMemory
         : sort == ErrorSort::kCrash ? StderrTopic::kCrash
                                     : StderrTopic::kPhrase;
}

bool has_words(std::string_view lower, ErrorSort sort) {
  return std::ranges::any_of(kErrorWords, [&](const ErrorWords& words) {
    return words.sort == sort && lower.find(words.text) != npos;
  });
}

// A phrase without a piece of its topic would never be looked for.
static_assert(std::ranges::all_of(kErrorWords, [](const ErrorWords& words) {
  return find_pieces(words.text).has(topic_of(words.sort));
}));
template <std::size_t kCount>
constexpr bool all_have(StderrTopic topic, const std::array<std::string_view, kCount>& phrases) {
  for (const std::string_view phrase : phrases)
    if (!find_pieces(phrase).has(topic)) return false;
  return true;
}
static_assert(all_have(StderrTopic::kCrash, std::array<std::string_view, 2>{"killed", "aborted"}));
static_assert(all_have(StderrTopic::kPhrase, std::array<std::string_view, 1>{": not found"}));
static_assert(all_have(StderrTopic::kError,
                       std::array<std::string_view, 4>{"error", "exception", "fatal", "critical"}));
static_assert(all_have(StderrTopic::kWarning,
                       std::array<std::string_view, 4>{"warn", "info", "debug", "deprecat"}));
static_assert(all_have(StderrTopic::kEnding,
                       std::array<std::string_view, 4>{"*** ", "job step aborted", "forcing job termination",
                                                       ": terminated"}));
constexpr std::string_view kTracebackWords = "traceback (most recent call last)";
static_assert(all_have(StderrTopic::kTraceback, std::array<std::string_view, 1>{kTracebackWords}));

// "W1116 19:43:06.123" of glog and of newer versions of PyTorch: a letter, month and day, a space. PyTorch
// writes months below 10 with one digit.
char glog_level(std::string_view text) {
  if (text.starts_with('[')) text.remove_prefix(1);
  if (text.size() < 3) return 0;
  const char level = text[0];
  if (level != 'W' && level != 'E' && level != 'F' && level != 'I') return 0;
  if (text[1] == ' ' || text[1] == ':') {
    // "[W socket.cpp:601]"
    const std::size_t close = text.find(']');
    const std::size_t dot = text.find(".cpp:");
    return dot != npos && close != npos && dot < close ? level : char{0};
  }
  std::size_t digits = 0;
  while (1 + digits < text.size() && is_digit(text[1 + digits])) ++digits;
  return (digits == 3 || digits == 4) && 1 + digits < text.size() && text[1 + digits] == ' ' ? level
                                                                                             : char{0};
}

// Where the line says that it is a warning, or not even that.
std::size_t warning_mark(std::string_view lower) {
  std::size_t first = npos;
  for (std::size_t at = lower.find("warn"); at != npos; at = lower.find("warn", at + 1)) {
    std::size_t end = at + 4;
    if (lower.substr(at).starts_with("warning")) end = at + 7;
    if (end < lower.size() && lower[end] == 's') ++end;
    if (end < lower.size() && is_word(lower[end])) continue;
    first = at;
    break;
  }
  for (const std::string_view level : {"info", "debug"}) {
    const std::size_t at = find_word(lower, level);
    // A level stands near the beginning, in brackets or before a colon or a bar.
    if (at != npos && at < 64 && at + level.size() < lower.size() &&
        std::string_view("]:|-").find(lower[at + level.size()]) != npos)
      first = std::min(first, at);
  }
  if (const std::size_t nccl = lower.find("nccl info"); nccl != npos) first = std::min(first, nccl);
  return first;
}

// Where a level or the name of an exception says "error", before `limit`.
std::size_t error_mark(std::string_view text, std::string_view lower, std::size_t limit) {
  // What may begin before the limit.
  const std::string_view looked = lower.substr(0, limit == npos ? npos : limit + 9);
  for (std::size_t at = looked.find("error"); at < limit; at = looked.find("error", at + 1)) {
    const std::size_t end = at + 5;
    const char before = at == 0 ? ' ' : text[at - 1];
    const char after = end < text.size() ? text[end] : '\0';
    if (is_word(after)) continue;  // "errors", "ERROR_HANDLING", "error_rate"
    const bool capital = text[at] == 'E';
    if (is_word(before)) {
      // "RuntimeError: ...": followed by a colon, a bracket or the end.
      if (capital && before != '_' && (after == ':' || after == '(' || after == '\0' || after == '\''))
        return at;
      continue;
    }
    const std::string_view head = lower.substr(0, at), tail = lower.substr(end);
    if (before == '=' || before == '.' || before == '-' || before == '/')
      continue;  // "--on-error", "x.error"
    if (text.substr(at, 5) == "ERROR" && (at < 64 || after == ':' || after == ']')) return at;
    if (before == '[' && after == ']') return at;
    if (after == ':') {
      // "error: cannot ..." and "srun: error: ...", but not "mean error: 0.12" nor "error: 0".
      const std::size_t value = tail.find_first_not_of(": \t");
      const bool number =
          value != npos && (is_digit(tail[value]) || tail[value] == '-' || tail[value] == '.');
      const std::string_view spoken = trimmed_text(head);
      const bool starts = spoken.empty() || spoken.ends_with(':') || spoken.ends_with(']') ||
                          spoken.ends_with(')') || spoken.ends_with("fatal") ||
                          spoken.ends_with("internal") || spoken.ends_with("cuda") ||
                          spoken.ends_with("nccl") || spoken.ends_with("system") ||
                          spoken.ends_with("runtime") || spoken.ends_with("an");
      if (starts && !number) return at;
      continue;
    }
    for (const std::string_view library :
         {"cuda ", "nccl ", "mpi ", "cudnn ", "cublas ", "fatal ", "internal ", "ecc "})
      if (head.ends_with(library)) return at;
    if (tail.starts_with(" occurred") || tail.starts_with(" in user code")) return at;
  }
  for (std::size_t at = looked.find("exception"); at < limit; at = looked.find("exception", at + 1)) {
    const std::size_t end = at + 9;
    const char before = at == 0 ? ' ' : text[at - 1];
    const char after = end < text.size() ? text[end] : '\0';
    if (text[at] == 'E' && before != '_' && (after == ':' || lower.substr(end).starts_with(" in thread")))
      return at;
    if (lower.substr(0, at).ends_with("unhandled ") || lower.substr(0, at).ends_with("uncaught ")) return at;
  }
  for (const std::string_view level : {"fatal", "critical"}) {
    const std::size_t at = find_word(lower, level);
    if (at >= limit) continue;
    const char after = at + level.size() < text.size() ? text[at + level.size()] : '\0';
    if (after == ':' || after == ']' || text[at + 1] == static_cast<char>(level[1] - 'a' + 'A')) return at;
  }
  return npos;
}

bool is_slurm(std::string_view lower) {
  return lower.find("slurmstepd:") != npos || lower.find("srun:") != npos || lower.find("slurmd") != npos;
}

bool is_ending(std::string_view lower) {
  if (!is_slurm(lower)) return false;
  if (lower.find("*** ") != npos && (lower.find("cancelled at") != npos || lower.find(" due to ") != npos))
    return true;
  return lower.find("job step aborted") != npos || lower.find("forcing job termination") != npos ||
         lower.ends_with(": terminated");
}

}  // namespace

std::string_view to_string(ErrorSort sort) {
  switch (sort) {
    case ErrorSort::kError:
      return "error";
    case ErrorSort::kTraceback:
      return "traceback";
    case ErrorSort::kCrash:
      return "crash";
    case ErrorSort::kMemory:
      return "out of memory";
    case ErrorSort::kEnding:
      return "ended";
  }
  unreachable();
}

std::string error_key(std::string_view text) {
  text = trimmed_text(without_label(text)).substr(0, kLongestErrorText);
  std::string key;
  key.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const bool starts_word = at == 0 || !is_word(text[at - 1]);
    if (starts_word && text.substr(at).starts_with("0x")) {
      at += 2;
      while (at < text.size() && is_word(text[at])) ++at;
      key += '#';
    } else if (is_digit(text[at])) {
      while (at < text.size() && is_digit(text[at])) ++at;
      key += '#';
    } else {
      key += text[at++];
    }
  }
  return key;
}

StderrLine classify_stderr(std::string_view line) {
  if (const std::size_t back = line.rfind('\r'); back != npos && back + 1 < line.size())
    line.remove_prefix(back + 1);
  constexpr std::size_t kLooked = 2048;  // what a line is, its beginning says
  const std::string_view text = trimmed_text(without_label(line)).substr(0, kLooked);
  if (text.empty()) return StderrLine::kOther;
  const char level = glog_level(text);
  const StderrPieces pieces = find_pieces(text);
  if (pieces.none())
    return level == 'W'                   ? StderrLine::kWarning
           : level == 'E' || level == 'F' ? StderrLine::kError
                                          : StderrLine::kOther;
  std::array<char, kLooked> lowered;  // NOLINT: filled below
  std::ranges::transform(text, lowered.begin(), to_lower);
  const std::string_view lower(lowered.data(), text.size());
  if (pieces.has(StderrTopic::kTraceback) && lower.find(kTracebackWords) != npos)
    return StderrLine::kTracebackStart;
  // Sentences of Python between two tracebacks.
  if (lower.starts_with("during handling of the above exception") ||
      lower.starts_with("the above exception was"))
    return StderrLine::kOther;
  if (pieces.has(StderrTopic::kEnding) && is_ending(lower)) return StderrLine::kEnding;
  if (level == 'W' || level == 'I') return level == 'W' ? StderrLine::kWarning : StderrLine::kOther;

  const bool memory = pieces.has(StderrTopic::kMemory) && has_words(lower, ErrorSort::kMemory);
  std::size_t warning = npos;
  if (pieces.has(StderrTopic::kWarning)) {
    // NCCL has no level above WARN: failures of devices and of the network are written with it.
    if (lower.find("nccl warn") != npos &&
        (memory || lower.find("failure") != npos || lower.find(" failed") != npos ||
         lower.find("got completion") != npos))
      return memory ? StderrLine::kMemory : StderrLine::kError;
    if (lower.find("deprecat") != npos) return StderrLine::kWarning;
    warning = warning_mark(lower);
  }
  const std::size_t error = pieces.has(StderrTopic::kError) ? error_mark(text, lower, warning) : npos;
  if (warning < error)
    return lower.substr(warning).starts_with("warn") ? StderrLine::kWarning : StderrLine::kOther;
  if (memory) return StderrLine::kMemory;
  if (pieces.has(StderrTopic::kCrash)) {
    if (has_words(lower, ErrorSort::kCrash)) return StderrLine::kCrash;
    for (const std::string_view word : {"killed", "aborted"}) {
      // "Killed" alone, or as a shell says it: "run.sh: line 3: 4711 Killed    python train.py".
      const std::size_t at = find_word(lower, word);
      if (at == npos) continue;
      const std::string_view head = trimmed_text(lower.substr(0, at)),
                             tail = trimmed_text(lower.substr(at + word.size()));
      if ((head.empty() && (tail.empty() || tail.starts_with("("))) || lower.find(": line ") != npos)
        return StderrLine::kCrash;
      if (is_slurm(lower) && tail.empty()) return StderrLine::kCrash;
    }
  }
  if (error != npos || level == 'E' || level == 'F') return StderrLine::kError;
  // Shells: "script.sh: line 56: exec: nsys: not found".
  if (pieces.has(StderrTopic::kPhrase) &&
      (has_words(lower, ErrorSort::kError) || lower.ends_with(": not found")))
    return StderrLine::kError;
  return StderrLine::kOther;
}

}  // namespace nadi::inline jobs
