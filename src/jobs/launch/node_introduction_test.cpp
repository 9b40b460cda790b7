#include "nadi/launch/node_introduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/process/line_stream.h"

namespace nadi::inline jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

NodeIntroduction node(int number) {
  return {.nodes = 3,
          .node = number,
          .ranks = 2,
          .host = "b",
          .folder = "/run",
          .program = "/bin/nadi",
          .version = "1.0",
          .words = {"train", "gpt2", "--prompt", "two\nlines and \"quotes\""}};
}

std::string refusal(const NodeIntroduction& guest, std::vector<bool> present = {true, false, false}) {
  return reason_to_refuse(node(0), guest, present);
}

TEST(NodeIntroduction, ComesAcrossOnOneLine) {
  const std::string line = to_line(node(1));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto back = parse_introduction(line);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->words, node(1).words);
  EXPECT_EQ(back->node, 1);
  EXPECT_EQ(back->folder, "/run");
  for (const char* damaged : {"", "{}", "[1]", "{\"nodes\": 2", "nodes"})
    EXPECT_FALSE(parse_introduction(damaged)) << damaged;
}

TEST(NodeIntroduction, OfAVeryLongCommandIsShortAndStillCompared) {
  NodeIntroduction own = node(0), guest = node(1);
  own.words.emplace_back(100'000, 'x');
  guest.words.emplace_back(100'000, 'x');
  const std::string line = to_line(guest);
  EXPECT_LT(line.size(), LineStream::kLongestLine);
  EXPECT_EQ(reason_to_refuse(own, *parse_introduction(line), {true, false, false}), "");
  guest.words.back().back() = 'y';
  EXPECT_THAT(reason_to_refuse(own, *parse_introduction(to_line(guest)), {true, false, false}),
              HasSubstr("it runs 'train ..."));
}

TEST(NodeIntroduction, IsRefusedWithTheDifference) {
  EXPECT_EQ(refusal(node(1)), "");
  NodeIntroduction guest = node(1);
  guest.nodes = 2;
  EXPECT_EQ(refusal(guest), "it says that the job has 2 nodes; the launch of node 0 says 3");
  EXPECT_EQ(refusal(node(0)), "its number is 0; the other nodes of the job are 1 to 2");
  EXPECT_EQ(refusal(node(3)), "its number is 3; the other nodes of the job are 1 to 2");
  EXPECT_EQ(refusal(node(2), {true, false, true}), "another launch is node 2 already");
  guest = node(1);
  guest.ranks = 5;
  EXPECT_EQ(refusal(guest), "") << "nodes may have different numbers of ranks";
  guest.ranks = 0;
  EXPECT_EQ(refusal(guest), "it has 0 ranks");
  guest = node(1);
  guest.version = "2.0";
  EXPECT_EQ(refusal(guest), "it is Nadi 2.0, and node 0 has Nadi 1.0");
  guest = node(1);
  guest.program = "/other/nadi";
  EXPECT_THAT(refusal(guest), HasSubstr("its program is /other/nadi, and that of node 0 /bin/nadi"));
  guest = node(1);
  guest.folder = "/home";
  EXPECT_THAT(refusal(guest), HasSubstr("it runs in /home, and node 0 in /run"));
  guest = node(1);
  guest.words = {"train", "bert"};
  EXPECT_THAT(refusal(guest), HasSubstr("it runs 'train bert', and node 0 'train gpt2 --prompt"));
}

// The words that mpirun of Open MPI 4.1 gives to what it takes for ssh.
TEST(DaemonArguments, AreThoseOfOrtedAndOfNothingElse) {
  EXPECT_THAT(daemon_arguments({"orted", "-mca", "ess", "\"env\"", "-mca", "orte_hnp_uri",
                                "\"1.0;tcp://10.0.0.1,10.1.0.1:4711;tcp6://[fd00::2]:51967\"", "--mca",
                                "plm_rsh_agent", "\"/bin/nadi launch-node\""}),
              Optional(ElementsAre("-mca", "ess", "env", "-mca", "orte_hnp_uri",
                                   "1.0;tcp://10.0.0.1,10.1.0.1:4711;tcp6://[fd00::2]:51967", "--mca",
                                   "plm_rsh_agent", "/bin/nadi launch-node")));
  EXPECT_THAT(daemon_arguments({" orted  -mca a \"\" "}), Optional(ElementsAre("-mca", "a", "")));
  for (const char* other : {"", "/tmp/orted", "sh -c orted", "PATH=/x orted", "orted $(rm x)", "orted `x`",
                            "orted \"open", "orted 'x'", "orted a\\b", "orted a\nb", "; orted"})
    EXPECT_FALSE(daemon_arguments({other})) << other;
}

TEST(WordsOnALine, ComeBack) {
  const std::vector<std::string> words{"a b", "", "c\nd", "\"e\""};
  EXPECT_EQ(parse_words(words_to_line(words)), words);
  EXPECT_FALSE(parse_words("{\"a\": 1}"));
  EXPECT_FALSE(parse_words("[1]"));
}

}  // namespace
}  // namespace nadi::inline jobs
