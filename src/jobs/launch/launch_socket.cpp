#include "nadi/launch/launch_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/launch/launch_token.h"

namespace nadi::inline jobs {
namespace {

constexpr std::string_view kHello = "hello ";
constexpr std::string_view kWelcome = "welcome";
constexpr int kPatienceMs = 5000;  // for an address to answer

Error network_error(std::string_view what) {
  return environment_error(format("cannot {}: {}", what, std::generic_category().message(errno)));
}

// Addresses of the interfaces that are up; the loopback one last, which serves ranks on this host when nothing else
// does.
std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) throw network_error("list the network interfaces");
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    if ((entry->ifa_flags & IFF_UP) == 0 || (entry->ifa_flags & IFF_LOOPBACK) != 0) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr, text.data(),
              text.size());
    addresses.emplace_back(text.data());
  }
  freeifaddrs(list);
  addresses.emplace_back("127.0.0.1");
  return addresses;
}

void notice_dead_hosts(int socket) {
  const auto set = [&](int level, int option, int value) {
    setsockopt(socket, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 10);  // seconds of silence before the first question
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

bool wait_for(int descriptor, short events, int milliseconds) {
  pollfd entry{.fd = descriptor, .events = events, .revents = 0};
  int ready = 0;
  do ready = poll(&entry, 1, milliseconds);
  while (ready < 0 && errno == EINTR);
  return ready > 0;
}

// "10.0.0.1:4711"
std::optional<sockaddr_in> parse_address(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  std::uint16_t port = 0;
  const std::string_view digits = text.substr(colon + 1);
  if (std::from_chars(digits.data(), digits.data() + digits.size(), port).ec != std::errc{})
    return std::nullopt;
  address.sin_port = htons(port);
  if (inet_pton(AF_INET, std::string(text.substr(0, colon)).c_str(), &address.sin_addr) != 1)
    return std::nullopt;
  return address;
}

// Whoever listens there is the launcher only if it knows what to answer.
std::optional<LaunchSocket> try_address(const sockaddr_in& address, std::string_view hello) {
  Descriptor descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!descriptor.is_open()) throw network_error("make a socket");
  if (connect(descriptor.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno != EINPROGRESS || !wait_for(descriptor.get(), POLLOUT, kPatienceMs)) return std::nullopt;
    int failure = 0;
    socklen_t size = sizeof failure;
    if (getsockopt(descriptor.get(), SOL_SOCKET, SO_ERROR, &failure, &size) != 0 || failure != 0)
      return std::nullopt;
  }
  LaunchSocket socket(std::move(descriptor));
  socket.send(hello);
  bool welcome = false;
  if (wait_for(socket.descriptor(), POLLIN, kPatienceMs))
    socket.read([&](std::string_view line) { welcome = line == kWelcome; });
  return welcome ? std::optional(std::move(socket)) : std::nullopt;
}

}  // namespace

LaunchSocket::LaunchSocket(Descriptor connected) : lines_(std::move(connected)) {
  notice_dead_hosts(lines_.descriptor());
}

void LaunchSocket::send(std::string_view line) {
  const std::string text = std::string(line) + '\n';
  for (std::size_t at = 0; at < text.size() && is_open();) {
    const ssize_t sent = ::send(descriptor(), text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (sent >= 0)
      at += static_cast<std::size_t>(sent);
    else if (errno == EAGAIN)
      wait_for(descriptor(), POLLOUT, -1);
    else if (errno != EINTR)
      return;  // the next read() closes
  }
}

LaunchSocketListener::LaunchSocketListener(Reach reach)
    : listening_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), secret_(random_digits()) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(reach == Reach::kThisHost ? INADDR_LOOPBACK : INADDR_ANY);
  socklen_t size = sizeof address;
  if (!listening_.is_open() ||
      bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      listen(listening_.get(), SOMAXCONN) != 0 ||
      getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw network_error("listen for the ranks");
  contact_ = secret_ + "@";
  const std::vector<std::string> addresses =
      reach == Reach::kThisHost ? std::vector<std::string>{"127.0.0.1"} : own_addresses();
  for (const std::string& own : addresses)
    contact_ += format("{}{}:{}", contact_.ends_with('@') ? "" : ",", own, ntohs(address.sin_port));
}

std::vector<LaunchSocketListener::Arrival> LaunchSocketListener::accept() {
  const auto now = std::chrono::steady_clock::now();
  for (std::size_t came = 0; came < kMostStrangers; ++came) {
    Descriptor connection(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection.is_open()) break;
    strangers_.push_back({LaunchSocket(std::move(connection)), now});
  }
  std::vector<Arrival> arrivals;
  const std::string hello = format("{}{} ", kHello, secret_);
  for (auto& [stranger, since] : strangers_) {
    std::optional<std::string> said;
    stranger.read([&](std::string_view line) { said = std::string(line); });
    if (!said) {
      if (now - since > kHelloPatience) stranger.close();
    } else if (said->starts_with(hello)) {
      stranger.send(kWelcome);
      arrivals.push_back({std::move(stranger), said->substr(hello.size())});
    } else {
      stranger.close();
    }
  }
  std::erase_if(strangers_, [](const Stranger& stranger) { return !stranger.socket.is_open(); });
  if (strangers_.size() > kMostStrangers)
    strangers_.erase(strangers_.begin(), strangers_.end() - static_cast<std::ptrdiff_t>(kMostStrangers));
  return arrivals;
}

std::vector<int> LaunchSocketListener::waiting() const {
  std::vector<int> descriptors;
  for (const Stranger& stranger : strangers_) descriptors.push_back(stranger.socket.descriptor());
  return descriptors;
}

LaunchSocket connect_to_launcher(const std::string& contact, std::string_view greeting) {
  const std::size_t at = std::min(contact.find('@'), contact.size());
  const std::string hello = format("{}{} {}", kHello, contact.substr(0, at), greeting);
  for (std::size_t begin = at + 1; begin < contact.size();) {
    const std::size_t end = std::min(contact.find(',', begin), contact.size());
    const auto address = parse_address(std::string_view(contact).substr(begin, end - begin));
    if (address)
      if (auto socket = try_address(*address, hello)) return std::move(*socket);
    begin = end + 1;
  }
  throw environment_error("the launcher does not answer",
                          "hosts of one job must reach each other over TCP, on any port");
}

}  // namespace nadi::inline jobs
