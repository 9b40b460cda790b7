#include "nadi/input/content_kind.h"

#include <gtest/gtest.h>

#include <string>

#include "nadi/input/chunked_input.h"
#include "nadi/input/packing_for_tests.h"
#include "nadi/testing/source_folder.h"

namespace nadi::inline ground {
namespace {

FileKind kind_of(std::string_view bytes) {
  ChunkedInput input(bytes, "memory");
  return content_kind(input);
}

TEST(ContentKind, LooksIntoCompressedFiles) {
  const std::string text = R"({"schemaVersion": 1, "traceEvents": [{"ph": "X", "name": "a"}]})";
  EXPECT_EQ(kind_of(text), FileKind::kKineto);
  for (const Packing& packing : packings()) {
    const std::string packed = packing.pack(text);
    EXPECT_EQ(kind_of(packed), FileKind::kKineto) << packing.name;
    EXPECT_EQ(kind_of(packing.pack("")), FileKind::kEmpty) << packing.name;
  }
}

TEST(ContentKind, KnowsRealFiles) {
  const std::filesystem::path traces = shared_data() / "traces";
  if (!std::filesystem::exists(traces)) GTEST_SKIP() << "the real traces are not there";
  const auto expect = [](const std::filesystem::path& path, FileKind kind) {
    EXPECT_EQ(name_of(content_kind(path)), name_of(kind)) << path;
  };
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(traces)) {
    const std::string file = entry.path().filename().string();
    if (file.find("_host.json") != std::string::npos) expect(entry.path(), FileKind::kPytorchHost);
    if (file.find("_device.json") != std::string::npos) expect(entry.path(), FileKind::kKineto);
  }
  for (const std::filesystem::directory_entry& entry :
       std::filesystem::recursive_directory_iterator(shared_data() / "chakra"))
    if (entry.path().extension() == ".et") expect(entry.path(), FileKind::kChakra);
  for (const std::filesystem::directory_entry& entry :
       std::filesystem::directory_iterator(shared_data() / "megatron")) {
    if (entry.path().extension() == ".idx") expect(entry.path(), FileKind::kMegatronIndex);
    if (entry.path().extension() == ".npy") expect(entry.path(), FileKind::kNpy);
  }
  for (const std::filesystem::directory_entry& entry :
       std::filesystem::directory_iterator(shared_data() / "torch-files"))
    if (entry.path().extension() == ".bin") {
      const bool is_old = entry.path().stem().string().ends_with("legacy-format");
      expect(entry.path(), is_old ? FileKind::kPickle : FileKind::kTorchSave);
    }
}

}  // namespace
}  // namespace nadi::inline ground
