// How much is said on standard error. The variable LOGLEVEL chooses it, in the words of Python's logging, as
// torchrun and scripts around it have it: LOGLEVEL=WARNING nadi train ...
#pragma once

#include <cstdint>
#include <string_view>

namespace nadi::inline show {

enum class LogLevel : std::uint8_t {
  kDebug,    // also how the program was started and what it took
  kInfo,     // notes, progress, where files went: the default
  kWarning,  // what is probably not as the user wants it
  kError,    // only why something failed
};

// DEBUG, INFO, WARNING (WARN), ERROR (CRITICAL, FATAL), in upper or lower case, or Python's numbers of them:
// 10, 20, 30, 40 and what is between; NOTSET and "" are the default. Error (usage) for anything else.
LogLevel parse_log_level(std::string_view text);

}  // namespace nadi::inline show
