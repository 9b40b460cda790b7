// Lines from a pipe or socket, as they arrive, without waiting.
//
//   LineStream lines(std::move(descriptor));
//   poll(...);                                    // on lines.descriptor()
//   lines.read([&](std::string_view line) { ... });
//
// A line is handed over when it is complete; what stands after the last newline follows at the end. A line of
// more than 64 KiB is handed over in pieces of that length.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "nadi/process/descriptor.h"

namespace nadi::inline ground {

class LineStream {
 public:
  static constexpr std::size_t kLongestLine = 1 << 16;
  using OnLine = std::function<void(std::string_view line)>;

  LineStream() = default;
  explicit LineStream(Descriptor source);  // is made non-blocking

  bool is_open() const { return source_.is_open(); }
  int descriptor() const { return source_.get(); }  // -1 after the end, which poll() skips

  // Takes what has arrived, and closes at the end of the stream; a failure to read is an end.
  void read(const OnLine& on_line);

 private:
  void split(std::string_view bytes, const OnLine& on_line);

  Descriptor source_;
  std::string rest_;  // the beginning of a line
};

}  // namespace nadi::inline ground
