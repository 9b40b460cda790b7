#include "nadi/train/event_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline runs {
namespace {

using testing::HasSubstr;

constexpr Nanoseconds kNow{1'700'000'000'500'000'000};

class EventFileTest : public testing::Test {
 protected:
  EventFileOptions options() const {
    return {.folder = folder_ / "run", .now = [] { return kNow; }, .host = "box"};
  }

  const TemporaryFolder folder_;
};

template <typename T>
T number_at(const std::string& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// The contents of the records; fails where a length or a checksum does not fit.
std::vector<std::string> records(const std::string& bytes) {
  std::vector<std::string> result;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto length = number_at<std::uint64_t>(bytes, at);
    EXPECT_EQ(number_at<std::uint32_t>(bytes, at + 8), masked_crc32c(bytes.substr(at, 8)));
    if (length > bytes.size() - at - 16) {
      ADD_FAILURE() << "a record is cut";
      break;
    }
    result.push_back(bytes.substr(at + 12, length));
    EXPECT_EQ(number_at<std::uint32_t>(bytes, at + 12 + length), masked_crc32c(result.back()));
    at += 16 + length;
  }
  return result;
}

// RFC 3720, B.4.
TEST(Crc32c, GivesWhatTheStandardGives) {
  std::string ascending, descending;
  for (int i = 0; i < 32; ++i) {
    ascending += static_cast<char>(i);
    descending += static_cast<char>(31 - i);
  }
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(ascending), 0x46dd794eu);
  EXPECT_EQ(crc32c(descending), 0x113fdb5cu);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
}

// Every event file of TensorFlow begins with these bytes: a first record of 24 bytes.
TEST_F(EventFileTest, BeginsAsTensorFlowsDo) {
  const EventFile file(options());
  const std::string bytes = read_text(file.path());
  ASSERT_EQ(bytes.size(), 8u + 4u + 24u + 4u);
  EXPECT_EQ(bytes.substr(0, 13), std::string("\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22\x09", 13));
  EXPECT_EQ(number_at<double>(bytes, 13), 1'700'000'000.5);
  EXPECT_EQ(bytes.substr(21, 15),
            "\x1a\x0d"
            "brain.Event:2");
  EXPECT_EQ(records(bytes).size(), 1u);
}

TEST_F(EventFileTest, HoldsScalarsByStep) {
  EventFile file(options());
  file.scalar("train/loss", 300, 2.5);
  // It is in the file though the file is still open.
  const std::vector<std::string> all = records(read_text(file.path()));
  ASSERT_EQ(all.size(), 2u);
  // Field 1 (double) the time; 2 (varint) 300 = 0xac 0x02; 5 (message of 19 bytes) with field 1 (message of
  // 17), whose field 1 is the tag of 10 bytes and whose field 2 (float) is 2.5 = 0x40200000.
  EXPECT_EQ(all[1].substr(0, 1), "\x09");
  EXPECT_EQ(number_at<double>(all[1], 1), 1'700'000'000.5);
  EXPECT_EQ(all[1].substr(9), std::string("\x10\xac\x02\x2a\x13\x0a\x11\x0a\x0a"
                                          "train/loss\x15\0\0\x20\x40",
                                          24));
}

TEST_F(EventFileTest, LongTagsKeepTheirLength) {
  EventFile file(options());
  const std::string tag(300, 't');
  file.scalar(tag, 1, 1.0);
  const std::vector<std::string> all = records(read_text(file.path()));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_THAT(all[1], HasSubstr("\x0a\xac\x02" + tag + "\x15"));
}

TEST_F(EventFileTest, ASecondFileOfTheSameSecondHasItsOwnName) {
  EventFile first(options());
  EventFile second(options());
  EXPECT_EQ(first.path().filename(), "events.out.tfevents.1700000000.box");
  EXPECT_EQ(second.path().filename(), "events.out.tfevents.1700000000.box.1");
  first.scalar("a", 0, 1.0);
  EXPECT_EQ(records(read_text(second.path())).size(), 1u);
}

TEST_F(EventFileTest, SaysWhichFolderCannotBeMade) {
  write_text(folder_ / "run", "a file");
  try {
    EventFile file(options());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_THAT(error.message(), HasSubstr((folder_ / "run").string()));
  }
}

// A limit on the size of files stands in for a full disk.
TEST_F(EventFileTest, SaysThatARecordCannotBeWritten) {
  EventFile file(options());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit full = before;
  full.rlim_cur = std::filesystem::file_size(file.path());
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  std::string message;
  try {
    file.scalar("train/loss", 1, 1.0);
  } catch (const Error& error) {
    message = error.message();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(message, HasSubstr("cannot write to '" + file.path().string() + "'"));
  EXPECT_EQ(records(read_text(file.path())).size(), 1u);
}

}  // namespace
}  // namespace nadi::inline runs
