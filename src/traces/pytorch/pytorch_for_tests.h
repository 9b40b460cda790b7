// What tests of this room share: real traces, which lie beside the source tree, and errors that must come.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "nadi/base/error.h"
#include "nadi/input/chunked_input.h"
#include "nadi/testing/source_folder.h"

namespace nadi::inline traces {

inline std::filesystem::path real_trace(const std::string& name) {
  return shared_data().string() + "/traces/" + name + ".json.gz";
}

// The text of a real trace.
inline std::string unpacked_trace(const std::string& name) {
  constexpr std::size_t kAll = std::size_t{1} << 28;
  ChunkedInput input(real_trace(name));
  return std::string(input.ahead(kAll));
}

// The Error that a call throws; fails the test when there is none.
template <typename Call>
Error error_of(const Call& call) {
  std::optional<Error> caught;
  try {
    call();
  } catch (const Error& error) {
    caught = error;
  }
  EXPECT_TRUE(caught) << "no error";
  return caught.value_or(Error(ErrorKind::kUsage, {}, "no error"));
}

}  // namespace nadi::inline traces
