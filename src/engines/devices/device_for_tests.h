// For tests: the device that they run on, that of NADI_TEST_DEVICE (testing/test_device.h). Where it is a GPU
// and there is none, the program says so and ends well: ctest counts it as skipped.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/cuda/cuda_available.h"
#include "nadi/devices/make_engine.h"
#include "nadi/testing/test_device.h"

namespace nadi::inline engines {

inline DeviceKind device_for_tests() {
  for (const DeviceEntry& entry : devices())
    if (entry.name == test_device_name()) {
      const auto why_not = entry.kind == DeviceKind::kCuda ? cuda::why_no_cuda() : std::nullopt;
      if (!why_not) return entry.kind;
      std::printf("skipped: %s\n", why_not->reason.c_str());
      std::fflush(stdout);
      std::_Exit(0);
    }
  check(false, "NADI_TEST_DEVICE names no device");
  unreachable();
}

}  // namespace nadi::inline engines
