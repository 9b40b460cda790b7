#include "nadi/process/line_stream.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace nadi::inline ground {

LineStream::LineStream(Descriptor source) : source_(std::move(source)) {
  fcntl(source_.get(), F_SETFL, fcntl(source_.get(), F_GETFL) | O_NONBLOCK);
}

void LineStream::read(const OnLine& on_line) {
  // As much as a pipe holds: somebody who writes without end does not keep the others waiting.
  std::array<char, 1 << 16> bytes;
  if (!is_open()) return;
  const ssize_t count = ::read(source_.get(), bytes.data(), bytes.size());
  if (count > 0) return split({bytes.data(), static_cast<std::size_t>(count)}, on_line);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  source_.close();
  if (!rest_.empty()) on_line(std::exchange(rest_, {}));
}

void LineStream::split(std::string_view bytes, const OnLine& on_line) {
  while (!bytes.empty()) {
    const std::size_t room = kLongestLine - rest_.size();
    const std::size_t end = bytes.find('\n');
    const std::size_t length = std::min({end, bytes.size(), room});
    rest_ += bytes.substr(0, length);
    bytes.remove_prefix(length);
    const bool complete = !bytes.empty() && bytes[0] == '\n';
    if (complete) bytes.remove_prefix(1);
    if (complete || rest_.size() == kLongestLine) on_line(std::exchange(rest_, {}));
  }
}

}  // namespace nadi::inline ground
