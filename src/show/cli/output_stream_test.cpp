#include "nadi/terminal/output_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <sstream>

#include "nadi/base/error.h"
#include "nadi/cli/run_cli.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {
namespace {

class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe(ends_), 0); }
  ~Pipe() {
    close_reader();
    close(ends_[1]);
  }
  int writer() const { return ends_[1]; }
  void close_reader() {
    if (ends_[0] >= 0) close(ends_[0]);
    ends_[0] = -1;
  }
  std::string read_some() {
    std::string text(100, '\0');
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(read(ends_[0], text.data(), text.size()), 0)));
    return text;
  }

 private:
  int ends_[2] = {-1, -1};
};

TEST(OutputStream, WritesOnFlush) {
  Pipe pipe;
  OutputStream out(pipe.writer(), "out");
  out << "a " << 12;
  out.flush();
  EXPECT_EQ(pipe.read_some(), "a 12");
}

TEST(OutputStream, SaysThatNobodyReads) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  pipe.close_reader();
  OutputStream out(pipe.writer(), "out");
  out << "a";
  EXPECT_THROW(out.flush(), ClosedPipe);
}

TEST(OutputStream, NamesThePlaceAndTheReason) {
  const int full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  OutputStream out(full, "out");
  try {
    out << std::string(1 << 20, 'a');  // more than the buffer: noticed before flush()
    FAIL() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_STREQ(error.what(), "out: cannot write: No space left on device");
  }
  close(full);
}

TEST(RunCli, EndsQuietlyWhenNobodyReads) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  pipe.close_reader();
  OutputStream out(pipe.writer(), "standard output");
  std::ostringstream err;
  Console console{.out = out, .err = err};
  EXPECT_EQ(run_cli(std::vector<std::string>{"models"}, console), 0);
  EXPECT_EQ(err.str(), "");
}

TEST(RunCli, InterruptedLeavesNoFile) {
  const WorkingFolder folder;
  std::ostringstream out, err;
  Interruption interruption;
  interruption.ask();
  Console console{.out = out, .err = err, .interruption = &interruption};
  EXPECT_EQ(run_cli(std::vector<std::string>{"trace", "gpt2", "-o", "x"}, console), 130);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(RunCli, ColoursOnlyWhereTheyAreWanted) {
  std::ostringstream out, err;
  Console console{.out = out, .err = err, .colour_out = true, .colour_err = true};
  EXPECT_EQ(run_cli(std::vector<std::string>{"models"}, console), 0);
  EXPECT_EQ(run_cli(std::vector<std::string>{"mdels"}, console), 2);
  EXPECT_NE(out.str().find("\033[1mname"), std::string::npos);
  EXPECT_TRUE(err.str().starts_with("\033[1;31merror:\033[0m unknown command 'mdels'"));
  EXPECT_EQ(run("models").out.find('\033'), std::string::npos);
}

}  // namespace
}  // namespace nadi::inline show
