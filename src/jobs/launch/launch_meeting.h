// Launches on several machines, each started by hand, that meet and become one job, as those of torchrun do:
//
//   machine a:  nadi launch --nnodes 2 --node-rank 0 --master-addr a ...   LaunchMeeting meeting(...);
//                                                                          meeting.wait_for_all(...);
//                                                                          request.nodes = &meeting;
//                                                                          launch(...)
//   machine b:  nadi launch --nnodes 2 --node-rank 1 --master-addr a ...   join_meeting(...) joined_node.h
//
// The launch of node 0 is the host: it listens at the address that all of them know, and starts mpirun when
// all are there. mpirun needs one daemon of its own (orted) on each other machine and asks a program of ours
// for it in place of ssh (node_agent.h); the host passes the wish on to the guest on that machine, whose
// launch starts the daemon. So machines need no ssh. From there on everything is as with --hosts: daemons and
// ranks connect over TCP, on any port.
//
// A guest may be told to start ranks of the host's, and the host lets a guest take part: both prove first
// that they know the same token (launch_token.h), by answers to fresh challenges, so that the token itself is
// never sent. A guest starts orted and nothing else. What follows the meeting is neither encrypted nor
// signed, as Open MPI's own connections are not: for networks whose machines trust each other.
//
// When the host goes, the guests end their daemons and with them their ranks; when a guest goes, the host
// ends the job.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nadi/launch/launch_socket.h"
#include "nadi/launch/launch_token.h"
#include "nadi/launch/node_introduction.h"

namespace nadi::inline jobs {

struct MeetingPlace {
  std::string address = "127.0.0.1";  // a name or a number
  int port = 29500;

  std::string to_string() const;  // "localhost:29500"
};

class LaunchMeeting {
 public:
  // Listens at the place, on that address alone. Error (usage) when the address is not of this machine; Error
  // (environment) when the port is taken.
  LaunchMeeting(MeetingPlace place, NodeIntroduction own, LaunchToken token);
  ~LaunchMeeting();
  LaunchMeeting(const LaunchMeeting&) = delete;
  LaunchMeeting& operator=(const LaunchMeeting&) = delete;

  // False: stop_asked() said so. Error (environment) when the others are not there in time. `refused` hears
  // of launches that came and were sent away.
  bool wait_for_all(std::chrono::milliseconds patience, const std::function<bool()>& stop_asked,
                    const std::function<void(const std::string&)>& refused);

  // Once all are there.
  int ranks() const;                                         // of all nodes
  std::string hosts() const;                                 // for mpirun: "localhost:2,nadi-node-1:2"
  bool share_a_machine() const;                              // two of the nodes have one host name
  static std::optional<int> node_of(std::string_view host);  // 1 for "nadi-node-1"

  // While a job runs. `agent` is the program that mpirun started in place of ssh to node `node`.
  void start_daemon(int node, LaunchSocket agent, std::string_view words);
  std::vector<int> descriptors() const;
  // Passes on what daemons say and how they end, and what has happened to their agents.
  void relay();
  bool stop_asked() const { return stop_asked_; }  // by somebody at another node
  // "node 1 on b": a guest that is gone; "" while all are there.
  const std::string& lost() const { return lost_; }
  // Ends the daemons that still run, and waits for that as long as `patience`.
  void end_daemons(std::chrono::milliseconds patience);

  // The last word to all guests: what their launches end with. `text` may be "".
  void finish(int exit_code, const std::string& text);

 private:
  struct Stranger;
  struct Guest;

  void accept(const std::function<void(const std::string&)>& refused);
  bool hear_stranger(Stranger& stranger, const std::function<void(const std::string&)>& refused);
  void hear_guest(Guest& guest, std::string_view line);
  std::vector<bool> present() const;
  std::string missing() const;  // "node 1", "nodes 1 and 3"
  void wait(int milliseconds) const;

  MeetingPlace place_;
  NodeIntroduction own_;
  LaunchToken token_;
  Descriptor listening_;
  std::vector<Stranger> strangers_;
  std::vector<Guest> guests_;  // by number of node, from 1
  bool begun_ = false;
  bool finished_ = false;
  bool stop_asked_ = false;
  std::string lost_;
};

}  // namespace nadi::inline jobs
