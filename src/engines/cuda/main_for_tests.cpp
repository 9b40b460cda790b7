// The main function of test programs that need a GPU. Where there is none, all tests are skipped, with the
// reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>

#include "nadi/cuda/cuda_available.h"

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  if (!testing::GTEST_FLAG(list_tests)) {
    if (const auto reason = nadi::cuda::why_no_cuda()) {
      std::cout << "[  SKIPPED ] all tests: " << reason->reason << "\n";
      return 0;
    }
  }
  return RUN_ALL_TESTS();
}
