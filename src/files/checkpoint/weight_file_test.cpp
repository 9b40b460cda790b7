#include "nadi/checkpoint/weight_file.h"

#include <gmock/gmock.h>

#include <array>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/checkpoint/files_for_tests.h"
#include "nadi/checkpoint/safetensors_reader.h"
#include "nadi/checkpoint/weight_writer.h"
#include "nadi/testing/source_folder.h"
#include "nadi/torch_file/pickle_arena.h"
#include "nadi/torch_file/torch_writer.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class WeightFileTest : public FolderTest {
 protected:
  fs::path write(PickleValue root) {
    const fs::path path = folder_ / "pytorch_model.bin";
    AtomicFile file(path, Overwrite::kAllow);
    write_torch_file(file, root, [&](const TorchStorage&, const StorageSink& sink) {
      sink(std::as_bytes(std::span(numbers_)));
    });
    file.commit();
    return path;
  }

  static std::vector<float> floats(const WeightTensor& tensor) {
    std::vector<float> values(static_cast<std::size_t>(tensor.shape().elements()));
    tensor.read(DType::kF32, std::as_writable_bytes(std::span(values)));
    return values;
  }

  const std::array<float, 6> numbers_{0, 1, 2, 3, 4, 5};
  PickleArena values_;
};

TEST_F(WeightFileTest, BothFormatsHoldTheSame) {
  const std::array<std::int64_t, 2> counts{7, 8};
  for (const WeightFormatEntry& entry : weight_formats()) {
    SCOPED_TRACE(entry.name);
    AtomicFile output(folder_ / entry.file, Overwrite::kAllow);
    write_weights(
        output, entry.format,
        {{.name = "b", .shape = {2, 3}, .bytes = std::as_bytes(std::span(numbers_))},
         {.name = "a", .dtype = FileDType::kI64, .shape = {2}, .bytes = std::as_bytes(std::span(counts))}});
    output.commit();
    const WeightFile file(folder_ / entry.file, entry.format);
    ASSERT_EQ(file.tensors().size(), 2u);
    EXPECT_EQ(file.tensors()[0].name(), "a");  // the wider type
    EXPECT_EQ(file.find("a")->dtype(), FileDType::kI64);
    EXPECT_EQ(file.find("c"), nullptr);
    const WeightTensor& b = *file.find("b");
    EXPECT_EQ(b.shape(), (Shape{2, 3}));
    EXPECT_THAT(floats(b), ElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_EQ(b.mapped().size(), 24u);
    std::array<std::uint16_t, 2> halves{};
    b.read(3, 2, DType::kBF16, std::as_writable_bytes(std::span(halves)));
    EXPECT_THAT(halves, ElementsAre(0x4040, 0x4080));  // 3 and 4
    EXPECT_THAT(error_of([&] { file.find("a")->read(0, 0, DType::kF32, {}); })->what(),
                HasSubstr("tensor 'a' holds I64, which cannot be read as f32"));
  }
}

// [2, 3] transposed: 0 3, 1 4, 2 5.
TEST_F(WeightFileTest, ReadsTransposedTensorsOfTorchSave) {
  TorchStorage& storage = values_.storage(FileDType::kF32, 6);
  const PickleValue root = values_.dict();
  values_.set(root, "t", values_.tensor({.storage = &storage, .shape = {3, 2}, .strides = {1, 3}}));
  values_.set(root, "step", values_.integer(3));
  const WeightFile file(write(root), WeightFormat::kPytorch);
  EXPECT_THAT(floats(*file.find("t")), ElementsAre(0, 3, 1, 4, 2, 5));
  std::array<float, 3> part{};
  file.find("t")->read(1, 3, DType::kF32, std::as_writable_bytes(std::span(part)));
  EXPECT_THAT(part, ElementsAre(3, 1, 4));
  EXPECT_THAT(error_of([&] { (void)file.find("t")->mapped(); })->what(), HasSubstr("do not lie row by row"));
  EXPECT_THAT(file.other_entries(), ElementsAre("step"));
}

TEST_F(WeightFileTest, RefusesOtherPickles) {
  TorchStorage& storage = values_.storage(FileDType::kF32, 6);
  const PickleValue tensor = values_.tensor({.storage = &storage, .shape = {6}});
  const auto message = [&](PickleValue root) {
    const fs::path path = write(root);
    const auto error = error_of([&] { WeightFile(path, WeightFormat::kPytorch); });
    return error ? std::string(error->what()) + error->hint() : std::string();
  };
  EXPECT_THAT(message(tensor), HasSubstr("holds a tensor, not a dictionary of tensors"));
  const PickleValue nested = values_.dict();
  values_.set(nested, "w", tensor);
  const PickleValue root = values_.dict();
  values_.set(root, "state_dict", nested);
  EXPECT_THAT(message(root), HasSubstr("no tensors by nameit holds 'state_dict'"));
  const PickleValue numbered = values_.dict();
  values_.set(numbered, values_.integer(1), tensor);
  EXPECT_THAT(message(numbered), HasSubstr("the name of a tensor must be a text"));
}

// A tiny GPT-2 that PyTorch saved: every tensor as transformers has it.
TEST_F(WeightFileTest, ReadsWhatPyTorchSaved) {
  const fs::path real = shared_data() / "torch-files" / "gpt2-tiny";
  if (!fs::exists(real)) GTEST_SKIP() << "the real files of torch.save are not there";
  const SafetensorsReader expected(real / "expected.safetensors");
  const WeightFile file(real / "pytorch_model.bin", WeightFormat::kPytorch);
  for (const WeightTensor& tensor : file.tensors()) {
    const SafetensorsTensor& wanted = expected.at(tensor.name());
    std::vector<std::byte> bytes(static_cast<std::size_t>(wanted.size().count()));
    expected.read_bytes(wanted, bytes);
    EXPECT_EQ(tensor.shape(), wanted.shape);
    EXPECT_TRUE(std::ranges::equal(tensor.mapped(), bytes)) << tensor.name();
  }
}

}  // namespace
}  // namespace nadi::inline files
