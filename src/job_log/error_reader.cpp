#include "nadi/job_log/error_reader.h"

#include <cstdint>

#include "nadi/base/ascii.h"
#include "nadi/job_log/log_text.h"

namespace nadi {
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

}  // namespace

void ErrorReader::restart(NodeLog& node) {
  *this = ErrorReader();
  node.errors.clear();
  node.errors_left_out = 0;
  node.warnings = 0;
}

void ErrorReader::line(NodeLog& node, std::string_view text) {
  if (text.starts_with("SLURM_RESTART_COUNT:") || text.starts_with("RESTART_COUNT:")) {
    const auto count = number_in<std::int64_t>(text.substr(text.find(':') + 1));
    if (count && *count != restarts_) {
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
    if (bare.starts_with(' ') || bare.starts_with('\t')) return;
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
      if (open_tracebacks_ < 1024) ++open_tracebacks_;
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

}  // namespace nadi
