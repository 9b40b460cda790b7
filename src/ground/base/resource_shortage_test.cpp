#include "nadi/base/resource_shortage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "nadi/base/read_error.h"

namespace nadi::inline ground {
namespace {

using testing::HasSubstr;

// Runs `body` in a process with a limit, and gives back its exit code: 0 for none of the expected errors.
template <typename Body>
int exit_code_under(int resource, rlim_t limit, const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    const struct rlimit both { .rlim_cur = limit, .rlim_max = limit };
    if (setrlimit(static_cast<__rlimit_resource>(resource), &both) != 0) _exit(100);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(ResourceShortage, OtherErrorsAreNone) {
  for (const int number : {ENOENT, EACCES, EINVAL, ENOSPC}) EXPECT_FALSE(resource_shortage(number, "read"));
}

TEST(ResourceShortage, SaysWhatWasWantedAndTheLimits) {
  const int code = exit_code_under(RLIMIT_NOFILE, 77, [] {
    const auto error = resource_shortage(EMFILE, "read", {.file = "a.et"});
    const std::string_view wanted =
        "a.et: cannot read: Too many open files; limits in effect: 77 open files of a process (ulimit -n)";
    return error && error->kind() == ErrorKind::kEnvironment && error->what() == wanted ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
}

TEST(ResourceShortage, FilesThatCannotBeOpenedForWantOfDescriptorsMayBeInOrder) {
  EXPECT_EQ(read_error("a.et", EMFILE).kind(), ErrorKind::kEnvironment);
  EXPECT_EQ(read_error("a.et", EACCES).kind(), ErrorKind::kInput);
}

// Each thread has a stack of 8 MiB: 64 of them do not fit into 300 MiB of addresses beside the program.
TEST(ResourceShortage, ThreadsThatAreNotThere) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer needs the address space for itself";
#endif
  expect_threads(0);
  expect_threads(4);
  const int code = exit_code_under(RLIMIT_AS, rlim_t{300} << 20, [] {
    try {
      expect_threads(64);
      return 1;
    } catch (const Error& error) {
      const std::string_view what = error.what();
      const bool says = what.find("cannot start 64 threads, only ") != what.npos &&
                        what.find("300 MiB of address space (ulimit -v)") != what.npos;
      return error.kind() == ErrorKind::kEnvironment && says ? 0 : 2;
    }
  });
  EXPECT_EQ(code, 0);
}

TEST(ResourceShortage, MemoryThatIsNotThere) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer needs the address space for itself";
#endif
  expect_memory(Bytes{1 << 20});
  const int code = exit_code_under(RLIMIT_AS, rlim_t{300} << 20, [] {
    try {
      expect_memory(Bytes{400 << 20});
      return 1;
    } catch (const Error& error) {
      return error.kind() == ErrorKind::kEnvironment ? 0 : 2;
    }
  });
  EXPECT_EQ(code, 0);
}

TEST(ResourceShortage, Memory) {
  EXPECT_THAT(memory_shortage().what(), HasSubstr("out of memory: the program had up to "));
  EXPECT_EQ(memory_shortage().kind(), ErrorKind::kEnvironment);
}

}  // namespace
}  // namespace nadi::inline ground
