#include "nadi/terminal/output_width.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "nadi/terminal/output_stream.h"

namespace nadi {
namespace {

constexpr std::size_t kUsual = 100;
constexpr std::size_t kLeast = 40;  // below this no table is readable
constexpr std::size_t kMost = 200;  // above this lines are hard to follow

}  // namespace

std::size_t output_width(const std::ostream& out) {
  const auto* stream = dynamic_cast<const OutputStream*>(&out);
  if (stream == nullptr && &out != &std::cerr) return kUsual;
  const int descriptor = stream == nullptr ? STDERR_FILENO : stream->descriptor();
  std::size_t width = 0;
  if (const char* said = std::getenv("COLUMNS")) {
    const std::string_view text(said);
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), width);
    if (problem != std::errc{} || end != text.data() + text.size()) width = 0;
  }
  if (width == 0) {
    winsize size{};
    if (isatty(descriptor) == 1 && ioctl(descriptor, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  }
  return width == 0 ? kUsual : std::clamp(width, kLeast, kMost);
}

}  // namespace nadi
