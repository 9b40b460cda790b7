// Do the ranks of a job get on? Whoever watches them, the launcher or a rank itself, tells a HangWatch what
// it hears and asks how long nobody has.
//
//   HangWatch watch(ranks);
//   watch.heard(beat);                            // rank_beat.h: as they come
//   watch.tick(now);                              // often
//   if (watch.idle() >= timeout) report(watch.report());
//
// The job hangs when no rank gets on: as long as one computes, loads or saves, the others may wait for it as
// long as it takes. Time in which the watcher itself was stopped, or the machine asleep, does not count: two
// ticks are never further apart than kLongestTick.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nadi/launch/rank_beat.h"

namespace nadi::inline jobs {

// What was known when the ranks had not got on for too long.
struct HangReport {
  std::chrono::milliseconds idle{0};
  // Who is in the way, then who waits, for what and for whom: "rank 2 is stopped, by a signal or a debugger",
  // "ranks 0-1, 3 wait in all-reduce 12 of ranks 0-3 (16 KiB) for rank 2".
  std::vector<std::string> lines = {};
  std::string ranks_json = {};      // every rank with its last requests
  std::filesystem::path file = {};  // where those were written; "": nowhere, and file_problem says why
  std::string file_problem = {};
};

class HangWatch {
 public:
  static constexpr std::chrono::milliseconds kLongestTick{2000};

  explicit HangWatch(int ranks);

  void tick(std::chrono::steady_clock::time_point now);
  std::chrono::milliseconds now() const { return clock_; }  // of this watch

  void heard(const RankBeat& beat);
  void moved(int rank);               // a sign of life of a rank that says nothing of itself
  void state(int rank, char letter);  // of its process: process_state() of progress_meter.h
  void started(int rank);
  void ended(int rank);  // it is no longer waited for

  // Since a rank last got on. Beats that are under way count as silence.
  std::chrono::milliseconds idle() const;
  // No rank that runs is with a disk: for limits that are shorter than what a disk may take.
  bool at_disk() const;
  // Has the rank said anything new since this time of the watch?
  bool silent_since(int rank, std::chrono::milliseconds time) const;
  const std::optional<RankBeat>& beat(int rank) const { return entry(rank).beat; }

  HangReport report() const;

 private:
  struct Entry {
    std::optional<RankBeat> beat;
    std::chrono::milliseconds moved{0}, spoke{0};  // times of this watch
    char state = '\0';
    bool started = false;
    bool ended = false;
  };
  struct Account;
  const Entry& entry(int rank) const { return entries_[static_cast<std::size_t>(rank)]; }
  Entry& entry(int rank) { return entries_[static_cast<std::size_t>(rank)]; }
  Account account(int rank) const;
  std::string missing_from(const BeatRequest& request, int rank) const;

  std::vector<Entry> entries_;
  std::optional<std::chrono::steady_clock::time_point> ticked_;
  std::chrono::milliseconds clock_{0};
};

// Writes the requests of all ranks to collectives.json in the folder, or to collectives-2.json where that
// exists, and notes in the report where, or why not.
void write_collectives(HangReport& report, const std::filesystem::path& folder);

}  // namespace nadi::inline jobs
