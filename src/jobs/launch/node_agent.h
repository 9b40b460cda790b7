// What mpirun starts in place of ssh to reach another node of a LaunchMeeting: `nadi launch-node HOST orted
// ...`. It hands the wish to the launch that started mpirun, passes on what the daemon says, and ends when
// the daemon does. Not for users.
//
// The conversation, over launch_socket.h:
//   agent:    hello <secret> node <number> <words as JSON>
//   launcher: said <line>, ended <exit code>
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nadi::inline jobs {

// The first argument that makes a program of ours an agent.
inline constexpr std::string_view kAgentWord = "launch-node";
// How its greeting begins.
inline constexpr std::string_view kAgentGreeting = "node ";

// Returns the exit code for main(). Errors are printed.
int reach_node(const std::vector<std::string>& arguments);

}  // namespace nadi::inline jobs
