#include "nadi/base/version.h"

namespace nadi {

std::string_view version() {
  return NADI_VERSION;
}

}  // namespace nadi
