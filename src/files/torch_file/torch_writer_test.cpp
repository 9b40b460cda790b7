#include "nadi/torch_file/torch_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <fstream>
#include <map>
#include <set>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/crc32.h"
#include "nadi/base/files_for_tests.h"
#include "nadi/testing/source_folder.h"
#include "nadi/torch_file/pickle_arena.h"
#include "nadi/torch_file/pickle_writer.h"
#include "nadi/torch_file/torch_file.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

using TorchWriterTest = FolderTest;

std::span<const std::byte> as_file(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// The whole file, written with the layout's pieces as a parallel writer does.
std::string written_by_layout(PickleValue root, const StorageData& data) {
  const TorchLayout layout(root);
  std::string file(static_cast<std::size_t>(layout.file_size()), '?');
  const auto put = [&](std::int64_t offset, std::string_view bytes) {
    file.replace(static_cast<std::size_t>(offset), bytes.size(), bytes);
  };
  std::vector<std::uint32_t> checksums;
  for (const StoragePlace& place : layout.storages()) {
    EXPECT_EQ(place.offset % 64, 0);
    std::string bytes;
    data(*place.storage, [&](std::span<const std::byte> piece) {
      bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    });
    EXPECT_EQ(static_cast<std::int64_t>(bytes.size()), place.size);
    put(place.offset, bytes);
    checksums.push_back(crc32(as_file(bytes)));
  }
  for (const FilePiece& piece : layout.head()) put(piece.offset, piece.bytes);
  for (const FilePiece& piece : layout.ending(checksums)) put(piece.offset, piece.bytes);
  EXPECT_EQ(static_cast<std::int64_t>(file.size()), layout.file_size());
  return file;
}

void copy_bytes(const TorchStorage& storage, const StorageSink& sink) {
  sink(storage.bytes);
}

std::string written(const fs::path& path, PickleValue root, const StorageData& data = copy_bytes) {
  AtomicFile file(path, Overwrite::kAllow);
  write_torch_file(file, root, data);
  file.commit();
  const std::string streamed = read_text(path);
  EXPECT_EQ(streamed == written_by_layout(root, data), true) << "the layout gives another file";
  return streamed;
}

// Whether two values say the same, shared values in the same places.
class Comparison {
 public:
  void expect_equal(PickleValue a, PickleValue b) {
    pairs_.emplace_back(a, b);
    while (!pairs_.empty() && !testing::Test::HasFailure()) {
      const auto [one, other] = pairs_.back();
      pairs_.pop_back();
      if (met_.insert({one.id(), other.id()}).second) compare(one, other);
    }
  }

 private:
  void compare(PickleValue a, PickleValue b) {
    SCOPED_TRACE(a.path());
    ASSERT_EQ(name_of(a.kind()), name_of(b.kind()));
    push(a.state(), b.state());
    switch (a.kind()) {
      case PickleKind::kNone:
        break;
      case PickleKind::kBool:
        EXPECT_EQ(a.as_bool(), b.as_bool());
        break;
      case PickleKind::kInt:
        EXPECT_EQ(a.big_int(), b.big_int());
        if (a.big_int().empty() && b.big_int().empty()) {
          EXPECT_EQ(a.as_int64(), b.as_int64());
        }
        break;
      case PickleKind::kFloat:
        EXPECT_EQ(std::bit_cast<std::uint64_t>(a.as_double()), std::bit_cast<std::uint64_t>(b.as_double()));
        break;
      case PickleKind::kText:
      case PickleKind::kBytes:
        EXPECT_EQ(a.as_bytes(), b.as_bytes());
        break;
      case PickleKind::kList:
      case PickleKind::kTuple:
      case PickleKind::kSize:
      case PickleKind::kSet:
        ASSERT_EQ(a.size(), b.size());
        for (std::size_t i = 0; i < a.size(); ++i) pairs_.emplace_back(a.element(i), b.element(i));
        break;
      case PickleKind::kDict:
        EXPECT_EQ(a.full_class_name(), b.full_class_name());
        push_items(a, b);
        break;
      case PickleKind::kDType:
        EXPECT_EQ(a.as_dtype(), b.as_dtype());
        break;
      case PickleKind::kDevice:
        EXPECT_EQ(a.as_device(), b.as_device());
        break;
      case PickleKind::kStorage:
        compare_storages(a.as_storage(), b.as_storage());
        break;
      case PickleKind::kTensor:
        compare_tensors(a.as_tensor(), b.as_tensor());
        break;
      case PickleKind::kGlobal:
        EXPECT_EQ(a.full_class_name(), b.full_class_name());
        break;
      case PickleKind::kObject:
        EXPECT_EQ(a.full_class_name(), b.full_class_name());
        EXPECT_EQ(a.is_made_by_new(), b.is_made_by_new());
        pairs_.emplace_back(a.arguments(), b.arguments());
        push(a.object_entries(), b.object_entries());
        push(a.object_elements(), b.object_elements());
    }
  }
  void push(const std::optional<PickleValue>& a, const std::optional<PickleValue>& b) {
    ASSERT_EQ(a.has_value(), b.has_value());
    if (a) pairs_.emplace_back(*a, *b);
  }
  void push_items(PickleValue a, PickleValue b) {
    const auto ours = a.items(), theirs = b.items();
    ASSERT_EQ(ours.size(), theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      pairs_.emplace_back(ours[i].key, theirs[i].key);
      pairs_.emplace_back(ours[i].value, theirs[i].value);
    }
  }
  void compare_storages(const TorchStorage& a, const TorchStorage& b) {
    EXPECT_EQ(a.size, b.size);
    EXPECT_EQ(a.location, b.location);
    EXPECT_TRUE(std::ranges::equal(a.bytes, b.bytes));
    EXPECT_EQ(storages_.try_emplace(&a, &b).first->second, &b) << "tensors no longer share a storage";
  }
  void compare_tensors(const TorchTensor& a, const TorchTensor& b) {
    compare_storages(*a.storage, *b.storage);
    EXPECT_EQ(a.dtype, b.dtype);
    EXPECT_EQ(a.shape, b.shape);
    EXPECT_EQ(a.strides, b.strides);
    EXPECT_EQ(a.offset, b.offset);
    EXPECT_EQ(a.requires_grad, b.requires_grad);
    EXPECT_EQ(a.is_parameter, b.is_parameter);
  }

  std::vector<std::pair<PickleValue, PickleValue>> pairs_;
  std::set<std::pair<const void*, const void*>> met_;
  std::map<const TorchStorage*, const TorchStorage*> storages_;
};

TEST_F(TorchWriterTest, WritesWhatItReads) {
  PickleArena values;
  const std::vector<float> numbers{0, 1, 2, 3, 4, 5};
  TorchStorage& storage = values.storage(FileDType::kF32, 6);
  storage.bytes = std::as_bytes(std::span(numbers));
  TorchStorage& other = values.untyped_storage(2);
  const std::array<std::byte, 2> fp8{std::byte{0x38}, std::byte{0x40}};  // 1 and 2 of e4m3
  other.bytes = fp8;
  const PickleValue root = values.ordered_dict();
  const PickleValue tied = values.tensor({.storage = &storage, .shape = {2, 3}});
  values.set(root, "words", tied);
  values.set(root, "head", tied);
  values.set(root, "row",
             values.tensor({.storage = &storage, .shape = {3}, .offset = 3, .is_parameter = true}));
  values.set(root, "turned", values.tensor({.storage = &storage, .shape = {3, 2}, .strides = {1, 3}}));
  values.set(root, "fp8", values.tensor({.storage = &other, .dtype = FileDType::kF8E4M3, .shape = {2}}));
  values.set(
      root, "numbers",
      values.tuple({values.integer(-1), values.integer(255), values.integer(65535), values.integer(65536),
                    values.integer(std::int64_t{-1} << 40), values.real(-0.0), values.boolean(true),
                    values.big_integer(std::string(300, '\x11')), values.none()}));
  values.set(root, "bytes", values.bytes(std::string_view("\0\x80\xff", 3)));
  values.set(root, "long", values.list(std::vector(1000, values.text("same"))));
  values.set(root, "set", values.set_of(std::vector{values.integer(3)}));
  values.set(root, "kind", values.dtype(FileDType::kBF16));
  values.set(root, "where", values.device("cuda:1"));
  values.set(root, "size", values.size(std::vector<std::int64_t>{2, 3}));
  const PickleValue count = values.counter();
  values.set(count, values.integer(7), values.integer(1));
  values.set(root, "count", count);
  const PickleValue args = values.new_object({"argparse", "Namespace"}, values.tuple({}));
  values.set_attribute(args, "num_layers", values.integer(4));
  values.set_attribute(args, "self", args);
  values.set(root, "args", args);
  values.set(root, "enum",
             values.object({"megatron.core.enums", "ModelType"}, values.tuple({values.integer(1)})));
  values.set(root, "inner", values.global({"module", "Outer.Inner.Innermost"}));
  const PickleValue metadata = values.dict();
  values.set(metadata, "_metadata", values.ordered_dict());
  values.set_state(root, metadata);
  values.set_root(root);

  const std::string file = written(folder_ / "a.pt", root);
  EXPECT_EQ(file, written(folder_ / "b.pt", root));
  const TorchFile read(folder_ / "a.pt", {.unknown_classes = UnknownClasses::kKeep});
  EXPECT_EQ(read.root().at("words").id(), read.root().at("head").id());
  const PickleValue inner = read.root().at("inner");  // getattr(getattr(module.Outer, 'Inner'), 'Innermost')
  EXPECT_EQ(inner.arguments().element(1).as_text(), "Innermost");
  read.verify_checksums();
  // All but the class within a class, which comes back as what gives it.
  values.set(root, "inner", values.none());
  written(folder_ / "a.pt", root);
  const TorchFile again(folder_ / "a.pt", {.unknown_classes = UnknownClasses::kKeep});
  Comparison().expect_equal(root, again.root());
}

TEST_F(TorchWriterTest, RefusesWhatAPickleCannotSay) {
  PickleArena values;
  const PickleValue list = values.list();
  const PickleValue tuple = values.tuple({list});
  values.append(list, tuple);
  EXPECT_THAT(error_of([&] { write_pickle(tuple); })->what(), HasSubstr("contains itself"));
  EXPECT_FALSE(error_of([&] { write_pickle(list); }));  // the list can be named before it is filled
  EXPECT_THAT(error_of([&] { write_pickle(values.global({"a", "b\nc"})); })->what(), HasSubstr("b\\nc"));
}

TEST_F(TorchWriterTest, DoesNotRecurse) {
  PickleArena values;
  PickleValue value = values.list();
  for (int i = 0; i < 100'000; ++i) value = values.list(std::vector{value});
  const std::string bytes = write_pickle(value).bytes;
  const PickleDocument read = read_pickle(as_file(bytes), "deep");
  std::size_t depth = 0;
  for (PickleValue list = read.root(); list.size() > 0; list = list.element(0)) ++depth;
  EXPECT_EQ(depth, 100'000u);
}

// 5 GB that nobody writes: the headers alone, in a file with a hole.
TEST_F(TorchWriterTest, WritesZip64) {
  PickleArena values;
  const std::int64_t large = std::int64_t{5} << 30;
  TorchStorage& first = values.storage(FileDType::kU8, large);
  TorchStorage& second = values.storage(FileDType::kU8, 3);
  const PickleValue root = values.dict();
  values.set(root, "large", values.tensor({.storage = &first, .dtype = FileDType::kU8, .shape = {large}}));
  values.set(root, "far", values.tensor({.storage = &second, .dtype = FileDType::kU8, .shape = {3}}));
  const TorchLayout layout(root);
  const fs::path path = folder_ / "large.pt";
  write_text(path, "");
  fs::resize_file(path, static_cast<std::uintmax_t>(layout.file_size()));
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto put = [&](std::int64_t offset, const std::string& bytes) {
      file.seekp(offset);
      file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    };
    for (const FilePiece& piece : layout.head()) put(piece.offset, piece.bytes);
    put(layout.storages()[1].offset, "abc");
    for (const FilePiece& piece : layout.ending(std::vector<std::uint32_t>{0, 0}))
      put(piece.offset, piece.bytes);
  }
  const TorchFile file(path);
  EXPECT_EQ(file.root().at("large").as_tensor().view()->size(), static_cast<std::size_t>(large));
  const TorchTensor& far = file.root().at("far").as_tensor();
  EXPECT_GT(far.storage->file_offset, large);
  EXPECT_EQ(static_cast<char>(far.view()->back()), 'c');
}

TEST_F(TorchWriterTest, WritesRealFilesAgain) {
  const fs::path files = shared_data() / "torch-files", checkpoints = shared_data() / "megatron-checkpoints";
  if (!fs::exists(files) || !fs::exists(checkpoints)) GTEST_SKIP() << "the real files are not there";
  std::vector<fs::path> paths;
  for (const fs::path& folder : {files, checkpoints})
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
      if ((entry.path().extension() == ".pt" || entry.path().extension() == ".bin") &&
          entry.path().parent_path().filename() != "hostile" && entry.path().stem() != "bigendian-tag")
        paths.push_back(entry.path());
  EXPECT_GE(paths.size(), 30u);
  for (const fs::path& path : paths) {
    SCOPED_TRACE(path);
    const TorchFile file(path, {.unknown_classes = UnknownClasses::kKeep});
    written(folder_ / "again.pt", file.root());
    const TorchFile again(folder_ / "again.pt", {.unknown_classes = UnknownClasses::kKeep});
    again.verify_checksums();
    Comparison().expect_equal(file.root(), again.root());
  }
}

}  // namespace
}  // namespace nadi::inline files
