#include "nadi/launch/hang_watch.h"

#include <algorithm>
#include <utility>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/comm/comm_record.h"
#include "nadi/parallel/rank_list.h"

namespace nadi::inline jobs {
namespace {

using std::chrono::milliseconds;

// Beats come once a second at least, and are late on a busy machine.
constexpr milliseconds kSilence{5000};

std::string ranks_text(const std::vector<int>& ranks) {
  std::vector<Rank> list;
  for (const int rank : ranks) list.push_back(Rank{rank});
  return (ranks.size() == 1 ? "rank " : "ranks ") + as_short_ranges(list);
}

std::string group_text(const std::string& members) {
  const bool one = members.find_first_of(",-") == std::string::npos;
  return (one ? "rank " : "ranks ") + members;
}

std::vector<int> members_of(const std::string& list, int ranks) {
  std::vector<int> members;
  try {
    for (const Rank rank : parse_ranks("", list, ranks)) members.push_back(to_number(rank));
  } catch (const Error&) {
    members.clear();  // not written by us: then nobody is named
  }
  return members;
}

Json json_of(const BeatRequest& request) {
  Json json{{"op", request.op}, {"ranks", request.group}};
  if (request.number > 0) json["number"] = request.number;
  if (request.peer >= 0) json["peer"] = request.peer;
  json["bytes"] = request.size.count();
  json["started_s_ago"] = request.age_s;
  json["took_s"] = request.took_s ? Json(*request.took_s) : Json(nullptr);
  return json;
}

}  // namespace

// What one rank does, for one rank and for several that do the same.
struct HangWatch::Account {
  std::string one, many;
  bool waits = false;
};

HangWatch::HangWatch(int ranks) : entries_(static_cast<std::size_t>(ranks)) {}

void HangWatch::tick(std::chrono::steady_clock::time_point now) {
  if (ticked_) clock_ += std::min(std::chrono::duration_cast<milliseconds>(now - *ticked_), kLongestTick);
  ticked_ = now;
}

void HangWatch::heard(const RankBeat& beat) {
  if (beat.rank < 0 || beat.rank >= static_cast<int>(entries_.size())) return;
  Entry& known = entry(beat.rank);
  if (known.beat && known.beat->number == beat.number) return;
  known.beat = beat;
  known.spoke = clock_;
  known.started = true;
  known.moved = std::max(known.moved, clock_ - std::min(clock_, beat.idle));
  known.state = '\0';
}

void HangWatch::moved(int rank) {
  entry(rank).moved = clock_;
}

void HangWatch::state(int rank, char letter) {
  entry(rank).state = letter;
}

void HangWatch::started(int rank) {
  entry(rank).started = true;
  entry(rank).moved = clock_;
}

void HangWatch::ended(int rank) {
  if (entry(rank).ended) return;
  entry(rank).ended = true;
  entry(rank).moved = clock_;
}

milliseconds HangWatch::idle() const {
  milliseconds newest{0};
  for (const Entry& one : entries_) newest = std::max(newest, one.moved);
  return clock_ - newest;
}

bool HangWatch::at_disk() const {
  return std::ranges::any_of(entries_, [&](const Entry& one) {
    return !one.ended &&
           (one.state == 'D' || (one.beat && one.beat->at_disk && clock_ - one.spoke < kSilence));
  });
}

bool HangWatch::silent_since(int rank, milliseconds time) const {
  return !entry(rank).beat || entry(rank).spoke <= time;
}

// Collectives of a group are numbered alike on all members: who has started fewer has not come yet.
std::string HangWatch::missing_from(const BeatRequest& request, int rank) const {
  if (request.peer >= 0) return format(" for rank {}", request.peer);
  std::vector<int> missing;
  for (const int member : members_of(request.group, static_cast<int>(entries_.size()))) {
    if (member == rank) continue;
    const Entry& other = entry(member);
    bool came = false;
    if (other.beat)
      for (const RankBeat::Group& group : other.beat->groups)
        came = came || (group.members == request.group && group.started >= request.number);
    if (!came) missing.push_back(member);
  }
  return missing.empty() ? ", to which all of them have come" : " for " + ranks_text(missing);
}

HangWatch::Account HangWatch::account(int rank) const {
  const Entry& known = entry(rank);
  std::string after = known.beat && !known.beat->doing.empty() ? format(" ({})", known.beat->doing) : "";
  const auto both = [&](std::string_view is, std::string_view are, const std::string& rest) {
    return Account{.one = format("{} {}{}", is, rest, after), .many = format("{} {}{}", are, rest, after)};
  };
  if (known.ended) return both("has", "have", "ended");
  if (known.state == 'T') return both("is", "are", "stopped by a signal (SIGSTOP)");
  if (known.state == 't') return both("is", "are", "stopped by a debugger");
  if (!known.started) return both("has", "have", "not started");
  if (!known.beat) return both("shows", "show", "no sign of life");
  if (clock_ - known.spoke > kSilence)
    return both("is", "are",
                format("silent for {} s: stopped, or cut off together with its machine",
                       (clock_ - known.spoke).count() / 1000));
  const std::string& blocked = known.beat->blocked;
  if (const auto& waits = known.beat->waits; waits && blocked.empty()) {
    if (waits->op == to_string(CommOp::kDevice)) {
      const std::string among = format("exchange of data among {}{}", group_text(waits->group), after);
      return {.one = "waits for its GPU's " + among, .many = "wait for their GPUs' " + among, .waits = true};
    }
    std::string what = waits->number > 0
                           ? format("{} {} of {}", waits->op, waits->number, group_text(waits->group))
                           : waits->op;
    if (waits->op.starts_with("MPI_")) what = waits->op;
    if (waits->size.count() > 0) what += format(" ({})", to_string(waits->size));
    Account waiting = both("waits", "wait", format("in {}{}", what, missing_from(*waits, rank)));
    waiting.waits = true;
    return waiting;
  }
  if (blocked.empty()) return both("does", "do", "nothing");
  // "writes to ...": of several ranks without the s of the verb.
  const std::size_t verb = std::min(blocked.find(' '), blocked.size());
  return {.one = blocked + after,
          .many = blocked.substr(0, verb == 0 ? 0 : verb - 1) + blocked.substr(verb) + after};
}

HangReport HangWatch::report() const {
  HangReport report{.idle = idle()};
  // Ranks that do the same share a line; who is in the way comes first.
  std::vector<std::pair<Account, std::vector<int>>> groups;
  Json ranks = Json::array();
  for (int rank = 0; rank < static_cast<int>(entries_.size()); ++rank) {
    const Account own = account(rank);
    const auto same =
        std::ranges::find_if(groups, [&](const auto& group) { return group.first.one == own.one; });
    if (same != groups.end())
      same->second.push_back(rank);
    else
      groups.push_back({own, {rank}});

    Json json{{"rank", rank}, {"state", own.one}};
    if (const auto& beat = entry(rank).beat) {
      json["host"] = beat->host;
      json["pid"] = beat->pid;
      json["doing"] = beat->doing;
      json["heard_s_ago"] = static_cast<double>((clock_ - entry(rank).spoke).count()) * 1e-3;
      Json last = Json::array();
      for (const BeatRequest& request : beat->last) last.push_back(json_of(request));
      json["last"] = std::move(last);
    }
    ranks.push_back(std::move(json));
  }
  std::ranges::stable_sort(groups, std::less{}, [](const auto& group) { return group.first.waits; });
  for (const auto& [account, members] : groups)
    report.lines.push_back(
        format("{} {}", ranks_text(members), members.size() == 1 ? account.one : account.many));
  report.ranks_json = dump_json(Json{{"nadi_collectives", 1},
                                     {"idle_s", static_cast<double>(report.idle.count()) * 1e-3},
                                     {"ranks", std::move(ranks)}});
  return report;
}

void write_collectives(HangReport& report, const std::filesystem::path& folder) {
  constexpr int kMostFiles = 1000;
  for (int number = 1; number <= kMostFiles; ++number) {
    const std::filesystem::path file =
        folder / (number == 1 ? "collectives.json" : format("collectives-{}.json", number));
    std::error_code ignored;
    if (std::filesystem::exists(file, ignored)) continue;
    try {
      write_atomically(file, report.ranks_json, Overwrite::kRefuse);
      report.file = file;
    } catch (const Error& error) {
      if (is_existing_target(error)) continue;
      report.file_problem = error.what();
    }
    return;
  }
  report.file_problem = format("{} has {} of such files already", folder.string(), kMostFiles);
}

}  // namespace nadi::inline jobs
