// In place of the readers' tests in a build without simdjson.

#include <gtest/gtest.h>

#include "nadi/pytorch/host_trace.h"
#include "nadi/pytorch/kineto_reader.h"
#include "nadi/pytorch/pytorch_for_tests.h"

namespace nadi::inline traces {
namespace {

TEST(ReadersMissing, NameThePackageThatTheyNeed) {
  for (const Error& error :
       {error_of([] { read_kineto("a.json"); }), error_of([] { read_kineto("{}", "a.json"); }),
        error_of([] { read_host_trace("a.json"); }), error_of([] { read_host_trace("{}", "a.json"); })}) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_NE(error.hint().find("libsimdjson-dev"), std::string::npos);
  }
}

}  // namespace
}  // namespace nadi::inline traces
