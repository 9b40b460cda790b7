#include "nadi/scheduler/slurm_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "nadi/base/ascii.h"
#include "nadi/base/read_number.h"

namespace nadi::inline jobs {
namespace {

// squeue(1) and sacct(1), JOB STATE CODES. A requeued job waits; one that is being set up does, too.
constexpr std::array<std::pair<std::string_view, JobState>, 28> kStates{{
    {"BOOT_FAIL", JobState::kNodeFailed},
    {"CANCELLED", JobState::kCancelled},
    {"COMPLETED", JobState::kDone},
    {"COMPLETING", JobState::kEnding},
    {"CONFIGURING", JobState::kPending},
    {"DEADLINE", JobState::kTimedOut},
    {"EXPEDITING", JobState::kPending},
    {"FAILED", JobState::kFailed},
    {"LAUNCH_FAILED", JobState::kFailed},
    {"NODE_FAIL", JobState::kNodeFailed},
    {"OUT_OF_MEMORY", JobState::kOutOfMemory},
    {"PENDING", JobState::kPending},
    {"POWER_UP_NODE", JobState::kPending},
    {"PREEMPTED", JobState::kPreempted},
    {"RECONFIG_FAIL", JobState::kFailed},
    {"REQUEUED", JobState::kPending},
    {"REQUEUE_FED", JobState::kPending},
    {"REQUEUE_HOLD", JobState::kPending},
    {"RESIZING", JobState::kRunning},
    {"RESV_DEL_HOLD", JobState::kPending},
    {"REVOKED", JobState::kCancelled},
    {"RUNNING", JobState::kRunning},
    {"SIGNALING", JobState::kRunning},
    {"SPECIAL_EXIT", JobState::kPending},
    {"STAGE_OUT", JobState::kEnding},
    {"STOPPED", JobState::kSuspended},
    {"SUSPENDED", JobState::kSuspended},
    {"TIMEOUT", JobState::kTimedOut},
}};

template <class T>
std::optional<T> whole(std::string_view text) {
  T number = 0;
  if (!read_number(text, number)) return std::nullopt;
  return number;
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

bool is_no_list(std::string_view text) {
  return text.empty() || text == "(null)" || text == "None assigned" || text == "None";
}

// Bytes of names of nodes: whatever else is in a list, it is none.
bool is_name_byte(char byte) {
  const char lower = to_lower(byte);
  return is_digit(byte) || (lower >= 'a' && lower <= 'z') || byte == '-' || byte == '.' || byte == '_';
}

// "8" or "08-11": numbers as texts of the width of the first.
bool expand_range(std::string_view range, std::vector<std::string>& numbers) {
  const std::size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
  if (!all_digits(first) || !all_digits(last)) return false;
  const auto low = whole<std::uint64_t>(first);
  const auto high = whole<std::uint64_t>(last);
  if (!low || !high || *high < *low || *high - *low >= kMostSlurmNodes) return false;
  for (std::uint64_t number = *low; number <= *high; ++number) {
    std::string text = std::to_string(number);
    if (text.size() < first.size()) text.insert(0, first.size() - text.size(), '0');
    numbers.push_back(std::move(text));
    if (numbers.size() > kMostSlurmNodes) return false;
  }
  return true;
}

// One name, whose brackets may be several: "rack[1-2]node[0-3]".
bool expand_name(std::string_view name, std::vector<std::string>& names) {
  std::vector<std::string> made{""};
  while (!name.empty()) {
    const std::size_t open = name.find('[');
    const std::string_view plain = name.substr(0, open);
    if (!std::ranges::all_of(plain, is_name_byte)) return false;
    for (std::string& text : made) text += plain;
    if (open == std::string_view::npos) break;
    const std::size_t close = name.find(']', open);
    if (close == std::string_view::npos) return false;
    std::vector<std::string> numbers;
    std::string_view ranges = name.substr(open + 1, close - open - 1);
    for (bool more = true; more;) {
      const std::size_t comma = ranges.find(',');
      if (!expand_range(ranges.substr(0, comma), numbers)) return false;
      more = comma != std::string_view::npos;
      if (more) ranges.remove_prefix(comma + 1);
    }
    if (made.size() * numbers.size() > kMostSlurmNodes) return false;
    std::vector<std::string> next;
    next.reserve(made.size() * numbers.size());
    for (const std::string& text : made)
      for (const std::string& number : numbers) next.push_back(text + number);
    made = std::move(next);
    name.remove_prefix(close + 1);
  }
  if (names.size() + made.size() > kMostSlurmNodes) return false;
  names.insert(names.end(), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
  return true;
}

}  // namespace

JobState parse_slurm_state(std::string_view text) {
  std::string_view word = text.substr(0, text.find(' '));
  const bool cut = word.ends_with('+');
  if (cut) word.remove_suffix(1);
  for (const auto& [name, state] : kStates)
    if (cut ? word.size() > 3 && name.starts_with(word) : name == word) return state;
  return JobState::kUnknown;
}

std::optional<JobTime> parse_slurm_time(std::string_view text) {
  const auto seconds = whole<std::int64_t>(text);
  if (!seconds || *seconds <= 0 || !all_digits(text)) return std::nullopt;
  return JobTime(std::chrono::seconds(*seconds));
}

std::optional<std::chrono::seconds> parse_slurm_duration(std::string_view text) {
  std::int64_t days = 0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto number = whole<std::int32_t>(text.substr(0, dash));
    if (!number || *number < 0) return std::nullopt;
    days = *number;
    text.remove_prefix(dash + 1);
  }
  std::int64_t total = 0;
  int parts = 0;
  for (bool more = true; more; ++parts) {
    const std::size_t colon = text.find(':');
    const std::string_view part = text.substr(0, colon);
    const auto number = whole<std::int32_t>(part);
    if (!number || !all_digits(part) || parts == 3) return std::nullopt;
    total = total * 60 + *number;
    more = colon != std::string_view::npos;
    if (more) text.remove_prefix(colon + 1);
  }
  if (parts < 2) return std::nullopt;  // a bare number has no unit that all commands agree on
  return std::chrono::seconds(days * 86'400 + total);
}

std::optional<SlurmExit> parse_slurm_exit(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto code = whole<int>(text.substr(0, colon));
  const auto signal = whole<int>(text.substr(colon + 1));
  if (!code || !signal) return std::nullopt;
  return SlurmExit{.code = *code, .signal = *signal};
}

std::optional<std::vector<std::string>> expand_node_list(std::string_view text) {
  std::vector<std::string> names;
  if (is_no_list(text)) return names;
  // Commas inside of brackets belong to a name.
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']') --depth;
    if (depth < 0 || depth > 1) return std::nullopt;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    if (i == begin || !expand_name(text.substr(begin, i - begin), names)) return std::nullopt;
    begin = i + 1;
  }
  if (depth != 0) return std::nullopt;
  return names;
}

std::optional<SlurmId> parse_slurm_id(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789");
  SlurmId id{.job = std::string(text.substr(0, end))};
  if (id.job.empty()) return std::nullopt;
  if (end == std::string_view::npos) return id;
  const std::string_view rest = text.substr(end + 1);
  if (text[end] == '+' && all_digits(rest)) {
    id.part = rest;
    return id;
  }
  const bool several = rest.size() > 2 && rest.front() == '[' && rest.back() == ']' &&
                       rest.find_first_not_of("0123456789-,%:.", 1) == rest.size() - 1;
  if (text[end] == '_' && (all_digits(rest) || several)) {
    id.task = rest;
    return id;
  }
  return std::nullopt;
}

}  // namespace nadi::inline jobs
