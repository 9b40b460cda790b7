#include "nadi/checkpoint/safetensors_reader.h"

#include <gmock/gmock.h>

#include <array>
#include <cstring>
#include <random>

#include "nadi/checkpoint/element_conversion.h"
#include "nadi/checkpoint/files_for_tests.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// Two tensors: floats 1, 2 (00 00 80 3f and 00 00 00 40), and the byte 7.
const std::string kHeader =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"U8","shape":[],"data_offsets":[8,9]},)"
    R"("a.weight":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})";
const std::string kData("\x00\x00\x80\x3f\x00\x00\x00\x40\x07", 9);

Error error_of_file(const std::string& bytes) {
  const auto error = error_of([&] { SafetensorsReader(bytes_of(bytes), "x.safetensors"); });
  if (!error) {
    ADD_FAILURE() << "no error";
    return usage_error("no error");
  }
  EXPECT_EQ(error->kind(), ErrorKind::kInput);
  EXPECT_EQ(error->place().file, "x.safetensors");
  return *error;
}

Error error_of_header(const std::string& header, std::size_t data_bytes = 8) {
  return error_of_file(safetensors_bytes(header, std::string(data_bytes, '\0')));
}

// A header with one tensor of this description.
std::string one(const std::string& description) {
  return R"({"t":{)" + description + "}}";
}

using SafetensorsReaderTest = FolderTest;

TEST_F(SafetensorsReaderTest, ReadsAHandMadeFile) {
  write_text(folder_ / "x.safetensors", safetensors_bytes(kHeader, kData));
  const SafetensorsReader reader(folder_ / "x.safetensors");
  EXPECT_THAT(reader.metadata(), ElementsAre(Pair("format", "pt")));
  ASSERT_EQ(reader.tensors().size(), 2U);
  EXPECT_EQ(reader.tensors()[0].name, "a.weight");  // in the order of the data
  EXPECT_EQ(reader.tensors()[0].shape, (Shape{1, 2}));
  EXPECT_EQ(reader.tensors()[1].dtype, FileDType::kU8);
  EXPECT_EQ(reader.tensors()[1].shape.rank(), 0);
  std::array<float, 2> weights{};
  reader.read("a.weight", DType::kF32, std::as_writable_bytes(std::span(weights)));
  EXPECT_THAT(weights, ElementsAre(1.0F, 2.0F));
  std::array<std::uint16_t, 2> halves{};
  reader.read("a.weight", DType::kF16, std::as_writable_bytes(std::span(halves)));
  EXPECT_THAT(halves, ElementsAre(0x3c00, 0x4000));
  std::array<std::byte, 1> byte{};
  reader.read_bytes(reader.at("b"), byte);
  EXPECT_EQ(byte[0], std::byte{7});
}

TEST_F(SafetensorsReaderTest, AnEmptyFileOfTensorsIsFine) {
  const std::string bytes = safetensors_bytes("{}", "");
  EXPECT_TRUE(SafetensorsReader(bytes_of(bytes), "x").tensors().empty());
}

TEST_F(SafetensorsReaderTest, TensorsWithoutElementsTakeNoPlace) {
  const std::string bytes = safetensors_bytes(
      R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"a":{"dtype":"F32","shape":[3,0],"data_offsets":[0,0]},)"
      R"("c":{"dtype":"I64","shape":[0],"data_offsets":[2,2]}}   )",
      "xy");
  const SafetensorsReader reader(bytes_of(bytes), "x");
  ASSERT_EQ(reader.tensors().size(), 3U);
  EXPECT_EQ(reader.tensors()[0].name, "a");
  reader.read("a", DType::kBF16, {});
}

// 1,000,000 floats are 4 MB: four blocks.
TEST_F(SafetensorsReaderTest, ConvertsInBlocks) {
  std::vector<float> values(1'000'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000) - 500;
  std::string data(values.size() * 4, '\0');
  std::memcpy(data.data(), values.data(), data.size());
  write_text(folder_ / "x",
             safetensors_bytes(one(R"("dtype":"F32","shape":[1000,1000],"data_offsets":[0,4000000])"), data));
  const SafetensorsReader reader(folder_ / "x");
  std::vector<std::uint16_t> halves(values.size());
  reader.read("t", DType::kF16, std::as_writable_bytes(std::span(halves)));
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(from_f16(halves[i]), values[i]) << i;
}

TEST_F(SafetensorsReaderTest, NamesWhatCannotBeRead) {
  const std::string bytes = safetensors_bytes(kHeader, kData);
  const SafetensorsReader reader(bytes_of(bytes), "x.safetensors");
  EXPECT_EQ(reader.find("a.wieght"), nullptr);
  const auto missing = error_of([&] { reader.at("a.wieght"); });
  ASSERT_TRUE(missing);
  EXPECT_STREQ(missing->what(), "x.safetensors: tensor 'a.wieght' is missing");
  EXPECT_EQ(missing->hint(), "the file has 'a.weight'");
  std::array<std::byte, 4> out{};
  const auto integer = error_of([&] { reader.read("b", DType::kF32, out); });
  ASSERT_TRUE(integer);
  EXPECT_STREQ(integer->what(), "x.safetensors: tensor 'b' holds U8, which cannot be read as f32");
  const auto nowhere = error_of([&] { SafetensorsReader(folder_ / "nowhere"); });
  ASSERT_TRUE(nowhere);
  EXPECT_EQ(nowhere->what(), (folder_ / "nowhere").string() + ": no such file or folder");
  const auto is_folder = error_of([&] { SafetensorsReader{folder_.path()}; });
  ASSERT_TRUE(is_folder);
  EXPECT_THAT(is_folder->what(), HasSubstr("this is a folder, not a safetensors file"));
}

TEST_F(SafetensorsReaderTest, AFileThatShrinksIsNoticed) {
  write_text(folder_ / "x", safetensors_bytes(kHeader, kData));
  const SafetensorsReader reader(folder_ / "x");
  std::filesystem::resize_file(folder_ / "x", 8 + kHeader.size() + 4);
  std::array<std::byte, 8> out{};
  const auto error = error_of([&] { reader.read("a.weight", DType::kF32, out); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("became shorter"));
}

TEST_F(SafetensorsReaderTest, LyingLengths) {
  EXPECT_THAT(error_of_file(std::string(7, '\x01')).message(), HasSubstr("7 bytes is too short"));
  EXPECT_THAT(error_of_file(std::string("\x01\xe1\xf5\x05\0\0\0\0{}", 10)).message(),
              HasSubstr("100000001 bytes is over the limit of 100000000"));
  EXPECT_THAT(error_of_file(std::string(8, '\xff')).message(), HasSubstr("18446744073709551615 bytes"));
  EXPECT_THAT(error_of_file(std::string("\x03\0\0\0\0\0\0\0{}", 10)).message(),
              HasSubstr("header of 3 bytes runs past the end"));
  EXPECT_THAT(error_of_file("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 5\n").hint(),
              HasSubstr("git lfs pull"));
}

TEST_F(SafetensorsReaderTest, LyingHeaders) {
  EXPECT_THAT(error_of_header("").message(), HasSubstr("must begin with '{'"));
  EXPECT_THAT(error_of_header(" {}").message(), HasSubstr("must begin with '{'"));
  EXPECT_THAT(error_of_header("[]").message(), HasSubstr("must begin with '{'"));
  const Error syntax = error_of_header(R"({"t":})");
  EXPECT_THAT(syntax.message(), HasSubstr("not valid JSON"));
  EXPECT_EQ(syntax.place().byte, 8 + 5);  // the closing brace
  EXPECT_THAT(error_of_header("{} x").message(), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of_header(std::string("{\"\xff\":1}")).message(), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of_header(R"({"t":1})").message(),
              HasSubstr("tensor 't': its entry is not a JSON object"));
  EXPECT_THAT(error_of_header(R"({"__metadata__":{"a":1}})").message(),
              HasSubstr("value of 'a' is not a text"));
  EXPECT_THAT(error_of_header(R"({"__metadata__":{"a":"1","a":"1"}})").message(), HasSubstr("appears twice"));
  EXPECT_THAT(error_of_header(R"({"__metadata__":{},"__metadata__":{}})").message(),
              HasSubstr("appears twice"));
}

TEST_F(SafetensorsReaderTest, LyingTensors) {
  const Error dtype = error_of_header(one(R"("dtype":"F33","shape":[2],"data_offsets":[0,8])"));
  EXPECT_THAT(dtype.message(), HasSubstr("tensor 't': unknown dtype 'F33'"));
  EXPECT_THAT(dtype.hint(), HasSubstr("did you mean 'F32'?"));
  const std::pair<const char*, const char*> cases[]{
      {R"("dtype":4,"shape":[2],"data_offsets":[0,8])", "'dtype' must be a text"},
      {R"("dtype":"F32","shape":2,"data_offsets":[0,8])", "'shape' must be a list of whole numbers"},
      {R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])", "'shape' must be a list of whole numbers"},
      {R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])", "'shape' must be a list of whole numbers"},
      {R"("dtype":"F32","shape":[[2]],"data_offsets":[0,8])", "'shape' must be a list of whole numbers"},
      {R"("dtype":"F32","shape":[2],"data_offsets":[8])", "'data_offsets' must be two whole numbers"},
      {R"("dtype":"F32","shape":[2],"data_offsets":[0,8,8])", "'data_offsets' must be two whole numbers"},
      {R"("dtype":"F32","shape":[2],"data_offsets":"0,8")", "'data_offsets' must be two whole numbers"},
      {R"("dtype":"F32","shape":[2])", "key 'data_offsets' is missing"},
      {R"("dtype":"F32","data_offsets":[0,8])", "key 'shape' is missing"},
      {R"("shape":[2],"data_offsets":[0,8])", "key 'dtype' is missing"},
      {R"("dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8])", "key 'dtype' appears twice"},
      {R"("dtype":"F32","shape":[2],"data_offsets":[0,8],"stride":[1])", "unknown key 'stride'"},
      {R"("dtype":"F32","shape":[1,1,1,1,1,1,2],"data_offsets":[0,8])", "more than 6 axes"},
      {R"("dtype":"F32","shape":[2],"data_offsets":[8,0])",
       "ends at byte 0 of the data, before it starts at 8"},
      {R"("dtype":"F32","shape":[4],"data_offsets":[0,16])",
       "ends at byte 16 of the data, and the file holds 8"},
      {R"("dtype":"F32","shape":[3],"data_offsets":[0,8])", "[3] elements of F32 take 12 bytes, not 8"},
      {R"("dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8])", "too large"},
      {R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8])", "too large"},
      {R"("dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,8])", "whole numbers"},
      {R"("dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551608])", "too large"},
      {R"("dtype":"F32","shape":[1],"data_offsets":[4,8])",
       "4 bytes in front of tensor 't' belong to no tensor"},
      {R"("dtype":"F32","shape":[1],"data_offsets":[0,4])", "4 bytes after the last tensor"},
  };
  for (const auto& [description, message] : cases)
    EXPECT_THAT(error_of_header(one(description)).message(), HasSubstr(message)) << description;
}

TEST_F(SafetensorsReaderTest, TensorsThatDoNotFitTogether) {
  const std::string first = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_THAT(error_of_header("{" + first + "," + first + "}").message(),
              HasSubstr("tensor 'a' appears twice"));
  EXPECT_THAT(
      error_of_header("{" + first + R"(,"b":{"dtype":"U8","shape":[5],"data_offsets":[3,8]}})").message(),
      HasSubstr("tensors 'a' and 'b' overlap"));
  EXPECT_THAT(
      error_of_header("{" + first + R"(,"b":{"dtype":"U8","shape":[3],"data_offsets":[5,8]}})").message(),
      HasSubstr("1 bytes in front of tensor 'b'"));
}

// Control characters of a hostile file do not reach the terminal.
TEST_F(SafetensorsReaderTest, NamesAreEscapedInMessages) {
  EXPECT_THAT(error_of_header("{\"\\u001b[2J\xc2\x9b\":1}").message(), HasSubstr(R"('\u001b[2J\u009b')"));
  EXPECT_LT(error_of_header("{\"" + std::string(10'000, 'x') + "\":1}").message().size(), 300U);
}

TEST_F(SafetensorsReaderTest, EveryTruncationIsAnError) {
  const std::string whole = safetensors_bytes(kHeader, kData);
  for (std::size_t size = 0; size < whole.size(); ++size) error_of_file(whole.substr(0, size));
  error_of_file(whole + "x");
}

TEST_F(SafetensorsReaderTest, FlippedBitsGiveTensorsOrAnError) {
  const std::string whole = safetensors_bytes(kHeader, kData);
  std::mt19937 random(1);
  int loaded = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::string damaged = whole;
    for (int flips = 1 + i % 3; flips > 0; --flips)
      damaged[random() % damaged.size()] ^= static_cast<char>(1 << (random() % 8));
    const auto error = error_of([&] {
      const SafetensorsReader reader(bytes_of(damaged), "x");
      for (const SafetensorsTensor& tensor : reader.tensors()) {
        std::vector<std::byte> out(static_cast<std::size_t>(tensor.size().count()));
        reader.read_bytes(tensor, out);
      }
      ++loaded;
    });
    EXPECT_TRUE(!error || error->kind() == ErrorKind::kInput);
  }
  EXPECT_GT(loaded, 100);  // bits of data and of names: still files
}

}  // namespace
}  // namespace nadi::inline files
