#include "nadi/launch/meeting_address.h"

#include <netdb.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/launch/launch_meeting.h"

namespace nadi::inline jobs {
namespace {

std::string why(int code) {
  return std::generic_category().message(code);
}

const sockaddr* generic(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr*>(&address.storage);
}

}  // namespace

std::vector<SocketAddress> addresses_of(const MeetingPlace& place) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failure = getaddrinfo(place.address.c_str(), format("{}", place.port).c_str(), &wanted, &list);
  if (failure != 0)
    throw usage_error(
        format("the master address '{}' has no network address: {}", place.address, gai_strerror(failure)),
        "the name or number of the machine of node 0, as all nodes can reach it");
  std::vector<SocketAddress> addresses;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    SocketAddress address;
    if (entry->ai_addrlen > sizeof address.storage) continue;
    const auto* const bytes = reinterpret_cast<const char*>(entry->ai_addr);
    std::copy(bytes, bytes + entry->ai_addrlen, reinterpret_cast<char*>(&address.storage));
    address.size = entry->ai_addrlen;
    // IPv4 first: a name of this machine often has an IPv6 address that others do not reach.
    addresses.insert(entry->ai_family == AF_INET ? addresses.begin() : addresses.end(), address);
  }
  freeaddrinfo(list);
  return addresses;
}

Descriptor listen_at(const MeetingPlace& place) {
  int failure = EADDRNOTAVAIL;
  for (const SocketAddress& address : addresses_of(place)) {
    Descriptor descriptor(socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!descriptor.is_open()) continue;
    const int yes = 1;  // a launch that has just ended does not hold the port
    setsockopt(descriptor.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(descriptor.get(), generic(address), address.size) == 0 &&
        listen(descriptor.get(), SOMAXCONN) == 0)
      return descriptor;
    failure = errno;
    if (failure == EADDRINUSE) break;
  }
  if (failure == EADDRNOTAVAIL)
    throw usage_error(format("the master address '{}' is not an address of this machine", place.address),
                      "node 0 runs on the machine that it names; other machines have another node number");
  if (failure == EADDRINUSE)
    throw environment_error(format("{}: the port is taken: another launch of node 0, or another program, "
                                   "listens there",
                                   place.to_string()),
                            "end it, or choose another port for all nodes");
  throw environment_error(format("{}: cannot listen: {}", place.to_string(), why(failure)));
}

Descriptor connect_to(const MeetingPlace& place, int milliseconds) {
  for (const SocketAddress& address : addresses_of(place)) {
    Descriptor descriptor(socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!descriptor.is_open()) continue;
    if (connect(descriptor.get(), generic(address), address.size) == 0) return descriptor;
    if (errno != EINPROGRESS) continue;
    pollfd entry{.fd = descriptor.get(), .events = POLLOUT, .revents = 0};
    int failure = 0;
    socklen_t size = sizeof failure;
    if (poll(&entry, 1, milliseconds) > 0 &&
        getsockopt(descriptor.get(), SOL_SOCKET, SO_ERROR, &failure, &size) == 0 && failure == 0)
      return descriptor;
  }
  return {};
}

}  // namespace nadi::inline jobs
