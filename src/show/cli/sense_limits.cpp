#include "nadi/cli/sense_limits.h"

#include <string>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/command_line/flags.h"
#include "nadi/process/usable_cores.h"

namespace nadi::inline show {
namespace {

constexpr std::string_view kFlag = "--oversubscribe";

std::string cores_text(std::int64_t cores) {
  return format("{} core{}", cores, cores == 1 ? "" : "s");
}

bool lifted(const Flags& flags) {
  return flags.find(kFlag) != nullptr && flags.given(kFlag);
}

}  // namespace

void add_oversubscribe_flag(Flags& flags, std::string_view group) {
  FlagHeading(flags, group)
      .toggle(kFlag,
              format("allow more than {} ranks, or {} threads of a rank, for each core of this machine",
                     kMostRanksPerCore, kMostThreadsPerCore));
}

void check_ranks_on(std::string_view flag, std::int64_t ranks, std::int64_t cores) {
  if (ranks <= kMostRanksPerCore * cores) return;
  throw environment_error(
      format("{} {}: this machine has {}; {} ranks take turns on each, and every step takes about {} times "
             "as long as on {} ranks",
             flag, with_thousands(ranks), cores_text(cores), with_thousands((ranks + cores - 1) / cores),
             with_thousands((ranks + cores - 1) / cores), cores),
      format("at most {} ranks make sense here; {} starts them all the same",
             with_thousands(kMostRanksPerCore * cores), kFlag));
}

void check_threads_on(std::string_view flag, std::int64_t threads, std::int64_t cores) {
  if (threads <= kMostThreadsPerCore * cores) return;
  throw environment_error(
      format("{} {}: this machine has {}, so that {} threads take turns on each", flag,
             with_thousands(threads), cores_text(cores), with_thousands((threads + cores - 1) / cores)),
      format("at most {} threads make sense here; {} starts them all the same",
             with_thousands(kMostThreadsPerCore * cores), kFlag));
}

void check_ranks_here(const Flags& flags, std::string_view flag, std::int64_t ranks) {
  if (!lifted(flags)) check_ranks_on(flag, ranks, usable_cores());
}

void check_threads_here(const Flags& flags, std::string_view flag, std::int64_t threads) {
  if (!lifted(flags)) check_threads_on(flag, threads, usable_cores());
}

}  // namespace nadi::inline show
