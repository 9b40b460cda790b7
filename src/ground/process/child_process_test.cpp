#include "nadi/process/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "nadi/process/find_program.h"

namespace nadi::inline ground {
namespace {

using testing::ElementsAre;

struct Ended {
  EndStatus status;
  std::vector<std::string> out, err;
};

Ended run_to_end(const ChildOptions& options) {
  ChildProcess child(options);
  Ended ended;
  while (child.out().is_open() || child.err().is_open()) {
    child.out().read([&](std::string_view line) { ended.out.emplace_back(line); });
    child.err().read([&](std::string_view line) { ended.err.emplace_back(line); });
    poll(nullptr, 0, 1);
  }
  while (!child.poll_end()) poll(nullptr, 0, 1);
  ended.status = *child.poll_end();
  return ended;
}

Ended run_script(const std::string& script, Environment environment = {}) {
  return run_to_end({.words = {"/bin/sh", "-c", script}, .environment = std::move(environment)});
}

TEST(ChildProcess, HandsOverOutputAndExitCode) {
  const Ended ended = run_script("echo one; echo two >&2; cat; exit 3");
  EXPECT_EQ(ended.status, EndStatus{.exit_code = 3});
  EXPECT_THAT(ended.out, ElementsAre("one")) << "cat has nothing to read";
  EXPECT_THAT(ended.err, ElementsAre("two"));
}

TEST(ChildProcess, MayReportThroughAThirdPipe) {
  ChildProcess child({.words = {"/bin/sh", "-c", "echo line >&3"}, .with_report = true});
  std::vector<std::string> lines;
  while (child.report().is_open()) {
    child.report().read([&](std::string_view line) { lines.emplace_back(line); });
    poll(nullptr, 0, 1);
  }
  EXPECT_THAT(lines, ElementsAre("line"));
}

TEST(ChildProcess, TellsSignals) {
  EXPECT_EQ(run_script("kill -9 $$").status, EndStatus{.signal = SIGKILL});
}

TEST(ChildProcess, AddsToTheEnvironment) {
  setenv("NADI_TEST_KEPT", "kept", 1);
  setenv("NADI_TEST_REPLACED", "before", 1);
  const Ended ended = run_script("echo $NADI_TEST_KEPT $NADI_TEST_REPLACED $NADI_TEST_NEW",
                                 {{"NADI_TEST_REPLACED", "after"}, {"NADI_TEST_NEW", "a=b c"}});
  EXPECT_THAT(ended.out, ElementsAre("kept after a=b c"));
}

TEST(ChildProcess, SaysWhenAProgramCannotBeStarted) {
  const Ended ended = run_to_end({.words = {"/nowhere/at/all"}});
  EXPECT_EQ(ended.status, EndStatus{.exit_code = 127});
  EXPECT_THAT(ended.err, ElementsAre("cannot start /nowhere/at/all: No such file or directory"));
  for (const char* kept : {"", "nadi-test-start"}) {
    const auto problem_of = [&](const char* program, const char* word) {
      ChildProcess child({.words = {program, "-c", word}, .kept = kept});
      while (!child.poll_end()) usleep(1000);
      return child.start_problem();
    };
    EXPECT_EQ(problem_of("/nowhere/at/all", ""), ENOENT);
    EXPECT_EQ(problem_of("/etc/passwd", ""), EACCES);
    EXPECT_EQ(problem_of("/bin/sh", "exit 127"), 0) << "the program's own exit code";
  }
}

TEST(ChildProcess, IsKilledWithItsOwner) {
  pid_t pid = 0;
  {
    const ChildProcess child({.words = {"/bin/sleep", "60"}});
    pid = child.pid();
    EXPECT_EQ(getpgid(pid), pid) << "in a process group of its own";
  }
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(FindProgram, LooksOnPath) {
  EXPECT_TRUE(find_program("sh"));
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_FALSE(find_program("no-such-program-anywhere"));
  EXPECT_FALSE(find_program("/etc/passwd")) << "may not be executed";
  EXPECT_EQ(own_program().filename(), "process_test");
}

}  // namespace
}  // namespace nadi::inline ground
