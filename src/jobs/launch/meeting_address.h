// Network addresses of a name, for the meeting of launches.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "nadi/process/descriptor.h"

namespace nadi::inline jobs {

struct MeetingPlace;

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;
};

// Error (usage) with the reason when the name has no address.
std::vector<SocketAddress> addresses_of(const MeetingPlace& place);

// A socket that listens there. Error (usage) when it is no address of this machine, Error (environment) when
// the port is taken.
Descriptor listen_at(const MeetingPlace& place);

// A connection to whoever listens there; closed when nobody does.
Descriptor connect_to(const MeetingPlace& place, int milliseconds);

}  // namespace nadi::inline jobs
