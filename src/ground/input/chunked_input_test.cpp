#include "nadi/input/chunked_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/input/packing_for_tests.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline ground {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Text that a compressor finds neither trivial nor impossible.
std::string some_text(std::size_t size) {
  std::string text;
  std::uint32_t state = 1;
  while (text.size() < size) {
    state = state * 1664525 + 1013904223;
    text += "event " + std::to_string(state >> 20) + "\n";
  }
  text.resize(size);
  return text;
}

std::string read_all(ChunkedInput& input, std::size_t wanted) {
  std::string all;
  while (true) {
    const std::string_view ahead = input.ahead(wanted);
    if (ahead.empty()) return all;
    EXPECT_EQ(input.position(), all.size());
    const std::size_t used = std::min(wanted, ahead.size());
    all += ahead.substr(0, used);
    input.consume(used);
  }
}

std::string read_all(std::string_view bytes, std::size_t wanted = 100) {
  ChunkedInput input(bytes, "memory");
  return read_all(input, wanted);
}

class ChunkedInputFile : public testing::Test {
 protected:
  fs::path with(std::string_view bytes) const {
    write_text(folder_ / "input", bytes);
    return folder_ / "input";
  }

  const TemporaryFolder folder_;
};

TEST_F(ChunkedInputFile, ShowsAFileThroughAWindow) {
  const std::string text = some_text(700'000);
  for (const std::size_t wanted : {std::size_t{1000}, std::size_t{300'000}, text.size(), 2 * text.size()}) {
    ChunkedInput input(with(text));
    EXPECT_EQ(input.remaining(), text.size());
    EXPECT_EQ(read_all(input, wanted), text);
    EXPECT_EQ(input.remaining(), 0U);
  }
}

TEST_F(ChunkedInputFile, ReadsIntoMemoryOfTheCaller) {
  const std::string text = some_text(700'000);
  ChunkedInput input(with(text));
  EXPECT_EQ(input.ahead(10).substr(0, 10), text.substr(0, 10));
  input.consume(5);
  std::string rest(text.size(), '\0');
  std::size_t size = 0;
  while (const std::size_t got = input.read(rest.data() + size, rest.size() - size)) {
    size += got;
    EXPECT_EQ(input.position(), 5 + size);
  }
  EXPECT_EQ(size, text.size() - 5);
  EXPECT_EQ(rest.substr(0, size), text.substr(5));
  EXPECT_TRUE(input.ahead(1).empty());
}

TEST_F(ChunkedInputFile, AFileThatIsNotThereIsRefused) {
  EXPECT_THROW(ChunkedInput(fs::path("/nowhere/file")), Error);
  EXPECT_THROW(ChunkedInput(folder_.path()), Error);
}

TEST_F(ChunkedInputFile, EmptyAndShortFiles) {
  for (const std::string_view text : {"", "a", "\x1f", "\x1f\x8b", "\x28\xb5\x2f"}) {
    ChunkedInput input(with(text));
    EXPECT_EQ(read_all(input, 10), text);
    EXPECT_EQ(read_all(text), text);
  }
}

[[maybe_unused]] void expect_refused(std::string_view packed, std::int64_t byte, std::string_view reason) {
  try {
    read_all(packed);
    ADD_FAILURE() << "was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_EQ(error.place().file, "memory");
    if (byte >= 0) {
      EXPECT_EQ(error.place().byte, byte) << error.what();
    }
    EXPECT_THAT(error.message(), HasSubstr(std::string(reason)));
  }
}

TEST_F(ChunkedInputFile, UnpacksFilesAndMemory) {
  const std::string text = some_text(700'000);
  for (const Packing& packing : packings()) {
    const std::string packed = packing.pack(text);
    ASSERT_LT(packed.size(), text.size() / 2);
    for (const std::size_t wanted : {std::size_t{1000}, std::size_t{400'000}, 2 * text.size()}) {
      EXPECT_EQ(read_all(packed, wanted), text) << packing.name;
      ChunkedInput input(with(packed));
      EXPECT_EQ(input.remaining(), std::nullopt);
      EXPECT_EQ(read_all(input, wanted), text) << packing.name;
      EXPECT_EQ(input.position(), text.size());
    }
    EXPECT_EQ(read_all(packing.pack("")), "") << packing.name;
  }
}

TEST_F(ChunkedInputFile, SeveralPartsFollowEachOther) {
  const std::string text = some_text(1000);
  for (const Packing& packing : packings()) {
    const std::string packed = packing.pack("") + packing.pack(text) + packing.pack("") + packing.pack("end");
    EXPECT_EQ(read_all(packed), text + "end") << packing.name;
  }
}

TEST_F(ChunkedInputFile, ACutFileGivesWhatItHasAndThenAnError) {
  const std::string text = some_text(3000);
  for (const Packing& packing : packings()) {
    const std::string packed = packing.pack(text);
    for (std::size_t size = 4; size < packed.size(); ++size) {
      const std::string_view cut = std::string_view(packed).substr(0, size);
      ChunkedInput input(cut, "memory");
      std::string seen(text.size() + 1, '\0');
      std::size_t got = 0;
      try {
        while (const std::size_t more = input.read(seen.data() + got, seen.size() - got)) got += more;
        ADD_FAILURE() << packing.name << " cut at " << size << " was read";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kInput);
        EXPECT_EQ(error.place().byte, size);
        EXPECT_THAT(error.message(), HasSubstr("cut short"));
      }
      EXPECT_EQ(seen.substr(0, got), text.substr(0, got));
      // And again: the error stays.
      EXPECT_THROW(input.read(seen.data(), 1), Error);
    }
  }
}

TEST_F(ChunkedInputFile, EveryChangedByteOfTheDataIsNoticed) {
  const std::string text = some_text(600);
  for (const Packing& packing : packings()) {
    const std::string packed = packing.pack(text);
    for (std::size_t at = 10; at < packed.size(); ++at) {
      std::string damaged = packed;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
      try {
        // A few bits mean nothing: the last ones of a block that is not full, say.
        EXPECT_EQ(read_all(damaged), text) << packing.name << " changed at " << at << " gave another text";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kInput);
        EXPECT_LE(error.place().byte, packed.size());
      }
    }
  }
}

#if NADI_WITH_ZLIB
TEST_F(ChunkedInputFile, GzipChecksItsSum) {
  std::string packed = gzip("text");
  packed[packed.size() - 8] = static_cast<char>(packed[packed.size() - 8] ^ 1);
  expect_refused(packed, -1, "incorrect data check");
}

TEST_F(ChunkedInputFile, GzipMayBePaddedWithZerosOnly) {
  const std::string packed = gzip("text");
  EXPECT_EQ(read_all(packed + std::string(1000, '\0')), "text");
  expect_refused(packed + "more", static_cast<std::int64_t>(packed.size()), "something else");
  expect_refused(packed + std::string(3, '\0') + "more", static_cast<std::int64_t>(packed.size() + 3),
                 "something else");
}
#endif

#if NADI_WITH_ZSTD
TEST_F(ChunkedInputFile, ZstdFramesThatSaySkipAreSkipped) {
  using namespace std::string_literals;
  const std::string skippable = "\x50\x2a\x4d\x18\x04\x00\x00\x00skip"s;
  EXPECT_EQ(read_all(zstd("a") + skippable + zstd("b")), "ab");
  expect_refused(zstd("a") + "more", -1, "damaged");
}
#endif

// 64 MiB of zeros in 64 KiB: what is held is the window.
TEST_F(ChunkedInputFile, ABombCostsNoMemory) {
#if NADI_WITH_ZLIB
  const std::string part = gzip(std::string(1 << 20, '\0'));
  std::string bomb;
  for (int i = 0; i < 64; ++i) bomb += part;
  ChunkedInput input(bomb, "memory");
  std::uint64_t total = 0;
  while (!input.ahead(1).empty()) {
    EXPECT_LE(input.ahead(1).size(), std::size_t{256} << 10);
    total += input.ahead(1).size();
    input.consume(input.ahead(1).size());
  }
  EXPECT_EQ(total, std::uint64_t{64} << 20);
#endif
}

#if !NADI_WITH_ZLIB || !NADI_WITH_ZSTD
TEST_F(ChunkedInputFile, ABuildWithoutTheLibrarySaysWhatItNeeds) {
  try {
    read_all(NADI_WITH_ZLIB ? "\x28\xb5\x2f\xfd" : "\x1f\x8b\x08");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_THAT(error.hint(), HasSubstr(NADI_WITH_ZLIB ? "libzstd-dev" : "zlib1g-dev"));
  }
}
#endif

TEST_F(ChunkedInputFile, ReadsPipes) {
  const std::string text = some_text(100'000);
  std::vector<Packing> all = packings();
  all.push_back({"plain", [](std::string_view bytes) { return std::string(bytes); }});
  for (const Packing& packing : all) {
    const std::string bytes = packing.pack(text);
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    // In small pieces, so that the first read is shorter than the magic number.
    std::thread writer([&] {
      for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t size = at < 8 ? 1 : 4096;
        const ssize_t wrote = ::write(ends[1], bytes.data() + at, std::min(size, bytes.size() - at));
        if (wrote <= 0) break;
        at += static_cast<std::size_t>(wrote);
      }
      ::close(ends[1]);
    });
    ChunkedInput input(fs::path("/dev/fd/" + std::to_string(ends[0])));
    EXPECT_EQ(input.remaining(), std::nullopt);
    EXPECT_EQ(read_all(input, 1000), text) << packing.name;
    writer.join();
    ::close(ends[0]);
  }
}

}  // namespace
}  // namespace nadi::inline ground
