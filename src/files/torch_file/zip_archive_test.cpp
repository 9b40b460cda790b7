#include "nadi/torch_file/zip_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nadi/base/crc32.h"
#include "nadi/base/files_for_tests.h"
#include "nadi/torch_file/zip_format.h"

namespace nadi::inline files {
namespace {

using testing::HasSubstr;
using namespace std::string_literals;

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(i < 8 ? value >> (8 * i) : 0);
  return text;
}

struct MadeEntry {
  std::string name;
  std::string data;
  std::uint16_t flags = 0;
  std::uint16_t method = zip::kStored;
  std::size_t size = std::string::npos;  // of the contents; that of the data without
};

std::string archive_of(const std::vector<MadeEntry>& entries, const std::string& comment = "") {
  std::string file, directory;
  for (const MadeEntry& entry : entries) {
    const std::size_t size = entry.size == std::string::npos ? entry.data.size() : entry.size;
    const std::string common = little_endian(20, 2) + little_endian(entry.flags, 2) +
                               little_endian(entry.method, 2) + little_endian(0, 4) + little_endian(0, 4) +
                               little_endian(entry.data.size(), 4) + little_endian(size, 4) +
                               little_endian(entry.name.size(), 2) + little_endian(0, 2);
    directory += "PK\1\2" + little_endian(20, 2) + common + little_endian(0, 10) +
                 little_endian(file.size(), 4) + entry.name;
    file += "PK\3\4" + common + entry.name + entry.data;
  }
  const std::size_t at = file.size();
  return file + directory + "PK\5\6" + little_endian(0, 4) + little_endian(entries.size(), 2) +
         little_endian(entries.size(), 2) + little_endian(directory.size(), 4) + little_endian(at, 4) +
         little_endian(comment.size(), 2) + comment;
}

ZipArchive opened(const std::string& file) {
  return {std::as_bytes(std::span(file)), "x.zip", 100};
}

std::string archive_error(const std::string& file) {
  const auto error = error_of([&] { opened(file); });
  return error ? error->what() : "no error";
}

TEST(ZipArchive, FindsEntries) {
  const std::string file = archive_of({{"a/b", "one"}, {"../c", ""}}, "a comment");
  const ZipArchive archive = opened(file);
  ASSERT_EQ(archive.entries().size(), 2u);
  const ZipEntry* const entry = archive.find("a/b");
  ASSERT_NE(entry, nullptr);
  const auto bytes = archive.bytes_of(*entry);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "one");
  EXPECT_EQ(archive.find("b"), nullptr);
  EXPECT_EQ(archive.find("../c")->size, 0);
}

TEST(ZipArchive, RefusesWhatItCannotTake) {
  EXPECT_THAT(archive_error("PK"), HasSubstr("x.zip: byte 102: the archive has no directory at its end"));
  EXPECT_THAT(archive_error(archive_of({{"a", "1"}, {"a", "2"}})), HasSubstr("two entries 'a'"));
  EXPECT_THAT(archive_error(archive_of({{"a", "1", zip::kEncrypted}})), HasSubstr("entry 'a' is encrypted"));
  EXPECT_THAT(archive_error(archive_of({{"a", "1", 0, 14}})), HasSubstr("packed with method 14"));
  EXPECT_THAT(archive_error(archive_of({{"a", "1", 0, zip::kStored, 2}})),
              HasSubstr("has two sizes, 2 and 1"));
  std::string far = archive_of({{"a", "1"}});
  far.replace(far.find("PK\1\2") + static_cast<std::size_t>(zip::kCentralOffset), 4, "\xff\xff\xff\x7f");
  EXPECT_THAT(archive_error(far), HasSubstr("entry 'a' lies beyond the end of the archive"));
  std::string many = archive_of({{"a", "1"}});
  many.replace(many.find("PK\5\6") + static_cast<std::size_t>(zip::kEndEntries), 2, "\xff\x7f");
  EXPECT_THAT(archive_error(many), HasSubstr("too short for 32767 entries"));
}

// Deflate's stored block: a final block of type 0, its length, the complement.
TEST(ZipArchive, Inflates) {
  const std::string packed = "\x01\x03\x00\xfc\xff"s + "one";
  const std::string file = archive_of({{"a", packed, 0, zip::kDeflated, 3},
                                       {"lies", packed, 0, zip::kDeflated, 4},
                                       {"bomb", packed, 0, zip::kDeflated, 1'000'000}});
  const ZipArchive archive = opened(file);
  try {
    const std::vector<std::byte> bytes = archive.inflate(*archive.find("a"), 100);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "one");
  } catch (const Error& error) {
    ASSERT_EQ(error.kind(), ErrorKind::kEnvironment);
    GTEST_SKIP() << error.what();
  }
  const auto message = [&](const char* name, std::int64_t limit) {
    return std::string(error_of([&] { (void)archive.inflate(*archive.find(name), limit); })->what());
  };
  EXPECT_THAT(message("a", 2), HasSubstr("over the limit of 2"));
  EXPECT_THAT(message("lies", 100), HasSubstr("cannot be unpacked"));
  EXPECT_THAT(message("bomb", 10'000'000), HasSubstr("cannot have 1000000 bytes, packed into 8"));
}

}  // namespace
}  // namespace nadi::inline files
