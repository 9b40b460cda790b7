#include "nadi/data/npy_file.h"

#include <gmock/gmock.h>

#include "nadi/data/indexed_dataset_for_tests.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class NpyFileTest : public DatasetFolderTest {};

std::string array_bytes(std::string header, std::size_t elements_size) {
  header.resize(118, ' ');
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + std::string(elements_size, '\0');
}

TEST_F(NpyFileTest, HeaderIsNumpys) {
  const std::string one = npy_header(NpyType::kI32, {280});
  EXPECT_EQ(one.size(), 128u);
  EXPECT_EQ(one.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_THAT(one, HasSubstr("{'descr': '<i4', 'fortran_order': False, 'shape': (280,), }   "));
  EXPECT_EQ(one.back(), '\n');
  EXPECT_THAT(npy_header(NpyType::kU8, {7, 3}),
              HasSubstr("'|u1', 'fortran_order': False, 'shape': (7, 3), }"));
}

TEST_F(NpyFileTest, ReadsWhatItWrites) {
  const std::vector<std::int64_t> numbers{1, -2, 3, 1LL << 40, 5, 6};
  NpyWriter writer(folder_ / "a.npy", NpyType::kI64, {2, 3}, Overwrite::kRefuse);
  writer.append(std::span(numbers).first(2));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.npy"));
  writer.append(std::span(numbers).subspan(2));
  writer.commit();
  const NpyFile file(folder_ / "a.npy");
  EXPECT_EQ(file.type(), NpyType::kI64);
  EXPECT_THAT(file.shape(), ElementsAre(2, 3));
  EXPECT_EQ(file.elements(), 6);
  EXPECT_EQ(file.at<std::int64_t>(1), -2);
  EXPECT_EQ(file.at<std::int64_t>(3), 1LL << 40);
  EXPECT_EQ(file.place_of(3).byte, 128 + 24);
  EXPECT_NO_THROW(file.expect(NpyType::kI64, {2, 3}));
  const Error other = error_of([&] { file.expect(NpyType::kU32, {6}, "why"); });
  EXPECT_THAT(other.message(), HasSubstr("shape (2, 3) and type '<i8', not of shape (6,) and type '<u4'"));
  EXPECT_EQ(other.hint(), "why");
}

TEST_F(NpyFileTest, DamageIsNamedWithItsByte) {
  struct Damage {
    std::string bytes;
    std::int64_t byte;
    const char* message;
  };
  const std::string good = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }";
  const auto with = [&](const std::string& header) { return array_bytes(header, 8); };
  EXPECT_NO_THROW(NpyFile(bytes_of(with(good)), "x"));
  EXPECT_NO_THROW(NpyFile(bytes_of(with("{'shape':(1,2),'descr':'<i4','fortran_order':False}")), "x"));
  for (const Damage& damage : {
           Damage{"", 0, "0 bytes"},
           Damage{"\x93NUMPY", 6, "6 bytes"},
           Damage{std::string("\x93NUMPY\x02\x00\x76\x00", 10), 0, "no NumPy array of version 1.0"},
           Damage{with(good).substr(0, 127), 8, "a header of 118 bytes does not fit in a file of 127"},
           Damage{with(good).substr(0, 135), 128, "7 bytes of elements do not make an array of shape (2,)"},
           Damage{with(good) + "x", 128, "9 bytes of elements"},
           Damage{with(good) + "four", 128, "12 bytes of elements"},
           Damage{with(""), 128, "expected '{'"},
           Damage{with("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"), 128, "type '<f4'"},
           Damage{with("{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }"), 128, "type '>i4'"},
           Damage{with("{'descr': '<i4', 'fortran_order': True, 'shape': (2,), }"), 44, "expected 'False'"},
           Damage{with("{'descr': '<i4', 'fortran_order': False, 'shape': (), }"), 62, "0 axes"},
           Damage{with("{'descr': '<i4', 'fortran_order': False, 'shape': (1, 1, 2), }"), 69, "3 axes"},
           Damage{with("{'descr': '<i4', 'fortran_order': False, 'shape': (-2,), }"), 61,
                  "the size of an axis"},
           Damage{with("{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999,), }"), 61,
                  "the size of an axis"},
           // 2^32 * 2^32 and one whose product is 2 in 64 bits
           Damage{with("{'descr': '<i4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }"), 128,
                  "8 bytes of elements"},
           Damage{with("{'descr': '<i4', 'fortran_order': False, 'shape': (2,), 'x': 1}"), 70, "key 'x'"},
           Damage{with("{'shape': (2,), 'shape': (2,)}"), 34, "repeated key 'shape'"},
           Damage{with("{'descr': '<i4', 'fortran_order': False}"), 128, "'shape' is missing"},
           Damage{with("{'descr"), 12, "a quote is not closed"},
           Damage{with("{'de\x1bscr': 1}"), 12, "other letters"},
           Damage{with(good + "x"), 67, "more behind the dictionary"},
       }) {
    SCOPED_TRACE(damage.message);
    const Error error = error_of([&] { NpyFile(bytes_of(damage.bytes), "x.npy"); });
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_EQ(error.place().file, "x.npy");
    EXPECT_EQ(error.place().byte, damage.byte);
    EXPECT_THAT(error.message(), HasSubstr(damage.message));
  }
}

}  // namespace
}  // namespace nadi::inline files
