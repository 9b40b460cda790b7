#include "nadi/base/error.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "nadi/base/format.h"

namespace nadi::inline ground {

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return 2;
    case ErrorKind::kInput:
      return 3;
    case ErrorKind::kEnvironment:
      return 4;
    case ErrorKind::kInfeasible:
      return 5;
  }
  unreachable();
}

std::string Place::to_string() const {
  std::string text = file;
  if (line) text += format("{}{}", text.empty() ? "line " : ":", *line);
  if (line && column) text += format(":{}", *column);
  if (byte) text += format("{}byte {}", text.empty() ? "" : ": ", *byte);
  return text;
}

Error::Error(ErrorKind kind, Place place, std::string message, std::string hint)
    : kind_(kind), place_(std::move(place)), message_(std::move(message)), hint_(std::move(hint)) {
  const std::string where = place_.to_string();
  what_ = where.empty() ? message_ : where + ": " + message_;
}

Error& Error::with_excerpt(std::string excerpt) {
  excerpt_ = std::move(excerpt);
  return *this;
}

Error usage_error(std::string message, std::string hint) {
  return {ErrorKind::kUsage, {}, std::move(message), std::move(hint)};
}

Error input_error(Place place, std::string message, std::string hint) {
  return {ErrorKind::kInput, std::move(place), std::move(message), std::move(hint)};
}

Error environment_error(std::string message, std::string hint) {
  return {ErrorKind::kEnvironment, {}, std::move(message), std::move(hint)};
}

void fail_check(std::string_view message, const char* file, int line) {
  std::fprintf(
      stderr,
      "nadi: internal error: %.*s (%s:%d)\nThis is a bug in Nadi; please report it with the command.\n",
      static_cast<int>(message.size()), message.data(), file, line);
  std::abort();
}

}  // namespace nadi::inline ground
