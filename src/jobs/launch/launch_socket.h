// The connection between the launcher and the supervisors of ranks: lines over TCP, on one host and on
// several.
//
//   launcher:     listener.contact()          // goes to the supervisors in their environment
//   supervisor:   LaunchSocket socket = connect_to_launcher(contact, "3 ...");
//   launcher:     listener.accept(), then socket.send("terminate")
//   supervisor:   socket.read(...)
//
// The first line of a supervisor is a greeting with a secret that only processes of this job know. The other
// side is gone when is_open() is false after read(); a host that died is noticed within half a minute.
//
// Who floods the launcher with connections costs it little: of those that have not said the secret only the
// newest kMostStrangers are kept, for kHelloPatience, and each may say one short line.
//
// Limitation: IPv4.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/process/line_stream.h"

namespace nadi::inline jobs {

class LaunchSocket {
 public:
  explicit LaunchSocket(Descriptor connected);

  bool is_open() const { return lines_.is_open(); }
  int descriptor() const { return lines_.descriptor(); }

  // One line, without its newline. Waits while the other side is slow; what is sent to a closed side is lost.
  void send(std::string_view line);
  void read(const LineStream::OnLine& on_line) { lines_.read(on_line); }
  void close() { lines_ = LineStream(); }

 private:
  LineStream lines_;
};

enum class Reach {
  kThisHost,   // listens on the loopback interface
  kEveryHost,  // listens on all
};

class LaunchSocketListener {
 public:
  static constexpr std::size_t kMostStrangers = 256;
  static constexpr std::chrono::seconds kHelloPatience{10};

  // Error (environment) when there is no network to listen on.
  explicit LaunchSocketListener(Reach reach);

  int descriptor() const { return listening_.get(); }
  // "secret@address:port,address:port": what connect_to_launcher() takes. It holds the secret, so it belongs
  // into an environment and not on a command line, which everybody can read.
  const std::string& contact() const { return contact_; }

  // Connections that have come in and have said the secret since the last call; each with the rest of its
  // hello. Others are closed.
  struct Arrival {
    LaunchSocket socket;
    std::string greeting;
  };
  std::vector<Arrival> accept();

  // To poll as well: those that have not said hello yet.
  std::vector<int> waiting() const;

 private:
  Descriptor listening_;
  std::string secret_;
  std::string contact_;
  struct Stranger {
    LaunchSocket socket;
    std::chrono::steady_clock::time_point since;
  };
  std::vector<Stranger> strangers_;  // in the order in which they came
};

// Tries the addresses in turn. Error (environment) when none of them answers as the launcher.
LaunchSocket connect_to_launcher(const std::string& contact, std::string_view greeting);

}  // namespace nadi::inline jobs
