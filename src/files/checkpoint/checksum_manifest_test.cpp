#include "nadi/checkpoint/checksum_manifest.h"

#include <gmock/gmock.h>

#include <numeric>

#include "nadi/base/atomic_folder.h"
#include "nadi/base/checked_memory.h"
#include "nadi/base/crc32.h"
#include "nadi/base/files_for_tests.h"
#include "nadi/base/format.h"
#include "nadi/checkpoint/safetensors_reader.h"
#include "nadi/checkpoint/safetensors_writer.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Two tensors, of 2.5 chunks and of 12 bytes, and two small files.
class ChecksumManifestTest : public FolderTest {
 protected:
  ChecksumManifestTest() : large_(static_cast<std::size_t>(kSumChunk) * 5 / 8), small_{1, 2, 3} {
    std::iota(large_.begin(), large_.end(), 0.5F);
    AtomicFolder folder(path());
    SafetensorsSums sums;
    folder.write("config.json", "{\"n_layer\": 12}");
    folder.write("vocab.txt", "a\nb\n");
    folder.write("model.safetensors", [&](AtomicFile& file) {
      sums = write_safetensors(file,
                               {{.name = "large",
                                 .shape = {static_cast<std::int64_t>(large_.size())},
                                 .bytes = std::as_bytes(std::span(large_))},
                                {.name = "small", .shape = {3}, .bytes = std::as_bytes(std::span(small_))}});
    });
    EXPECT_EQ(sums.tensors[0].chunks.size(), 3u);
    write_checksums(folder, {{"model.safetensors", sums}});
    folder.commit();
  }

  fs::path path() const { return folder_ / "saved"; }

  void flip(const std::string& name, std::size_t byte, int bit = 0) const {
    std::string text = read_text(path() / name);
    text.at(byte) = static_cast<char>(text[byte] ^ (1 << bit));
    write_text(path() / name, text);
  }

  // Opens everything and reads all of both tensors.
  std::optional<Error> error_of_reading() const {
    return error_of([&] {
      const auto manifest = ChecksumManifest::read(path());
      if (manifest) manifest->check_files();
      const SafetensorsReader reader(path() / "model.safetensors");
      CheckedMemory memory;
      if (manifest) manifest->watch(reader, memory);
      for (const SafetensorsTensor& tensor : reader.tensors()) memory.check(reader.mapped(tensor));
    });
  }
  std::string message_of_reading() const {
    const auto error = error_of_reading();
    if (!error) return "";
    EXPECT_EQ(error->kind(), ErrorKind::kInput);
    return error->what();
  }

  std::vector<float> large_;
  std::vector<float> small_;
};

TEST_F(ChecksumManifestTest, WhatWasSavedIsWhatIsRead) {
  EXPECT_EQ(message_of_reading(), "");
}

TEST_F(ChecksumManifestTest, EveryKindOfFileIsCovered) {
  const std::size_t size = fs::file_size(path() / "model.safetensors");
  const std::size_t name = read_text(path() / "model.safetensors").find("small");  // still JSON without it
  struct Case {
    const char* file;
    std::size_t byte;
    const char* message;
  };
  for (const Case& one :
       {Case{"config.json", 12, "config.json: the file is damaged: its checksum is"},
        Case{"vocab.txt", 0, "vocab.txt: the file is damaged"},
        Case{"model.safetensors", name, "the header is damaged: its checksum is"},
        Case{"model.safetensors", size - 1, "tensor 'small' is damaged: bytes 0 to 11 of it"},
        Case{"model.safetensors", size - 13, "tensor 'large' is damaged: bytes 2097152 to 2621439 of it"},
        Case{"nadi_checksums.json", 30, "the list of checksums is damaged"}}) {
    const std::string before = read_text(path() / one.file);
    flip(one.file, one.byte);
    EXPECT_THAT(message_of_reading(), HasSubstr(one.message)) << one.file << " " << one.byte;
    write_text(path() / one.file, before);
  }
}

TEST_F(ChecksumManifestTest, EveryBitOfTheListIsCovered) {
  const std::size_t size = fs::file_size(path() / kChecksumsFile);
  for (std::size_t byte = 0; byte < size; ++byte) {
    flip(kChecksumsFile, byte, static_cast<int>(byte % 8));
    EXPECT_NE(message_of_reading(), "") << byte;
    flip(kChecksumsFile, byte, static_cast<int>(byte % 8));
  }
}

TEST_F(ChecksumManifestTest, FilesOfOtherSizes) {
  write_text(path() / "config.json", "{}");
  EXPECT_THAT(message_of_reading(),
              HasSubstr("config.json: the file has 2 bytes, and had 15 when it was saved"));
  fs::remove(path() / "config.json");  // whoever needs it says so
  EXPECT_EQ(message_of_reading(), "");
  AtomicFile file(path() / "model.safetensors", Overwrite::kAllow);
  write_safetensors(file, {{.name = "small", .shape = {3}, .bytes = std::as_bytes(std::span(small_))}});
  file.commit();
  EXPECT_THAT(message_of_reading(), HasSubstr("when it was saved"));
  EXPECT_THAT(error_of_reading()->hint(), HasSubstr("remove nadi_checksums.json"));
}

TEST_F(ChecksumManifestTest, AFolderWithoutAListIsNotChecked) {
  fs::remove(path() / kChecksumsFile);
  flip("config.json", 12);
  EXPECT_EQ(message_of_reading(), "");
}

TEST_F(ChecksumManifestTest, OfALaterVersion) {
  const auto text = with_own_checksum(
      R"({"format": "nadi checksums", "version": 2, "chunk": 1, "files": {}, "manifest": "00000000"})");
  ASSERT_TRUE(text.has_value());
  write_text(path() / kChecksumsFile, *text);
  EXPECT_THAT(message_of_reading(), HasSubstr("version 2 of the format is not known; known is 1"));
}

TEST_F(ChecksumManifestTest, NamesOfOtherFolders) {
  const auto text = with_own_checksum(
      R"({"format": "nadi checksums", "version": 1, "chunk": 1, "files": {"../else": {"size": 1,
 "crc32c": "00000000"}}, "manifest": "00000000"})");
  ASSERT_TRUE(text.has_value());
  write_text(path() / kChecksumsFile, *text);
  EXPECT_THAT(message_of_reading(), HasSubstr("'../else' is no name of a file in this folder"));
}

}  // namespace
}  // namespace nadi::inline files
