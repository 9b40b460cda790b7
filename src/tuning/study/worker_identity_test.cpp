#include "nadi/study/worker_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <regex>

#include "nadi/base/format.h"

namespace nadi::inline tuning {
namespace {

using testing::HasSubstr;

TEST(WorkerIdentity, ThisProcessLives) {
  EXPECT_EQ(dead_worker(worker_text(3), 3), std::nullopt);
  EXPECT_THAT(describe_worker(worker_text(3)), HasSubstr(format("worker {} on", getpid())));
}

TEST(WorkerIdentity, EndedProcessIsDead) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string text = worker_text(3);
    _exit(write(ends[1], text.data(), text.size()) > 0 ? 0 : 1);
  }
  std::string text(4096, '\0');
  text.resize(static_cast<std::size_t>(read(ends[0], text.data(), text.size())));
  // Not waited for yet, it is a zombie: it does nothing any more.
  siginfo_t information{};
  waitid(P_PID, static_cast<id_t>(child), &information, WEXITED | WNOWAIT);
  EXPECT_THAT(dead_worker(text, 3).value_or(""), HasSubstr(format("worker {} on", child)));
  waitpid(child, nullptr, 0);
  EXPECT_THAT(dead_worker(text, 3).value_or(""), HasSubstr("is gone"));
  // Copied to another trial.
  EXPECT_EQ(dead_worker(text, 4), std::nullopt);
  // On another machine, or in another container: nothing is known.
  EXPECT_EQ(dead_worker(std::regex_replace(text, std::regex("\"boot\": \""), "\"boot\": \"x"), 3),
            std::nullopt);
  EXPECT_EQ(dead_worker(std::regex_replace(text, std::regex("pid:"), "pod:"), 3), std::nullopt);
}

TEST(WorkerIdentity, NumberUsedAgainIsAnotherProcess) {
  const std::string other_start =
      std::regex_replace(worker_text(3), std::regex("\"start\": [0-9]+"), "\"start\": 1");
  EXPECT_THAT(dead_worker(other_start, 3).value_or(""), HasSubstr("is gone"));
}

TEST(WorkerIdentity, OtherTextsSayNothing) {
  for (const std::string_view text :
       {"", "3", "{}", "[1]", R"({"process": "x"})", R"({"process": -1, "trial": 3, "start": 1})"}) {
    EXPECT_EQ(dead_worker(text, 3), std::nullopt);
    EXPECT_EQ(describe_worker(text), "its worker");
  }
}

}  // namespace
}  // namespace nadi::inline tuning
