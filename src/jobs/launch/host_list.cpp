#include "nadi/launch/host_list.h"

#include <algorithm>
#include <charconv>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline jobs {

std::int64_t ranks_on(std::string_view hosts) {
  std::int64_t ranks = 0;
  for (std::size_t at = 0; at <= hosts.size();) {
    const std::size_t end = std::min(hosts.find(',', at), hosts.size());
    const std::string_view host = hosts.substr(at, end - at);
    at = end + 1;
    const std::size_t colon = std::min(host.find(':'), host.size());
    std::int64_t count = 1;
    if (colon < host.size()) {
      const char* const stop = host.data() + host.size();
      const auto [parsed, error] = std::from_chars(host.data() + colon + 1, stop, count);
      if (error != std::errc{} || parsed != stop) count = 0;
    }
    if (colon == 0 || count < 1 || count > kMostRanksOfJob)
      throw usage_error(format("'{}' is not a host with its number of ranks", host),
                        "a list of hosts looks like a:2,b:2");
    ranks += count;
  }
  return ranks;
}

}  // namespace nadi::inline jobs
