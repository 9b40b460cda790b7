// A module that `nadi launch` has the loader put before mpirun's libraries (LD_PRELOAD) when all ranks run on
// this machine: sockets that would listen on every interface listen on the loopback interface alone. Open
// MPI 4.1 binds the port of its daemons to every interface whatever oob_tcp_if_include says, and does not
// start without that port.
//
// The module takes itself out of the environment as soon as it is loaded: mpirun's children run without it.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

constexpr const char* kPreload = "LD_PRELOAD";

// mpirun_command.cpp puts the module first, and what the user had there after a colon.
__attribute__((constructor)) void leave_the_environment() {
  const char* const value = std::getenv(kPreload);
  if (value == nullptr) return;
  const std::string_view words = value;
  const std::size_t colon = words.find(':');
  if (colon == std::string_view::npos)
    unsetenv(kPreload);
  else
    setenv(kPreload, std::string(words.substr(colon + 1)).c_str(), 1);
}

using Bind = int(int, const sockaddr*, socklen_t);

}  // namespace

extern "C" int bind(int socket, const sockaddr* address, socklen_t size) noexcept {
  static Bind* const next = reinterpret_cast<Bind*>(dlsym(RTLD_NEXT, "bind"));
  if (address != nullptr && address->sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
    sockaddr_in here{};
    std::memcpy(&here, address, sizeof here);
    if (here.sin_addr.s_addr == htonl(INADDR_ANY)) here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return next(socket, reinterpret_cast<const sockaddr*>(&here), sizeof here);
  }
  if (address != nullptr && address->sa_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    sockaddr_in6 here{};
    std::memcpy(&here, address, sizeof here);
    if (IN6_IS_ADDR_UNSPECIFIED(&here.sin6_addr)) here.sin6_addr = in6addr_loopback;
    return next(socket, reinterpret_cast<const sockaddr*>(&here), sizeof here);
  }
  return next(socket, address, size);
}
