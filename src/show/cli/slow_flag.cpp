#include "nadi/cli/slow_flag.h"

#include <cstdlib>
#include <string>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/command_line/flags.h"
#include "nadi/launch/slow_ranks.h"

namespace nadi::inline show {

std::map<int, double> slow_ranks_of(std::string_view name, std::string_view list, int ranks) {
  try {
    return parse_slow_ranks(list, ranks);
  } catch (const Error& error) {
    throw usage_error(format("{}: {}", name, error.message()), error.hint());
  }
}

double slowdown_of(const Flags& flags, Rank rank, std::int64_t ranks) {
  const auto list = flags.text("--slow");
  const char* const launched = std::getenv(std::string(kSlowVariable).c_str());
  if (!list && launched == nullptr) return 1;
  const std::map<int, double> factors = list
                                            ? slow_ranks_of("--slow", *list, static_cast<int>(ranks))
                                            : slow_ranks_of(kSlowVariable, launched, static_cast<int>(ranks));
  const auto found = factors.find(to_number(rank));
  return found == factors.end() ? 1 : found->second;
}

}  // namespace nadi::inline show
