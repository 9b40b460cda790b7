#include "nadi/checkpoint/safetensors_writer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "nadi/base/atomic_file.h"
#include "nadi/checkpoint/files_for_tests.h"
#include "nadi/checkpoint/safetensors_reader.h"

namespace nadi::inline files {
namespace {

class SafetensorsWriterTest : public FolderTest {
 protected:
  std::string written(std::vector<TensorToWrite> tensors,
                      const std::map<std::string, std::string>& metadata = kPyTorchMetadata) {
    AtomicFile file(folder_ / "out.safetensors", Overwrite::kAllow);
    write_safetensors(file, std::move(tensors), metadata);
    file.commit();
    return read_text(folder_ / "out.safetensors");
  }
};

// What the safetensors library writes for the same: compact JSON, then spaces up to a multiple of 8.
TEST_F(SafetensorsWriterTest, WritesTheBytesOfTheLibrary) {
  const std::array<float, 2> values{1, 2};
  const std::string bytes =
      written({{.name = "a", .shape = {1, 2}, .bytes = std::as_bytes(std::span(values))}});
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})";
  ASSERT_EQ(header.size(), 87U);  // one less than a multiple of 8
  EXPECT_EQ(bytes, safetensors_bytes(header + " ", std::string("\0\0\x80\x3f\0\0\0\x40", 8)));
}

TEST_F(SafetensorsWriterTest, WithoutTensorsAndMetadata) {
  EXPECT_EQ(written({}, {}), safetensors_bytes("{}      ", ""));
}

// Widest types first, so that all are aligned; then by name. The order given does not matter.
TEST_F(SafetensorsWriterTest, OrdersByTypeAndName) {
  const std::array<std::byte, 8> data{};
  const std::span<const std::byte> bytes(data);
  std::vector<TensorToWrite> tensors{{.name = "flag", .dtype = FileDType::kBool, .bytes = bytes.first(1)},
                                     {.name = "b", .dtype = FileDType::kF32, .bytes = bytes.first(4)},
                                     {.name = "a", .dtype = FileDType::kF32, .bytes = bytes.first(4)},
                                     {.name = "half", .dtype = FileDType::kBF16, .bytes = bytes.first(2)},
                                     {.name = "count", .dtype = FileDType::kI64, .bytes = bytes.first(8)}};
  const std::string once = written(tensors);
  const SafetensorsReader reader(bytes_of(once), "once");
  std::vector<std::string> names;
  for (const SafetensorsTensor& tensor : reader.tensors()) {
    names.push_back(tensor.name);
    EXPECT_EQ(tensor.begin % size_of(tensor.dtype), 0);
  }
  EXPECT_THAT(names, testing::ElementsAre("count", "a", "b", "half", "flag"));
  std::ranges::reverse(tensors);
  EXPECT_EQ(written(tensors), once);
}

TEST_F(SafetensorsWriterTest, EveryTypeComesBack) {
  std::array<std::byte, 48> data{};
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 5 + 1);
  std::vector<TensorToWrite> tensors;
  for (const std::string_view name : file_dtype_names()) {
    const FileDType dtype = *file_dtype_named(name);
    EXPECT_EQ(to_string(dtype), name);
    tensors.push_back({.name = "of " + std::string(name),
                       .dtype = dtype,
                       .shape = {3, 2},
                       .bytes = std::span(data).first(static_cast<std::size_t>(6 * size_of(dtype)))});
  }
  const std::string bytes = written(tensors);
  const SafetensorsReader reader(bytes_of(bytes), "x");
  ASSERT_EQ(reader.tensors().size(), tensors.size());
  for (const TensorToWrite& tensor : tensors) {
    const SafetensorsTensor& found = reader.at(tensor.name);
    EXPECT_EQ(found.dtype, tensor.dtype);
    EXPECT_EQ(found.shape, tensor.shape);
    std::vector<std::byte> back(tensor.bytes.size());
    reader.read_bytes(found, back);
    EXPECT_TRUE(std::ranges::equal(back, tensor.bytes)) << tensor.name;
  }
}

TEST_F(SafetensorsWriterTest, TakesTensorsPieceByPiece) {
  // 500,000 numbers in pieces of 1 to 99,999: 2 MB, more than any buffer on the way.
  std::vector<std::int32_t> values(500'000);
  std::iota(values.begin(), values.end(), 0);
  const auto all = std::as_bytes(std::span(values));
  const TensorToWrite whole{.name = "x", .dtype = FileDType::kI32, .shape = {500'000}, .bytes = all};
  TensorToWrite pieces = whole;
  pieces.bytes = {};
  pieces.pieces = [&](const TensorSink& sink) {
    std::size_t size = 1;
    for (std::size_t at = 0; at < all.size(); at += size, size = size * 7 % 99'999 + 1) {
      size = std::min(size, all.size() - at);
      sink(all.subspan(at, size));
    }
  };
  EXPECT_EQ(written({pieces}), written({whole}));
}

TEST_F(SafetensorsWriterTest, NamesMayHoldAnything) {
  const std::string name = "\"quoted\"\n\t\\ \xc3\xa9";
  const std::string bytes = written({{.name = name, .dtype = FileDType::kU8, .shape = {0}}});
  EXPECT_NE(SafetensorsReader(bytes_of(bytes), "x").find(name), nullptr);
}

using SafetensorsWriterDeathTest = SafetensorsWriterTest;

TEST_F(SafetensorsWriterDeathTest, BugsOfTheCallerStopTheProgram) {
  const std::array<std::byte, 4> data{};
  EXPECT_DEATH(written({{.name = "x", .shape = {2}, .bytes = data}}), "fewer bytes");
  EXPECT_DEATH(written({{.name = "x", .shape = {0}, .bytes = data}}), "more bytes");
  EXPECT_DEATH(written({{.name = "x", .bytes = data}, {.name = "x", .bytes = data}}), "same name");
}

}  // namespace
}  // namespace nadi::inline files
