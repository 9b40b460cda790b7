#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/chakra/chakra_reader.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/trace/common_attributes.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;

class TraceCollectiveTest : public testing::Test {
 protected:
  const WorkingFolder folder_;
};

TEST_F(TraceCollectiveTest, WritesOneNodePerRank) {
  const CliRun done = run("trace collective all-reduce --op prod --bytes 1MB --ranks 8 -o out/ar");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.err, "");
  EXPECT_THAT(done.out, testing::StartsWith("out/ar.*.et: 8 files, 8 nodes, "));
  for (int rank = 0; rank < 8; ++rank) {
    const Trace trace = read_chakra("out/ar." + std::to_string(rank) + ".et");
    ASSERT_EQ(trace.size(), 1u);
    EXPECT_EQ(trace.type(0), NodeType::kCommColl);
    EXPECT_EQ(trace.find_attribute(0, attribute_name::kIsCpuOp)->integer(), 0);
    EXPECT_EQ(trace.find_attribute(0, attribute_name::kCommType)->kind, TraceAttributeKind::kInt64);
    EXPECT_EQ(trace.find_attribute(0, attribute_name::kCommType)->integer(), 0);  // ALL_REDUCE
    EXPECT_EQ(trace.find_attribute(0, attribute_name::kCommSize)->kind, TraceAttributeKind::kInt64);
    EXPECT_EQ(trace.find_attribute(0, attribute_name::kCommSize)->integer(), 1'000'000);
    EXPECT_EQ(trace.find_attribute(0, attribute_name::kProcessGroup)->string(), "0");
    EXPECT_EQ(trace.find_attribute(0, "reduce_op")->string(), "prod");
  }
  EXPECT_FALSE(std::filesystem::exists("out/ar.8.et"));
}

TEST_F(TraceCollectiveTest, KnowsEveryKind) {
  struct Kind {
    const char* name;
    CollectiveType type;
    bool reduces;
  };
  for (const Kind& kind : {Kind{"all-reduce", CollectiveType::kAllReduce, true},
                           Kind{"all-gather", CollectiveType::kAllGather, false},
                           Kind{"reduce-scatter", CollectiveType::kReduceScatter, true},
                           Kind{"broadcast", CollectiveType::kBroadcast, false},
                           Kind{"all-to-all", CollectiveType::kAllToAll, false}}) {
    const CliRun done =
        run("trace collective " + std::string(kind.name) + " --bytes 2KiB --ranks 2 -o a --force");
    EXPECT_EQ(done.code, 0) << done.err;
    const Trace trace = read_chakra("a.1.et");
    EXPECT_EQ(trace.find_attribute(0, attribute_name::kCommType)->integer(), static_cast<int>(kind.type));
    EXPECT_EQ(trace.find_attribute(0, attribute_name::kCommSize)->integer(), 2048);
    const auto reduction = trace.find_attribute(0, "reduce_op");
    EXPECT_EQ(reduction.has_value(), kind.reduces) << kind.name;
    if (reduction) {
      EXPECT_EQ(reduction->string(), "sum");
    }
  }
}

TEST_F(TraceCollectiveTest, SendsFromRank0ToRank1) {
  EXPECT_EQ(run("trace collective send-receive --bytes 7 --ranks 3 -o a").code, 0);
  const Trace sends = read_chakra("a.0.et"), receives = read_chakra("a.1.et");
  EXPECT_EQ(sends.type(0), NodeType::kCommSend);
  EXPECT_EQ(receives.type(0), NodeType::kCommRecv);
  for (const Trace* trace : {&sends, &receives}) {
    EXPECT_EQ(trace->find_attribute(0, attribute_name::kCommSrc)->integer(), 0);
    EXPECT_EQ(trace->find_attribute(0, attribute_name::kCommDst)->integer(), 1);
    EXPECT_EQ(trace->find_attribute(0, attribute_name::kCommSize)->integer(), 7);
    EXPECT_EQ(trace->find_attribute(0, attribute_name::kCommTag)->kind, TraceAttributeKind::kInt32);
  }
  EXPECT_EQ(read_chakra("a.2.et").size(), 0u) << "a rank that does nothing";
}

TEST_F(TraceCollectiveTest, NamesMistakes) {
  const auto err = [](const std::string& arguments) {
    const CliRun done = run("trace collective " + arguments);
    EXPECT_EQ(done.code, 2) << arguments;
    EXPECT_EQ(done.out, "") << arguments;
    return done.err;
  };
  EXPECT_EQ(
      err(""),
      "error: KIND is missing\n  hint: for example: nadi trace collective all-reduce --op prod --bytes 1MB "
      "--ranks 8 -o out/ar\n");
  EXPECT_THAT(err("allreduce"),
              HasSubstr("error: unknown collective 'allreduce'\n  hint: did you mean 'all-reduce'? known: "));
  EXPECT_EQ(err("all-gather --op sum --bytes 1 --ranks 2 -o a"),
            "error: a reduction does not apply to all-gather, which reduces nothing\n"
            "  hint: it goes with all-reduce, reduce-scatter\n");
  EXPECT_THAT(err("all-reduce --op summ --bytes 1 --ranks 2 -o a"), HasSubstr("did you mean 'sum'?"));
  EXPECT_EQ(err("all-reduce --ranks 2 -o a"),
            "error: --bytes is missing\n  hint: --bytes 1MB is a message of 1,000,000 bytes\n");
  EXPECT_THAT(err("all-reduce --bytes 1XB --ranks 2 -o a"),
              HasSubstr("error: --bytes takes a size of at least 1 byte, not '1XB'\n  hint: 1MB is "));
  EXPECT_EQ(err("all-reduce --bytes 1 -o a"),
            "error: --ranks is missing\n  hint: --ranks 8 are ranks 0 to 7\n");
  EXPECT_THAT(err("all-reduce --bytes 1 --ranks 1 -o a"),
              HasSubstr("error: --ranks takes a whole number of at least 2, not '1'\n"));
  // At once: a billion files would take hours to refuse.
  EXPECT_THAT(err("all-reduce --bytes 1 --ranks 1000000000 -o a"),
              HasSubstr("error: 1,000,000,000 files, one for each rank; the limit is 1,048,576\n"));
  EXPECT_THAT(err("all-reduce --bytes 1 --ranks 2"), HasSubstr("error: -o, --output is missing\n"));
  write_text("a.1.et", "mine");
  EXPECT_EQ(err("all-reduce --bytes 1 --ranks 2 -o a"),
            "error: a.1.et: the file exists\n  hint: use --force to overwrite\n");
  EXPECT_EQ(read_text("a.1.et"), "mine");
  EXPECT_FALSE(std::filesystem::exists("a.0.et"));
}

}  // namespace
}  // namespace nadi::inline show
