#include "nadi/terminal/console.h"

#include <ostream>

namespace nadi::inline show {
namespace {

// Drops all that is written to it.
std::ostream& nowhere() {
  static std::ostream stream(nullptr);
  return stream;
}

}  // namespace

std::ostream& Console::at(LogLevel kind) const {
  return kind >= level ? err : nowhere();
}

}  // namespace nadi::inline show
