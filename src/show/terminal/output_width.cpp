#include "nadi/terminal/output_width.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string_view>

#include "nadi/base/read_number.h"
#include "nadi/terminal/output_stream.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kMostWidth = 200;  // above this lines are hard to follow

// Where streams keep what set_output_width() says.
int width_slot() {
  static const int kSlot = std::ios_base::xalloc();
  return kSlot;
}

std::optional<std::size_t> width_in_environment() {
  const char* said = std::getenv("COLUMNS");
  if (said == nullptr) return std::nullopt;
  const std::string_view text(said);
  std::size_t width = 0;
  if (!read_number(text, width) || width == 0) return std::nullopt;
  return width;
}

// What set_output_width() has said; 0 means nothing. iword() is not const, since it may make room for the word.
std::size_t said_width(const std::ostream& out) {
  return static_cast<std::size_t>(const_cast<std::ostream&>(out).iword(width_slot()));
}

// Nothing where it is not known.
std::optional<std::size_t> known_width(const std::ostream& out) {
  const auto* stream = dynamic_cast<const OutputStream*>(&out);
  if (stream == nullptr && &out != &std::cerr) return kUsualWidth;
  if (const auto width = width_in_environment()) return width;
  const int descriptor = stream == nullptr ? STDERR_FILENO : stream->descriptor();
  if (!is_terminal(descriptor)) return std::nullopt;
  winsize size{};
  // Some terminals do not know how wide they are.
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualWidth;
  return size.ws_col;
}

}  // namespace

bool is_terminal(int descriptor) {
  return isatty(descriptor) == 1 && std::getenv("OMPI_COMM_WORLD_RANK") == nullptr;
}

std::size_t output_width(const std::ostream& out) {
  if (const std::size_t said = said_width(out); said > 0) return said;
  return std::clamp(known_width(out).value_or(kUsualWidth), kLeastWidth, kMostWidth);
}

std::size_t table_width(const std::ostream& out) {
  return said_width(out) > 0 || known_width(out) ? output_width(out) : kNoWidthLimit;
}

void set_output_width(std::ostream& out, std::size_t width) {
  out.iword(width_slot()) = static_cast<long>(width);
}

}  // namespace nadi::inline show
