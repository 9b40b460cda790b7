// For tests: the device that they run on, that of NADI_TEST_DEVICE (testing/test_device.h).
#pragma once

#include "nadi/base/error.h"
#include "nadi/engine/make_engine.h"
#include "nadi/testing/test_device.h"

namespace nadi {

inline DeviceKind device_for_tests() {
  for (const DeviceEntry& entry : devices())
    if (entry.name == test_device_name()) return entry.kind;
  check(false, "NADI_TEST_DEVICE names no device");
  unreachable();
}

}  // namespace nadi
