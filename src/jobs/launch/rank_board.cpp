#include "nadi/launch/rank_board.h"

#include <signal.h>

#include <algorithm>
#include <tuple>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"

namespace nadi::inline jobs {
namespace {

constexpr std::string_view kExit = "end exit ";
constexpr std::string_view kSignal = "end signal ";
constexpr std::string_view kAsked = " asked";
constexpr std::string_view kOutOfMemory = " oom";

// The rule that blames this end; nothing when it is no failure.
std::optional<int> rule_of(const RankEnd& end) {
  if (!end.status) return 1;
  const EndStatus& status = *end.status;
  if (status.good()) return std::nullopt;
  if (end.asked) {
    const bool as_asked = status.signal == SIGTERM || status.exit_code == kInterruptedExitCode;
    return as_asked ? std::nullopt : std::optional(4);
  }
  if (end.out_of_memory) return 0;
  if (status.signal != 0) return 1;
  return status.exit_code == 2 || status.exit_code == 3 || status.exit_code == 5 ? 2 : 3;
}

}  // namespace

std::string to_line(const RankEnd& end) {
  const EndStatus status = end.status.value_or(EndStatus{});
  return format("{}{}{}{}", status.signal != 0 ? kSignal : kExit,
                status.signal != 0 ? status.signal : status.exit_code, end.out_of_memory ? kOutOfMemory : "",
                end.asked ? kAsked : "");
}

std::optional<RankEnd> parse_end(std::string_view line) {
  RankEnd end{.status = EndStatus{}, .asked = line.ends_with(kAsked)};
  if (end.asked) line.remove_suffix(kAsked.size());
  end.out_of_memory = line.ends_with(kOutOfMemory);
  if (end.out_of_memory) line.remove_suffix(kOutOfMemory.size());
  const bool signal = line.starts_with(kSignal);
  if (!signal && !line.starts_with(kExit)) return std::nullopt;
  line.remove_prefix(signal ? kSignal.size() : kExit.size());
  int& number = signal ? end.status->signal : end.status->exit_code;
  if (!read_number(line, number)) return std::nullopt;
  return end;
}

RankBoard::RankBoard(int ranks) : entries_(static_cast<std::size_t>(ranks)) {}

void RankBoard::started(int rank, std::string host) {
  entries_[static_cast<std::size_t>(rank)].host = std::move(host);
}

void RankBoard::printed_error(int rank, std::string_view line) {
  std::deque<std::string>& lines = entries_[static_cast<std::size_t>(rank)].last_lines;
  if (lines.size() == kLastLines) lines.pop_front();
  lines.emplace_back(line);
}

void RankBoard::ended(int rank, RankEnd end) {
  Entry& entry = entries_[static_cast<std::size_t>(rank)];
  if (entry.end) return;
  entry.end = end;
  entry.order = ends_++;
}

bool RankBoard::all_ended() const {
  return std::ranges::all_of(entries_, [](const Entry& entry) { return entry.end.has_value(); });
}

bool RankBoard::all_good() const {
  return std::ranges::all_of(entries_, [](const Entry& entry) {
    return entry.end && entry.end->status && entry.end->status->good();
  });
}

bool RankBoard::any_started() const {
  return std::ranges::any_of(entries_, [](const Entry& entry) { return !entry.host.empty(); });
}

std::optional<int> RankBoard::blamed() const {
  std::optional<int> blamed;
  std::tuple<int, std::size_t> least;
  for (int rank = 0; rank < ranks(); ++rank) {
    const Entry& candidate = entry(rank);
    const std::optional<int> rule = candidate.end ? rule_of(*candidate.end) : std::nullopt;
    if (!rule) continue;
    const std::tuple<int, std::size_t> key{*rule, candidate.order};
    if (!blamed || key < least) {
      blamed = rank;
      least = key;
    }
  }
  return blamed;
}

std::vector<std::string> RankBoard::last_lines(int rank) const {
  const std::deque<std::string>& lines = entry(rank).last_lines;
  return {lines.begin(), lines.end()};
}

}  // namespace nadi::inline jobs
