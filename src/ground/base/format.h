// format("{} of {}", a, b): the one place that knows which formatting library we use (GCC 12 has no
// std::format). Included by sources, never by headers, so that users of the installed library do not
// need it to compile.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>

namespace nadi::inline ground {

// An object, not a function: for a call with a std::string, argument-dependent lookup would add std::format,
// where a header of the library brings it, and the call would be ambiguous.
struct Format {
  template <typename... Args>
  std::string operator()(fmt::format_string<Args...> pattern, Args&&... args) const {
    return fmt::format(pattern, std::forward<Args>(args)...);
  }
};
inline constexpr Format format;

}  // namespace nadi::inline ground
