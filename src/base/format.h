// format("{} of {}", a, b): the one place that knows which formatting library we use (GCC 12 has no
// std::format). Included by sources, never by headers, so that users of the installed library do not
// need it to compile.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>

namespace nadi {

template <typename... Args>
std::string format(fmt::format_string<Args...> pattern, Args&&... args) {
  return fmt::format(pattern, std::forward<Args>(args)...);
}

}  // namespace nadi
