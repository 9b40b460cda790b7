// What a rank says of itself at intervals, while it runs: whether it gets on, what it waits for, and the last
// requests of its communicator. Who watches the ranks (hang_watch.h) gets it as a line of text.
//
//   const std::string line = to_line(beat);
//   const std::optional<RankBeat> beat = parse_beat(line);      // nothing for a line that is none
//
// Groups are named by their members, "0-3,8", so that those of two ranks can be compared.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"

namespace nadi::inline engines {
class CommRecord;
}  // namespace nadi::inline engines

namespace nadi::inline jobs {

struct BeatRequest {
  std::string op = {};
  std::string group = {};
  std::uint64_t number = 0;  // of the group's collectives; 0 means a message
  int peer = -1;             // of a message
  Bytes size = {};
  double age_s = 0;                   // since it was started
  std::optional<double> took_s = {};  // nothing means it is not done

  bool operator==(const BeatRequest&) const = default;
};

struct RankBeat {
  int rank = 0;
  std::string host = {};
  int pid = 0;
  std::uint64_t number = 0;           // of this beat, from 1
  std::chrono::milliseconds idle{0};  // since the rank last got on
  bool at_disk = false;               // the kernel waits for a disk in its name
  std::string doing = {};             // "step 12 of 100"; what the rank did last
  std::string blocked = {};           // "writes to standard output": a call that does not return
  std::optional<BeatRequest> waits = {};
  double waits_s = 0;  // for so long
  struct Group {
    std::string members;
    std::uint64_t started = 0;  // collectives
    bool operator==(const Group&) const = default;
  };
  std::vector<Group> groups = {};
  std::vector<BeatRequest> last = {};  // oldest first

  bool operator==(const RankBeat&) const = default;
};

std::string to_line(const RankBeat& beat);
std::optional<RankBeat> parse_beat(std::string_view line);

// Fills in what the record of the communicator knows: waits, groups, last.
void add_record(RankBeat& beat, const CommRecord& record);

}  // namespace nadi::inline jobs
