#include "nadi/job_log/error_reader.h"

#include <cstdint>
#include <optional>

#include "nadi/base/ascii.h"
#include "nadi/job_log/log_text.h"

namespace nadi::inline jobs {
namespace {

// "RuntimeError: CUDA error", "torch.cuda.OutOfMemoryError: ...", "KeyboardInterrupt": a dotted name, then a
// colon or nothing.
bool ends_traceback(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.front() == '\t' || is_digit(text.front())) return false;
  std::size_t at = 0;
  while (at < text.size() && (is_digit(text[at]) || text[at] == '_' || text[at] == '.' ||
                              (to_lower(text[at]) >= 'a' && to_lower(text[at]) <= 'z')))
    ++at;
  return at > 0 && (at == text.size() || text[at] == ':' || text[at] == '\r') &&
         text.substr(0, at) != "srun" && text.substr(0, at) != "slurmstepd";
}

// What a traceback on one line says at its end: behind the last "\n" of a logger that writes line ends as two
// letters, else from the last name of an exception on. Nothing where the line is only the beginning.
std::optional<std::string_view> end_of_one_line(std::string_view text) {
  constexpr std::string_view kLastCall = "call last):", kLineEnd = "\\n";
  const std::size_t begin = text.find(kLastCall);
  if (begin == std::string_view::npos) return std::nullopt;
  std::string_view rest = trimmed_text(text.substr(begin + kLastCall.size()));
  while (rest.ends_with(kLineEnd) || rest.ends_with('"') || rest.ends_with('}'))
    rest.remove_suffix(rest.ends_with(kLineEnd) ? kLineEnd.size() : 1);
  if (rest.empty()) return std::nullopt;
  if (const std::size_t end = rest.rfind(kLineEnd); end != std::string_view::npos)
    return trimmed_text(rest.substr(end + kLineEnd.size()));
  std::size_t name = std::string_view::npos;
  for (const std::string_view word : {"Error:", "Exception:", "Interrupt", "Exit:"})
    if (const std::size_t at = rest.rfind(word);
        at != std::string_view::npos && (name == std::string_view::npos || at > name))
      name = at;
  if (name == std::string_view::npos) return rest;
  while (name > 0 && rest[name - 1] != ' ' && rest[name - 1] != '\t') --name;
  return rest.substr(name);
}

}  // namespace

void ErrorReader::take_back(NodeLog& node) {
  if (settled_) node.errors.pop_back();
  settled_ = false;
}

void ErrorReader::settle(NodeLog& node) {
  if (open_tracebacks_ == 0 || settled_ || node.errors.size() >= kMostErrorGroups) return;
  const std::string text = traceback_place_.empty() ? "Traceback without its last line"
                                                    : "Traceback without its last line: " + traceback_place_;
  node.errors.push_back({.sort = ErrorSort::kTraceback,
                         .key = error_key(text),
                         .text = text.substr(0, kLongestErrorText),
                         .count = open_tracebacks_,
                         .line = traceback_line_,
                         .file = node.err.path.filename().string(),
                         .start = start_,
                         .start_known = restarts_ >= 0,
                         .nodes = {node.name}});
  settled_ = true;
}

void ErrorReader::restart(NodeLog& node) {
  *this = ErrorReader();
  node.errors.clear();
  node.errors_left_out = 0;
  node.warnings = 0;
}

void ErrorReader::line(NodeLog& node, std::string_view text) {
  take_back(node);
  if (text.starts_with("SLURM_RESTART_COUNT:") || text.starts_with("RESTART_COUNT:")) {
    const auto count = number_in<std::int64_t>(text.substr(text.find(':') + 1));
    if (count && *count != restarts_) {
      // What the start before did not end is an error for good.
      settle(node);
      settled_ = false;
      if (restarts_ >= 0) ++start_;
      restarts_ = *count;
      open_tracebacks_ = 0;
    }
    return;
  }
  if (open_tracebacks_ > 0) {
    const std::string_view bare = without_label(text);
    if (ends_traceback(bare)) {
      --open_tracebacks_;
      const bool memory = classify_stderr(bare) == StderrLine::kMemory;
      add(node, memory ? ErrorSort::kMemory : ErrorSort::kTraceback, bare);
      return;
    }
    if (bare.starts_with(' ') || bare.starts_with('\t')) {
      if (const std::string_view place = trimmed_text(bare); place.starts_with("File \""))
        traceback_place_ = place.substr(0, kLongestErrorText);
      return;
    }
  }
  const bool source = after_warning_ && (text.starts_with(' ') || text.starts_with('\t'));
  after_warning_ = false;
  if (source) return;
  switch (classify_stderr(text)) {
    case StderrLine::kOther:
      return;
    case StderrLine::kWarning:
      ++node.warnings;
      after_warning_ = true;
      return;
    case StderrLine::kTracebackStart:
      if (const auto end = end_of_one_line(text)) {
        const bool memory = classify_stderr(*end) == StderrLine::kMemory;
        return add(node, memory ? ErrorSort::kMemory : ErrorSort::kTraceback, *end);
      }
      if (open_tracebacks_ < 1024) ++open_tracebacks_;
      traceback_line_ = node.err.lines;
      traceback_place_.clear();
      return;
    case StderrLine::kError:
      return add(node, ErrorSort::kError, text);
    case StderrLine::kCrash:
      return add(node, ErrorSort::kCrash, text);
    case StderrLine::kMemory:
      return add(node, ErrorSort::kMemory, text);
    case StderrLine::kEnding:
      return add(node, ErrorSort::kEnding, text);
  }
}

void ErrorReader::add(NodeLog& node, ErrorSort sort, std::string_view text) {
  std::string key = error_key(text);
  std::string place(1, static_cast<char>('0' + static_cast<int>(sort)));
  place += key;
  auto known = groups_.find(place);
  if (known == groups_.end()) {
    if (node.errors.size() >= kMostErrorGroups) {
      ++node.errors_left_out;
      return;
    }
    known = groups_.emplace(std::move(place), node.errors.size()).first;
    node.errors.push_back({.sort = sort,
                           .key = std::move(key),
                           .text = std::string(trimmed_text(text).substr(0, kLongestErrorText)),
                           .line = node.err.lines,
                           .file = node.err.path.filename().string(),
                           .nodes = {node.name}});
  }
  ErrorGroup& group = node.errors[known->second];
  ++group.count;
  group.start = start_;
  group.start_known = restarts_ >= 0;
}

}  // namespace nadi::inline jobs
