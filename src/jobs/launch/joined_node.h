// A launch that takes part in the job of another one: a guest of a LaunchMeeting (launch_meeting.h).
//
//   const JoinedEnd end = join_meeting({.place = ..., .own = ..., .token = ...}, listener, stop_asked);
//
// It starts the daemon of mpirun on this machine when the host wants it, and ends with the job. The ranks'
// output appears at the host. While it runs, the calling process adopts the orphans of the daemon; when
// join_meeting() returns, or throws, nothing that it has started is left.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "nadi/launch/launch_meeting.h"

namespace nadi::inline jobs {

struct JoinRequest {
  MeetingPlace place;
  NodeIntroduction own;
  LaunchToken token;
  std::chrono::milliseconds patience{300'000};  // for the host to answer, and for the others to come
};

struct JoinedEnd {
  bool stopped = false;   // before the job began, because stop_asked() said so
  int exit_code = 0;      // of the job
  std::string text = {};  // why it failed
};

class JoinListener {
 public:
  virtual ~JoinListener() = default;
  virtual void waiting() = 0;  // for the host, which does not answer yet
  virtual void joined() = 0;
};

// `stop_asked` is called often: when it first says true, the whole job is asked to stop.
//
// Error (usage) when the host refuses; Error (environment) when nobody answers in time, when the other side
// does not know the token, when the host is gone, or when there is no orted.
JoinedEnd join_meeting(const JoinRequest& request, JoinListener& listener,
                       const std::function<bool()>& stop_asked);

}  // namespace nadi::inline jobs
