// What the launches of one job tell each other when they meet (launch_meeting.h), as lines over a
// LaunchSocket:
//
//   guest:  nadi-launch 1 <challenge>
//   host:   nadi-launch 1 <challenge> <proof>                the guest checks that the host knows the token
//   guest:  join <proof> <introduction as JSON>              and the host that the guest does
//   host:   joined  |  refused <why>  |  stranger            the last: the proof was wrong
//   then    host:  start <arguments of orted as JSON>, kill, end <exit code> <text>
//           guest: said <line>, ended <exit code>, stop
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nadi::inline jobs {

inline constexpr std::string_view kMeetingGreeting = "nadi-launch 1 ";

// One of the launches: the machine that it is on, and what it was asked to run.
struct NodeIntroduction {
  int nodes = 1;  // of the job
  int node = 0;   // this one's number
  int ranks = 1;  // on this one
  std::string host = {};
  std::string folder = {};   // the working folder
  std::string program = {};  // the path of Nadi
  std::string version = {};
  std::vector<std::string> words = {};  // the command
};

// On one line, of at most the length that a LineStream hands over: of a longer command its beginning and a
// hash.
std::string to_line(const NodeIntroduction& introduction);
// Nothing for what is none.
std::optional<NodeIntroduction> parse_introduction(std::string_view text);

// Why `guest` cannot be a part of the job of `own`, of which the nodes in `present` are there already; ""
// when it can.
std::string reason_to_refuse(const NodeIntroduction& own, const NodeIntroduction& guest,
                             const std::vector<bool>& present);

// The arguments of the daemon that mpirun wants on another node, which it writes for a shell: "orted -mca ess
// "env" ...". Nothing for anything but orted with plain and quoted words: nothing else is ever started for
// another launch.
std::optional<std::vector<std::string>> daemon_arguments(const std::vector<std::string>& words);

// A list of words on one line, and back.
std::string words_to_line(const std::vector<std::string>& words);
std::optional<std::vector<std::string>> parse_words(std::string_view line);

}  // namespace nadi::inline jobs
