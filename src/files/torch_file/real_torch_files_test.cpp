// Files that PyTorch wrote, files that were written by hand, and hostile ones; what each must give is listed
// with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "nadi/base/files_for_tests.h"
#include "nadi/base/half.h"
#include "nadi/testing/source_folder.h"
#include "nadi/torch_file/torch_file.h"
#include "nadi/torch_file/torch_globals.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RealTorchFiles : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(folder_)) GTEST_SKIP() << "the real files of torch.save are not there";
  }
  const fs::path folder_ = shared_data() / "torch-files";
};

using RealHostileTorchFiles = RealTorchFiles;

std::vector<std::byte> elements_of(const TorchTensor& tensor) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.size()));
  tensor.read(bytes);
  return bytes;
}

template <typename T>
double number_at(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return static_cast<double>(value);
}

// Value of finite numbers.
double fp8_value(std::byte bits, int exponent_bits) {
  const int mantissa_bits = 7 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int all = static_cast<int>(bits);
  const int exponent = all >> mantissa_bits & ((1 << exponent_bits) - 1);
  const int mantissa = all & ((1 << mantissa_bits) - 1);
  const double scale = std::ldexp(1.0, (exponent == 0 ? 1 : exponent) - bias - mantissa_bits);
  return (all & 0x80 ? -scale : scale) * (exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits));
}

double value_at(FileDType dtype, const std::byte* at) {
  switch (dtype) {
    case FileDType::kBool:
    case FileDType::kU8:
      return number_at<std::uint8_t>(at);
    case FileDType::kI8:
      return number_at<std::int8_t>(at);
    case FileDType::kF8E5M2:
      return fp8_value(*at, 5);
    case FileDType::kF8E4M3:
      return fp8_value(*at, 4);
    case FileDType::kI16:
      return number_at<std::int16_t>(at);
    case FileDType::kU16:
      return number_at<std::uint16_t>(at);
    case FileDType::kF16:
      return from_f16(static_cast<std::uint16_t>(number_at<std::uint16_t>(at)));
    case FileDType::kBF16:
      return from_bf16(static_cast<std::uint16_t>(number_at<std::uint16_t>(at)));
    case FileDType::kI32:
      return number_at<std::int32_t>(at);
    case FileDType::kU32:
      return number_at<std::uint32_t>(at);
    case FileDType::kF32:
    case FileDType::kC64:
      return number_at<float>(at);
    case FileDType::kF64:
    case FileDType::kC128:
      return number_at<double>(at);
    case FileDType::kI64:
      return number_at<std::int64_t>(at);
    case FileDType::kU64:
      return number_at<std::uint64_t>(at);
  }
  unreachable();
}

std::vector<std::int64_t> strides_of(const TorchTensor& tensor) {
  return {tensor.strides.begin(), tensor.strides.begin() + tensor.shape.rank()};
}

// [dtype, shape, stride, offset, contiguous?, first values], as PyTorch reads the tensor back.
void expect_tensor(const TorchTensor& tensor, const nlohmann::json& expected) {
  EXPECT_EQ("torch." + std::string(torch_dtype_name(tensor.dtype)), expected[0].get<std::string>());
  const auto extents = tensor.shape.extents();
  EXPECT_EQ(std::vector(extents.begin(), extents.end()), expected[1].get<std::vector<std::int64_t>>());
  EXPECT_EQ(strides_of(tensor), expected[2].get<std::vector<std::int64_t>>());
  EXPECT_EQ(tensor.offset, expected[3].get<std::int64_t>());
  EXPECT_EQ(tensor.is_contiguous(), expected[4].get<bool>());
  const std::vector<std::byte> elements = elements_of(tensor);
  if (const auto view = tensor.view()) {
    EXPECT_TRUE(std::ranges::equal(*view, elements));
  }
  EXPECT_EQ(tensor.view().has_value(), tensor.is_contiguous());
  const auto width = static_cast<std::size_t>(size_of(tensor.dtype));
  for (std::size_t i = 0; i < expected[5].size(); ++i) {
    const nlohmann::json& value = expected[5][i];
    const double number = value.is_array() ? value[0].get<double>() : value.get<double>();
    EXPECT_EQ(value_at(tensor.dtype, elements.data() + i * width), number) << i;
  }
}

void expect_tensors(const TorchFile& file, const fs::path& expected_file) {
  const nlohmann::json expected = nlohmann::json::parse(std::ifstream(expected_file));
  const auto tensors = file.tensors();
  EXPECT_EQ(tensors.size(), expected.size());
  for (const NamedTorchTensor& named : tensors) {
    SCOPED_TRACE(named.path);
    std::string name = named.path;
    if (!expected.contains(name)) std::ranges::replace(name, '/', '.');
    ASSERT_TRUE(expected.contains(name));
    expect_tensor(*named.tensor, expected[name]);
  }
}

TEST_F(RealTorchFiles, HaveTheTensorsThatPyTorchReads) {
  for (const char* name : {"tied.bin", "noncontiguous.bin", "all-dtypes.bin", "adamw.bin"}) {
    SCOPED_TRACE(name);
    expect_tensors(TorchFile(folder_ / name), folder_ / (std::string(name) + ".expected.json"));
  }
  expect_tensors(TorchFile(folder_ / "noncontiguous-legacy-format.bin"),
                 folder_ / "noncontiguous.bin.expected.json");
}

// Under one name each; tensors of the others are compared with these.
TEST_F(RealTorchFiles, OfOneModelAreEqual) {
  const TorchFile file(folder_ / "gpt2-tiny" / "pytorch_model.bin");
  const PickleValue model = file.root();
  EXPECT_EQ(model.full_class_name(), "collections.OrderedDict");
  EXPECT_TRUE(model.state().value().at("_metadata").is_dict());
  const TorchTensor& words = model.at("transformer.wte.weight").as_tensor();
  EXPECT_EQ(words.storage, model.at("lm_head.weight").as_tensor().storage);
  EXPECT_EQ(words.shape, (Shape{128, 32}));
  file.verify_checksums();
  const auto expect_equal = [&](const TorchFile& other) {
    for (const auto& [name, value] : other.root().items())
      EXPECT_EQ(elements_of(value.as_tensor()), elements_of(model.at(name.as_text()).as_tensor()))
          << name.as_text();
  };
  const TorchFile plain(folder_ / "gpt2-plain-dict.bin"), old(folder_ / "gpt2-legacy-format.bin");
  EXPECT_EQ(plain.root().full_class_name(), "builtins.dict");
  EXPECT_EQ(plain.root().size() + 1, model.size());  // the tied output layer was left out
  EXPECT_EQ(old.root().size(), model.size());
  expect_equal(plain);
  expect_equal(old);
  std::size_t parts = 0;
  for (const char* part : {"pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"}) {
    const TorchFile shard(folder_ / "gpt2-sharded" / part);
    parts += shard.root().size();
    expect_equal(shard);
  }
  EXPECT_GE(parts + 1, model.size());  // tied weights may be there once
  const TorchFile rounded(folder_ / "gpt2-bf16.bin");
  const TorchTensor& bf16 = rounded.root().at("transformer.wte.weight").as_tensor();
  EXPECT_EQ(bf16.dtype, FileDType::kBF16);
  const auto exact = elements_of(words), short_ones = elements_of(bf16);
  for (std::size_t i = 0; i < 100; ++i)
    EXPECT_EQ(value_at(FileDType::kBF16, &short_ones[2 * i]),
              from_bf16(to_bf16(static_cast<float>(value_at(FileDType::kF32, &exact[4 * i])))));
}

TEST_F(RealTorchFiles, HaveObjectsOfManyKinds) {
  const TorchFile file(folder_ / "objects.bin");
  const PickleValue root = file.root();
  EXPECT_TRUE(root.at("param").as_tensor().is_parameter);
  EXPECT_TRUE(root.at("param").as_tensor().requires_grad);
  EXPECT_FALSE(root.at("rg").as_tensor().is_parameter);
  EXPECT_TRUE(root.at("rg").as_tensor().requires_grad);
  EXPECT_EQ(root.at("nested").element(0).kind(), PickleKind::kInt);
  EXPECT_EQ(root.at("nested").element(1).element(1).as_text(), "x");
  EXPECT_TRUE(root.at("nested").element(1).element(2).is_none());
  EXPECT_EQ(root.at("nested").element(2).at("k").as_double(), 1.5);
  EXPECT_TRUE(root.at("nested").element(2).at_key(3).as_bool());
  EXPECT_EQ(root.at("big").as_int64(), std::int64_t{1} << 40);
  EXPECT_EQ(root.at("neg").as_int64(), -7);
  EXPECT_EQ(root.at("huge").big_int().size(), 9u);  // 2^70: bit 70, and a bit for the sign
  EXPECT_THAT(error_of([&] { (void)root.at("huge").as_int64(); })->what(),
              HasSubstr("'huge': the number does not fit 64 bits"));
  EXPECT_EQ(root.at("bytes").as_bytes(), std::string_view("\0\xff"
                                                          "ab",
                                                          4));
  EXPECT_EQ(root.at("set").size(), 2u);
  EXPECT_EQ(root.at("size").as_int64s(), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(root.at("dtype").as_dtype(), FileDType::kBF16);
  EXPECT_EQ(root.at("device").as_device(), "cpu");
  EXPECT_EQ(root.at("od").full_class_name(), "collections.OrderedDict");
  EXPECT_EQ(root.at("dd").full_class_name(), "collections.Counter");
  EXPECT_EQ(root.at("dd").at("a").as_int64(), 2);
  EXPECT_EQ(root.at("str").as_text(), "grüß");
  EXPECT_EQ(root.at("layout").arguments().element(0).as_text(), "torch.strided");
  EXPECT_EQ(root.at("complex").arguments().element(1).as_double(), 2.0);
  EXPECT_THAT(error_of([&] { (void)root.at("nestde"); })->hint(), HasSubstr("'nested'"));
  EXPECT_THAT(error_of([&] { (void)root.at("nested").element(2).at("k").as_text(); })->what(),
              HasSubstr("objects.bin: 'nested/2/k' is a number, not a text"));
}

TEST_F(RealTorchFiles, KeepTheirDevice) {
  const TorchFile file(folder_ / "cuda.bin");
  EXPECT_EQ(file.tensors().at(0).tensor->storage->location, "cuda:0");
  EXPECT_EQ(TorchFile(folder_ / "hand-written" / "cuda-loc.pt").tensors().at(0).tensor->storage->location,
            "cuda:0");
}

TEST_F(RealTorchFiles, WithOtherClassesAreReadOnlyWhenAskedFor) {
  for (const char* name : {"namespace.bin", "hand-written/namespace.pt"}) {
    const auto error = error_of([&] { TorchFile file(folder_ / name); });
    ASSERT_TRUE(error) << name;
    EXPECT_THAT(error->what(), HasSubstr("argparse.Namespace"));
    EXPECT_EQ(error->kind(), ErrorKind::kInput);
    const TorchFile file(folder_ / name, {.unknown_classes = UnknownClasses::kKeep});
    const PickleValue args = file.root().at("args");
    EXPECT_TRUE(args.is_a("argparse.Namespace"));
    EXPECT_EQ(args.at("params_dtype").as_dtype(), FileDType::kBF16);
  }
}

TEST_F(RealTorchFiles, OfProtocol4AreRead) {
  const TorchFile file(folder_ / "protocol4.bin");
  EXPECT_EQ(file.root().at("a").as_tensor().shape, Shape{3});
}

// 0 to 11 as [3, 4], and two numbers more.
TEST_F(RealTorchFiles, WrittenByHandAreRead) {
  const std::vector<std::byte> full =
      elements_of(TorchFile(folder_ / "hand-written" / "full.pt").root().at("a").as_tensor());
  for (const char* name : {"noalign", "nobyteorder", "nocrc", "rootname", "dict", "deflated-pkl"}) {
    SCOPED_TRACE(name);
    const TorchFile file(folder_ / "hand-written" / (std::string(name) + ".pt"));
    EXPECT_EQ(elements_of(file.root().at("a").as_tensor()), full);
    file.verify_checksums();
  }
  EXPECT_TRUE(TorchFile(folder_ / "hand-written" / "params.pt").root().at("p").is_tensor());
}

TEST_F(RealTorchFiles, OfTheOtherByteOrderAreSwapped) {
  const TorchFile file(folder_ / "hand-written" / "bigendian-tag.pt");
  const TorchTensor& swapped = file.root().at("a").as_tensor();
  EXPECT_FALSE(swapped.view());
  std::vector<std::byte> elements = elements_of(swapped);
  for (std::size_t i = 0; i < elements.size(); i += 4) std::reverse(&elements[i], &elements[i] + 4);
  const TorchFile full(folder_ / "hand-written" / "full.pt");
  EXPECT_EQ(elements, elements_of(full.root().at("a").as_tensor()));
}

TEST_F(RealHostileTorchFiles, AreRefused) {
  for (const auto& [name, message] : {
           std::pair{"os-system.bin", "posix.system"},
           std::pair{"os-system-protocol4.bin", "posix.system"},
           std::pair{"builtins-eval.bin", "builtins.eval"},
           std::pair{"truncated.bin", "no directory at its end"},
           std::pair{"truncated-raw-pickle.bin", "past the end of the pickle"},
           std::pair{"storage-too-large.bin", "storage '0' has 16 bytes in the archive, and the pickle says"},
           std::pair{"view-beyond-storage.bin", "ends at element 999999 of storage '0', which has 4"},
           std::pair{"offset-overflow.bin", "ends at element 4611686018427387905"},
           std::pair{"negative-stride.bin", "negative stride: -1"},
           std::pair{"size-product-overflow.bin", "too large"},
           std::pair{"missing-storage.bin", "no entry 'archive/data/0'"},
           std::pair{"zip-entry-beyond-file.bin", "beyond the end of the archive"},
           std::pair{"no-version.bin", "no entry 'archive/version'"},
           std::pair{"memo-missing.bin", "memo entry 7 was never stored"},
           std::pair{"stack-underflow.bin", "more from its stack"},
       }) {
    const auto error = error_of([&] { TorchFile file(folder_ / "hostile" / name); });
    ASSERT_TRUE(error) << name;
    EXPECT_EQ(error->kind(), ErrorKind::kInput) << name;
    EXPECT_THAT(error->what(), HasSubstr(message));
    EXPECT_THAT(error->place().file, HasSubstr(name));
  }
}

// As opaque records: nothing runs.
TEST_F(RealHostileTorchFiles, ThatCallAreOnlyDescribed) {
  const TorchFile file(folder_ / "hostile" / "os-system.bin", {.unknown_classes = UnknownClasses::kKeep});
  EXPECT_TRUE(file.root().is_a("posix.system"));
  EXPECT_EQ(file.root().arguments().element(0).as_text(), "true");
}

TEST_F(RealHostileTorchFiles, ThatAreOnlyOddAreRead) {
  const TorchFile deep(folder_ / "hostile" / "deep-nesting.bin");
  std::size_t depth = 1;
  for (PickleValue list = deep.root(); list.size() > 0; list = list.element(0)) ++depth;
  EXPECT_EQ(depth, 100'000u);
  EXPECT_TRUE(deep.tensors().empty());
  const TorchFile doubled(folder_ / "hostile" / "memo-doubling.bin");
  EXPECT_EQ(doubled.root().element(0).id(), doubled.root().element(1).id());
  EXPECT_TRUE(doubled.tensors().empty());
  EXPECT_EQ(TorchFile(folder_ / "hostile" / "dotdot-name.bin").tensors().size(), 1u);
}

TEST(RealMegatronFiles, AreRead) {
  const fs::path folder = shared_data() / "megatron-checkpoints" / "ckpt";
  if (!fs::exists(folder)) GTEST_SKIP() << "the checkpoints of Megatron-LM are not there";
  int files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    SCOPED_TRACE(entry.path());
    if (entry.path().extension() == ".pt") {
      const TorchFile file(entry.path(), {.unknown_classes = UnknownClasses::kKeep});
      EXPECT_TRUE(file.root().is_dict());
      file.verify_checksums();
      ++files;
    } else if (entry.path().filename() == ".metadata") {
      const PickleDocument metadata = read_pickle_file(entry.path(), UnknownClasses::kKeep);
      EXPECT_TRUE(metadata.root().is_a("torch.distributed.checkpoint.metadata.Metadata"));
      EXPECT_TRUE(metadata.root().at("state_dict_metadata").has("embedding.word_embeddings.weight"));
    }
  }
  EXPECT_GE(files, 15);
}

}  // namespace
}  // namespace nadi::inline files
