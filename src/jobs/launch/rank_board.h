// What is known of each rank of a job while it runs, and which of them is to blame when it fails.
//
// When one rank dies the others soon fail as well: their messages to it do not arrive, or somebody ends them.
// Their reports may overtake the first one's. So blame is decided a moment after the first report, by how a
// rank ended rather than by order alone:
//   0. killed because memory ran out
//   1. a signal that nobody of the job has sent, or a supervisor that is gone without a word
//   2. exit codes that a rank's own input gives: 2, 3, 5
//   3. any other failure
//   4. a failure after the rank was asked to end, unless that is how one ends when asked (130, SIGTERM)
// and within each of these by order of arrival.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/process/end_status.h"

namespace nadi::inline jobs {

struct RankEnd {
  std::optional<EndStatus> status = {};  // nothing means its supervisor is gone, and nobody knows
  bool asked = false;                    // after somebody wanted it to end
  bool out_of_memory = false;            // killed while the kernel killed for memory: see free_memory.h
};

// "end exit 3", "end signal 9 asked", "end signal 9 oom": how a supervisor reports it.
std::string to_line(const RankEnd& end);
std::optional<RankEnd> parse_end(std::string_view line);

class RankBoard {
 public:
  static constexpr std::size_t kLastLines = 20;

  explicit RankBoard(int ranks);

  int ranks() const { return static_cast<int>(entries_.size()); }

  // What happened. The first end of a rank counts.
  void started(int rank, std::string host);
  void printed_error(int rank, std::string_view line);
  void ended(int rank, RankEnd end);

  bool has_ended(int rank) const { return entry(rank).end.has_value(); }
  bool all_ended() const;
  bool any_ended() const { return ends_ > 0; }
  bool all_good() const;  // all ended, with exit code 0
  bool any_started() const;
  bool any_failed() const { return blamed().has_value(); }

  // By the rules above; nothing when no rank failed.
  std::optional<int> blamed() const;

  const std::string& host(int rank) const { return entry(rank).host; }
  const std::optional<RankEnd>& end(int rank) const { return entry(rank).end; }
  // The last kLastLines of its standard error.
  std::vector<std::string> last_lines(int rank) const;

 private:
  struct Entry {
    std::string host;
    std::deque<std::string> last_lines;
    std::optional<RankEnd> end;
    std::size_t order = 0;  // of arrival of the end
  };
  const Entry& entry(int rank) const { return entries_[static_cast<std::size_t>(rank)]; }

  std::vector<Entry> entries_;
  std::size_t ends_ = 0;
};

}  // namespace nadi::inline jobs
