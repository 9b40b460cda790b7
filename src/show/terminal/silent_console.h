// A console that shows nothing: for ranks that leave talking to another one.
#pragma once

#include <ostream>

#include "nadi/terminal/console.h"

namespace nadi::inline show {

class SilentConsole {
 public:
  // Interrupted when `like` is.
  explicit SilentConsole(const Console& like)
      : console_{.out = nowhere_, .err = nowhere_, .interruption = like.interruption} {}
  Console& console() { return console_; }

 private:
  std::ostream nowhere_{nullptr};
  Console console_;
};

}  // namespace nadi::inline show
