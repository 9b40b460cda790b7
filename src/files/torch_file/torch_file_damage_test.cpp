// Files that are cut short or have damaged bytes: an Error, or values that can be read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "nadi/base/crc32.h"
#include "nadi/base/files_for_tests.h"
#include "nadi/testing/source_folder.h"
#include "nadi/torch_file/pickle_arena.h"
#include "nadi/torch_file/torch_file.h"
#include "nadi/torch_file/torch_writer.h"
#include "nadi/torch_file/zip_format.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::span<const std::byte> in_memory(const std::string& file) {
  return std::as_bytes(std::span(file));
}

// Two tensors on one storage, settings and a class.
std::string small_archive() {
  PickleArena values;
  TorchStorage& storage = values.storage(FileDType::kF32, 6);
  const PickleValue root = values.ordered_dict();
  values.set(root, "a", values.tensor({.storage = &storage, .shape = {2, 3}}));
  values.set(root, "b", values.tensor({.storage = &storage, .shape = {3, 2}, .strides = {1, 3}}));
  const PickleValue args = values.new_object({"argparse", "Namespace"}, values.tuple({}));
  values.set_attribute(args, "size", values.size(std::vector<std::int64_t>{2, 3}));
  values.set(root, "args", args);
  const TorchLayout layout(root);
  std::string file(static_cast<std::size_t>(layout.file_size()), '\0');
  const auto put = [&](const FilePiece& piece) {
    file.replace(static_cast<std::size_t>(piece.offset), piece.bytes.size(), piece.bytes);
  };
  for (const FilePiece& piece : layout.head()) put(piece);
  const std::string data(24, '\0');
  for (const FilePiece& piece : layout.ending(std::vector{crc32(in_memory(data))})) put(piece);
  return file;
}

// Whether it was read. Anything but an Error (input) that names the file fails.
bool survives(const std::string& bytes) {
  try {
    const TorchFile file(in_memory(bytes), "damaged", {.unknown_classes = UnknownClasses::kKeep});
    constexpr std::int64_t kMostRead = 1 << 20;
    for (const NamedTorchTensor& named : file.tensors()) {
      if (named.tensor->size() > kMostRead) continue;
      std::vector<std::byte> out(static_cast<std::size_t>(named.tensor->size()));
      named.tensor->read(out);
    }
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput) << error.what();
    EXPECT_EQ(error.place().file, "damaged") << error.what();
    return false;
  }
}

// Without checksums, so that damage reaches the machine.
std::string without_checksums(std::string file) {
  for (std::size_t at = 0; (at = file.find("PK\x01\x02", at)) != std::string::npos; at += 4)
    file.replace(at + static_cast<std::size_t>(zip::kCentralCrc), 4, 4, '\0');
  return file;
}

void damage(const std::string& file, unsigned seed, int rounds) {
  std::mt19937 random(seed);
  for (int i = 0; i < rounds; ++i) {
    std::string damaged = file;
    const unsigned flips = 1 + random() % 4;
    for (unsigned flip = 0; flip < flips; ++flip)
      damaged[random() % damaged.size()] = static_cast<char>(random() % 4 == 0 ? 0xff : random());
    survives(damaged);
  }
}

TEST(TorchFileDamage, CutAnywhere) {
  const std::string file = small_archive();
  EXPECT_TRUE(survives(file));
  for (std::size_t length = 0; length < file.size(); ++length)
    EXPECT_FALSE(survives(file.substr(0, length))) << length;
}

TEST(TorchFileDamage, FlippedBytes) {
  damage(without_checksums(small_archive()), 1, 4000);
}

TEST(TorchFileDamage, OfThePickleIsNoticedByItsChecksum) {
  std::string file = small_archive();
  const std::size_t at = file.find("argparse");
  file[at] = 'b';
  EXPECT_THAT(
      error_of([&] { TorchFile(in_memory(file), "x", {.unknown_classes = UnknownClasses::kKeep}); })->what(),
      HasSubstr("entry 'archive/data.pkl' is damaged: its checksum is"));
}

TEST(TorchFileDamage, OfDataIsNoticedWhenAskedFor) {
  std::string file = small_archive();
  const TorchFile whole(in_memory(file), "whole", {.unknown_classes = UnknownClasses::kKeep});
  whole.verify_checksums();
  file[static_cast<std::size_t>(whole.root().at("a").as_tensor().storage->file_offset) + 5] = '\1';
  EXPECT_THAT(error_of([&] { whole.verify_checksums(); })->what(), HasSubstr("storage '0' is damaged"));
}

TEST(TorchFileDamage, OtherFilesAreNamed) {
  const auto message = [](const std::string& bytes) {
    return std::string(error_of([&] { TorchFile(in_memory(bytes), "x.bin"); })->what());
  };
  EXPECT_THAT(message(""), HasSubstr("the file is empty, not a file of torch.save"));
  EXPECT_THAT(message("version https://git-lfs.github.com/spec/v1\n"), HasSubstr("not a file of torch.save"));
  EXPECT_THAT(message("\x80\x02K\x01."), HasSubstr("this is a Python pickle, not a file of torch.save"));
  EXPECT_THAT(error_of([] { TorchFile("nowhere"); })->what(), HasSubstr("nowhere: no such file or folder"));
}

// Archives one after another, as in a .distcp.
TEST(TorchFileDamage, ArchivesWithinAFile) {
  const std::string one = small_archive();
  const std::string file = one + one;
  const auto second = in_memory(file).subspan(one.size());
  const TorchFile read(second, "x.distcp", {.unknown_classes = UnknownClasses::kKeep},
                       static_cast<std::int64_t>(one.size()));
  const TorchStorage& storage = *read.root().at("a").as_tensor().storage;
  EXPECT_EQ(storage.bytes.data(), in_memory(file).data() + storage.file_offset);
  EXPECT_GT(storage.file_offset, static_cast<std::int64_t>(one.size()));
}

TEST(TorchFileDamage, OfRealFiles) {
  const fs::path folder = shared_data() / "torch-files";
  if (!fs::exists(folder)) GTEST_SKIP() << "the real files of torch.save are not there";
  unsigned seed = 2;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension();
    if (extension != ".bin" && extension != ".pt") continue;
    SCOPED_TRACE(entry.path());
    const std::string file = read_text(entry.path());
    std::mt19937 random(seed);
    for (int i = 0; i < 30; ++i) survives(file.substr(0, random() % file.size()));
    const bool is_large = file.size() > 50'000;
    damage(without_checksums(file), seed++, is_large ? 20 : 200);
  }
}

}  // namespace
}  // namespace nadi::inline files
