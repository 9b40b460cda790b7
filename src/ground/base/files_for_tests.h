// For tests of what is written to the disk: a temporary folder for each test, and the Error of an action.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline ground {

class FolderTest : public testing::Test {
 protected:
  static std::ptrdiff_t entries(const std::filesystem::path& folder) {
    return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
  }

  const TemporaryFolder folder_;
};

template <typename Action>
std::optional<Error> error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

}  // namespace nadi::inline ground
