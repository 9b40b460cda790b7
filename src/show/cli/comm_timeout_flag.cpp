#include "nadi/cli/comm_timeout_flag.h"

#include <cstdlib>
#include <string>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/parse_duration.h"
#include "nadi/base/read_number.h"
#include "nadi/command_line/flags.h"
#include "nadi/launched/rank_end.h"

namespace nadi::inline show {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kTimeoutFlag = "--comm-timeout";
constexpr milliseconds kLeastTimeout{1000};

milliseconds parse_timeout(std::string_view name, const std::string& text) {
  const std::optional<Nanoseconds> time = parse_duration(text);
  if (!time)
    throw usage_error(format("{}: '{}' is not a duration", name, text), "for example 90s, 10min, or 0");
  const milliseconds whole(time->count() / 1'000'000);
  if (time->count() > 0 && whole < kLeastTimeout)
    throw usage_error(format("{} is {}; it is at least 1 s, or 0 for no limit", name, text));
  return whole;
}

}  // namespace

void add_comm_timeout_flag(Flags& flags, std::string_view group) {
  FlagHeading(flags, group)
      .value(kTimeoutFlag, "TIME",
             "end the ranks when none has made progress for so long: 90s, 10min; 0 disables the limit",
             "10min");
}

std::optional<milliseconds> given_comm_timeout(const Flags& flags) {
  if (flags.find(kTimeoutFlag) == nullptr) return std::nullopt;
  const auto text = flags.text(kTimeoutFlag);
  return text ? std::optional(parse_timeout(kTimeoutFlag, *text)) : std::nullopt;
}

milliseconds comm_timeout_of(const Flags& flags) {
  if (const auto given = given_comm_timeout(flags)) return *given;
  const char* const launched = std::getenv(kCommTimeoutVariable);
  if (launched == nullptr) return kDefaultCommTimeout;
  const std::string_view text = launched;
  std::int64_t number = 0;
  if (!read_number(text, number) || number < 0)
    throw usage_error(format("{} is '{}', not a number of milliseconds", kCommTimeoutVariable, text));
  return milliseconds(number);
}

std::filesystem::path collectives_folder(const Flags& flags) {
  for (const std::string_view name : {"--save-dir", "--save"})
    if (flags.find(name) != nullptr)
      if (const auto folder = flags.text(flags.find(name)->names[0])) return *folder;
  const char* const job = std::getenv("JOB_FOLDER");  // scheduler/job_variables.h
  std::error_code ignored;
  return job != nullptr && std::filesystem::is_directory(job, ignored) ? std::filesystem::path(job) : ".";
}

RankWatchOptions rank_watch_options(const Flags& flags, const Console& console) {
  RankWatchOptions options = rank_watch(comm_timeout_of(flags), console);
  options.collectives_folder = collectives_folder(flags);
  if (flags.find("--save-dir") != nullptr && flags.given("--save-dir"))
    options.shared_folder = options.collectives_folder;
  return options;
}

}  // namespace nadi::inline show
