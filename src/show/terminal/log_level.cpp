#include "nadi/terminal/log_level.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"

namespace nadi::inline show {
namespace {

constexpr std::array<std::pair<std::string_view, LogLevel>, 9> kNames{{{"", LogLevel::kInfo},
                                                                       {"NOTSET", LogLevel::kInfo},
                                                                       {"DEBUG", LogLevel::kDebug},
                                                                       {"INFO", LogLevel::kInfo},
                                                                       {"WARNING", LogLevel::kWarning},
                                                                       {"WARN", LogLevel::kWarning},
                                                                       {"ERROR", LogLevel::kError},
                                                                       {"CRITICAL", LogLevel::kError},
                                                                       {"FATAL", LogLevel::kError}}};

// The numbers that Python gives them; a message is shown where its number is not below the level.
constexpr int kDebugNumber = 10, kInfoNumber = 20, kWarningNumber = 30;

}  // namespace

LogLevel parse_log_level(std::string_view text) {
  std::string upper(text);
  for (char& letter : upper)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  for (const auto& [name, level] : kNames)
    if (upper == name) return level;
  int number = 0;
  if (!read_number(text, number) || number < 0)
    throw usage_error(format("LOGLEVEL does not take '{}'", text),
                      "known: DEBUG, INFO, WARNING, ERROR, and Python's numbers of them, 10 to 40");
  if (number == 0) return LogLevel::kInfo;
  if (number <= kDebugNumber) return LogLevel::kDebug;
  if (number <= kInfoNumber) return LogLevel::kInfo;
  return number <= kWarningNumber ? LogLevel::kWarning : LogLevel::kError;
}

}  // namespace nadi::inline show
