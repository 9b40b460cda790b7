#include "nadi/base/version.h"

namespace nadi::inline ground {

std::string_view version() {
  return NADI_VERSION;
}

}  // namespace nadi::inline ground
