// The secret that the launches of one job share when they meet over the network (launch_meeting.h): whoever
// knows it may start ranks here, and nobody else.
//
//   const LaunchToken token = launch_token(process_environment());
//
// It is the value of NADI_LAUNCH_TOKEN, else the first line of the user's file ~/.config/nadi/launch_token
// (below XDG_CONFIG_HOME where that is set), which is made at first use and readable for its owner alone. So
// launches of one user on one machine, and on machines with a common home folder, know the same token without
// being told.
#pragma once

#include <string>
#include <string_view>

#include "nadi/comm/launcher_environment.h"

namespace nadi::inline jobs {

inline constexpr const char* kTokenVariable = "NADI_LAUNCH_TOKEN";

struct LaunchToken {
  std::string text;
  std::string place = {};  // where it is from, for messages: "NADI_LAUNCH_TOKEN", or the file
};

// Error (environment): no home folder, a file that others may read, or one without a token of at least
// kShortestToken letters.
inline constexpr std::size_t kShortestToken = 16;
LaunchToken launch_token(const EnvironmentLookup& environment);

// 32 digits that nobody can guess.
std::string random_digits();

// Which side proves that it knows the token.
enum class MeetingSide { kHost, kGuest };

// What a side says to prove it. Each side chooses a challenge anew, so that no answer serves twice.
std::string proof_of(const LaunchToken& token, MeetingSide side, std::string_view guest_challenge,
                     std::string_view host_challenge);

// Takes as long for all texts of one length, so that its time tells nothing about a proof.
bool same_proof(std::string_view one, std::string_view other);

}  // namespace nadi::inline jobs
