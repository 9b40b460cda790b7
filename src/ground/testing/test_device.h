// The device that tests of training run on: the variable NADI_TEST_DEVICE names it, "cpu" without. ctest runs
// them on several.
#pragma once

#include <cstdlib>
#include <string_view>

namespace nadi::inline ground {

inline std::string_view test_device_name() {
  const char* name = std::getenv("NADI_TEST_DEVICE");
  return name != nullptr && *name != '\0' ? name : "cpu";
}

}  // namespace nadi::inline ground
