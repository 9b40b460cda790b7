#include "nadi/checkpoint_inspection/stored_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "nadi/base/error.h"
#include "nadi/base/files_for_tests.h"
#include "nadi/checkpoint_inspection/weights_for_tests.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::SizeIs;

class StoredTensorsTest : public FolderTest {
 protected:
  std::string message_of(const fs::path& path) {
    try {
      open_stored_tensors(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      return error.what();
    }
    return "no error";
  }
};

std::vector<float> all_of(const StoredTensors& stored, const WholeTensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.shape.elements()));
  stored.read(tensor, tensor.whole(), std::as_writable_bytes(std::span(values)));
  return values;
}

TEST_F(StoredTensorsTest, OfASafetensorsFile) {
  write_small_weights((folder_ / "one.safetensors"),
                      {{"w", Shape{2, 2}, {1, 2, 3, 4}}, {"b", Shape{2}, {5, 6}}});
  const auto stored = open_stored_tensors((folder_ / "one.safetensors"));
  EXPECT_EQ(stored->kind(), "safetensors file");
  EXPECT_EQ(stored->config(), nullptr);
  ASSERT_THAT(stored->tensors(), SizeIs(2));
  const WholeTensor& w = stored->tensors()[1];
  EXPECT_EQ(w.name, "w");
  EXPECT_EQ(w.place, (folder_ / "one.safetensors").string());
  EXPECT_EQ(all_of(*stored, w), (std::vector<float>{1, 2, 3, 4}));
  std::vector<float> column(2);
  stored->read(w, {.rows = 2, .column = 1, .columns = 1}, std::as_writable_bytes(std::span(column)));
  EXPECT_EQ(column, (std::vector<float>{2, 4}));
  EXPECT_FALSE(stored->view(w, {.rows = 2, .column = 1, .columns = 1}));
  EXPECT_TRUE(stored->view(w, {.row = 1, .rows = 1, .column = 1, .columns = 1}));
}

TEST_F(StoredTensorsTest, OfAFolderOfFiles) {
  write_small_weights((folder_ / "x-00001.safetensors"), {{"a", Shape{1}, {1}}});
  write_small_weights((folder_ / "x-00002.safetensors"), {{"b", Shape{1}, {2}}});
  EXPECT_EQ(open_stored_tensors(folder_.path())->kind(), "2 safetensors files");
  EXPECT_THAT(open_stored_tensors(folder_.path())->tensors(), SizeIs(2));
  write_small_weights((folder_ / "x-00002.safetensors"), {{"a", Shape{1}, {2}}});
  EXPECT_THAT(message_of(folder_.path()), HasSubstr("tensor 'a' is in "));
}

TEST_F(StoredTensorsTest, OfAFolderWhoseModelNobodyKnows) {
  write_small_weights((folder_ / "model.safetensors"), {{"a", Shape{1}, {1}}});
  write_text(folder_ / "config.json", R"({"model_type": "gemma"})");
  const auto stored = open_stored_tensors(folder_.path());
  EXPECT_EQ(stored->kind(), "safetensors file");
  EXPECT_THAT(stored->notes(), testing::ElementsAre(HasSubstr("not a model that Nadi knows")));
  write_text(folder_ / "config.json", R"({"model_type": "gpt2", "vocab_size": 1})");
  EXPECT_THAT(message_of(folder_.path()), HasSubstr("n_positions"));
}

TEST_F(StoredTensorsTest, WhatIsNotThereOrIsSomethingElseIsSaid) {
  EXPECT_THAT(message_of((folder_ / "nowhere")), HasSubstr("no such file or folder"));
  EXPECT_THAT(message_of(folder_.path()), HasSubstr("the folder holds no weights"));
  std::ofstream((folder_ / "x.safetensors")) << "\x89PNG\r\n\x1a\n";
  EXPECT_THAT(message_of((folder_ / "x.safetensors")),
              HasSubstr("this is a PNG image, not a safetensors or torch"));
  write_small_weights((folder_ / "cut.safetensors"), {{"w", Shape{2, 2}, {1, 2, 3, 4}}});
  fs::resize_file((folder_ / "cut.safetensors"), fs::file_size((folder_ / "cut.safetensors")) - 1);
  EXPECT_THAT(message_of((folder_ / "cut.safetensors")), HasSubstr("cut.safetensors"));
  fs::resize_file((folder_ / "cut.safetensors"), 5);
  EXPECT_THAT(message_of((folder_ / "cut.safetensors")), HasSubstr("cut.safetensors"));
}

}  // namespace
}  // namespace nadi::inline files
