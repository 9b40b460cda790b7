#include "nadi/data/hugging_face_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "nadi/testing/temporary_file.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

TEST(HuggingFaceCache, FindsADownloadByItsAddress) {
  const TemporaryFile marker("cache", "");
  const fs::path cache = marker.path().parent_path();
  EXPECT_EQ(find_downloaded(cache, "train-v1.1.json"), std::nullopt) << "no downloads";
  const fs::path folder = cache / "downloads";
  fs::create_directory(folder);
  const auto write = [&](const char* name, const std::string& text) { std::ofstream(folder / name) << text; };
  write("aa.json", R"({"url": "https://example.org/dev-v1.1.json", "etag": "x"})");
  write("aa", "{}");
  write("bb.cc.json", R"({"url": "https://example.org/train-v1.1.json", "etag": null})");
  write("bb.cc", "{}");
  write("dd.json", R"({"url": "https://example.org/train-v2.0.json"})");  // whose file is gone
  write("ee.json", "[1, 2");
  write("ff.json", R"({"url": 5})");
  EXPECT_EQ(find_downloaded(cache, "train-v1.1.json"), folder / "bb.cc");
  EXPECT_EQ(find_downloaded(cache, "dev-v1.1.json"), folder / "aa");
  EXPECT_EQ(find_downloaded(cache, "v1.1.json"), std::nullopt) << "not the whole name";
  EXPECT_EQ(find_downloaded(cache, "train-v2.0.json"), std::nullopt);
  EXPECT_EQ(find_downloaded(cache / "nowhere", "train-v1.1.json"), std::nullopt);
}

}  // namespace
}  // namespace nadi::inline files
