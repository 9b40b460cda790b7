#include "nadi/base/file_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <string_view>
#include <utility>

namespace nadi::inline ground {
namespace {

using testing::HasSubstr;
using namespace std::string_literals;

// The local header of a zip archive up to the name of its first file.
std::string zip_of(std::string_view name) {
  std::string header = "PK\x03\x04" + std::string(22, '\0');
  header += static_cast<char>(name.size());
  header += "\0\0\0"s;
  return header + std::string(name);
}

TEST(FileKind, IsToldByTheFirstBytes) {
  const std::pair<std::string, FileKind> files[] = {
      {"", FileKind::kEmpty},
      {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s, FileKind::kPng},
      {"\xff\xd8\xff\xe0\0\x10JFIF"s, FileKind::kJpeg},
      {"GIF89a\1", FileKind::kGif},
      {"%PDF-1.7\n%\xe2\xe3", FileKind::kPdf},
      {"\x7f"
       "ELF\2\1\1"s,
       FileKind::kElf},
      {"\x1f\x8b\x08\0"s, FileKind::kGzip},
      {"\x28\xb5\x2f\xfd\x04", FileKind::kZstd},
      {"\xfd"
       "7zXZ\0\0"s,
       FileKind::kXz},
      {"BZh91AY&SY\1", FileKind::kBzip2},
      {"7z\xbc\xaf\x27\x1c", FileKind::kSevenZip},
      {std::string("name") + std::string(253, '\0') + "ustar", FileKind::kTar},
      {zip_of("notes.txt"), FileKind::kZip},
      {zip_of("archive/data.pkl"), FileKind::kTorchSave},
      {zip_of("pytorch_model/data.pkl"), FileKind::kTorchSave},
      {zip_of("arr_0.npy"), FileKind::kNpz},
      {"\x80\x02\x8a\nl\xfc\x9c", FileKind::kPickle},
      {"SQLite format 3\0"s, FileKind::kSqlite},
      {"\x89HDF\r\n\x1a\n", FileKind::kHdf5},
      {"GGUF\3\0\0\0"s, FileKind::kGguf},
      {"\x93NUMPY\1\0"s, FileKind::kNpy},
      {"MMIDIDX\0\0\1"s, FileKind::kMegatronIndex},
      {"PAR1\x15", FileKind::kParquet},
      {"ARROW1\0\0"s, FileKind::kArrow},
      {"\x10\0\0\0\0\0\0\0{\"a\": {}}"s, FileKind::kSafetensors},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n", FileKind::kLfsPointer},
      {"#!/bin/sh\necho\n", FileKind::kScript},
      {"\n <!DOCTYPE html>\n<html>", FileKind::kHtml},
      {"<html><body>", FileKind::kHtml},
      {"<?xml version=\"1.0\"?>", FileKind::kXml},
      {"A line.\nGr\xc3\xbc\xc3\x9f"
       "e.\n",
       FileKind::kText},
      {"cut within a character: \xc3", FileKind::kText},
      {"\xff\xfeh\0i\0"s, FileKind::kUtf16},
      {"caf\xe9\n", FileKind::kUnknown},  // Latin-1
      {"h e\n\xc3\n", FileKind::kUnknown},
      {"\0\0\0\0\0"s, FileKind::kUnknown},
      {"{\ny" + std::string(121, '1'), FileKind::kChakra},  // 123 bytes that are a text of 121
      {"setting\n iteration 1/ 2 | elapsed time per iteration (ms): 5.0 |\n", FileKind::kTrainingLog},
      {"# Logs\n\n```\n iteration 1/ 2 | elapsed time per iteration (ms): 5.0 |\n```\n", FileKind::kText},
      {"# Logs\n\n## Timers\n'across ranks (ms):' begins a block\n", FileKind::kText},
      {"[2026-01-31 09:05:00] times across ranks (ms):\n", FileKind::kTrainingLog},
      {"a\nb\nand so on, and on, and on, over many lines", FileKind::kText},
      // .et: a length, then metadata (version "0.0.4") or, in old files, a node (id 1, name "a").
      {"\x07\x0a\x05"
       "0.0.4"s,
       FileKind::kChakra},
      {"\x0a\x0a\x05"
       "0.0.4\x12\x01x"s,
       FileKind::kChakra},
      {"\x05\x08\x01\x12\x01"
       "a"s,
       FileKind::kChakra},
      {"{\n\x05"
       "0.0.4\x12\x70" +
           std::string(80, 'a'),
       FileKind::kChakra},  // 123 bytes, cut
  };
  for (const auto& [bytes, kind] : files)
    EXPECT_EQ(name_of(kind_of_bytes(bytes)), name_of(kind)) << testing::PrintToString(bytes);
}

TEST(FileKind, OfJsonIsToldByNames) {
  const std::pair<std::string_view, FileKind> texts[] = {
      {R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "H200"}], "traceEvents": [)",
       FileKind::kKineto},
      {R"({"traceEvents": [], "metadata": {}})", FileKind::kKineto},
      {R"([{"name": "a", "ph": "X"}])", FileKind::kKineto},
      {"\xEF\xBB\xBF [ {\"ph\": \"B\"}", FileKind::kKineto},
      {R"({"schema": "1.0.3-chakra.0.0.4", "pid": 3, "nodes": [{"id": 2)", FileKind::kPytorchHost},
      {R"({"nodes": [{"id": 2, "name": "a", "attrs": []}], "schema": "1.1.1"})", FileKind::kPytorchHost},
      {R"({"nodes": [{"id": 2, "rf_id": 3}]})", FileKind::kPytorchHost},
      {R"({"metadata": {"version": "0.0.4"}, "nodes": [{"id": "1", "name": "a", "type": "COMP_NODE"}]})",
       FileKind::kChakraJson},
      {R"({"globalMetadata": {}, "node": []})", FileKind::kChakraJson},
      {R"({"nodes": [{"id": "1", "ctrlDeps": ["0"]}]})", FileKind::kChakraJson},
      {R"({"version": "0.0.4"}{"id": "1", "name": "a"})", FileKind::kChakraJson},
      {R"({"id": "1", "name": "a", "type": "COMP_NODE"})", FileKind::kChakraJson},
      {R"({"workload_graph": []})", FileKind::kChakraJson},
      {R"({"rocprofiler-sdk-tool": [{"metadata": {"pid": 908}}]})", FileKind::kRocprof},
      {"\x0a\x20\x12\x0e/host:metadata\"\x01x", FileKind::kXplane},
      {"\x0a\x20\x08\x02\x12\x0d/device:GPU:0\"\x01x", FileKind::kXplane},
      {R"({"directed": true, "multigraph": false, "graph": {}, "nodes": [{"id": 1}], "links": []})",
       FileKind::kNodeLink},
      {R"({"model_type": "gpt2", "n_layer": 12})", FileKind::kModelConfig},
      {R"({"version": "1.0", "truncation": null, "added_tokens": [], "model": {}})", FileKind::kTokenizer},
      {R"({"version": "v2.0", "data": [{"title": "a"}]})", FileKind::kSquad},
      {R"({"metadata": {"total_size": 1}, "weight_map": {}})", FileKind::kWeightIndex},
      {R"({"name": "mine", "nodes": [{"name": "node", "device": "a10"}]})", FileKind::kCluster},
      {R"({"nadi_plan": 1, "model": "gpt2", "step": {"seq_length": 64}})", FileKind::kPlan},
      {"{\"text\": \"a\"}\n{\"text\": \"b\"}\n", FileKind::kJsonLines},
      {R"({"name": "traceEvents", "x": {"traceEvents": []}})", FileKind::kJson},
      {"[1, 2, 3]", FileKind::kJson},
      {"[ a list in words ]", FileKind::kText},
      {"\"text\"", FileKind::kText},
      {"}}]]{\"", FileKind::kText},
      {"{\"\\", FileKind::kJson},
  };
  for (const auto& [text, kind] : texts) EXPECT_EQ(name_of(kind_of_bytes(text)), name_of(kind)) << text;
}

// Whatever the bytes, there is an answer.
TEST(FileKind, StandsAnything) {
  const std::string text = R"({"a\"": [{"b": "c\\"}], "traceEvents": [{"ph": "X"}]})";
  for (std::size_t size = 0; size <= text.size(); ++size) kind_of_bytes(text.substr(0, size));
  for (int first = 0; first < 256; ++first)
    for (int second = 0; second < 256; ++second)
      kind_of_bytes(std::string{static_cast<char>(first), static_cast<char>(second), '\n'});
}

TEST(FileKind, OfPathsThatAreNoFiles) {
  EXPECT_EQ(kind_of_file("/nonexistent/file"), FileKind::kUnknown);
  EXPECT_EQ(kind_of_file("/"), FileKind::kFolder);
  EXPECT_EQ(kind_of_file("/dev/null"), FileKind::kUnknown);
}

TEST(ExpectKind, NamesWhatTheFileIs) {
  const auto error_of = [](std::string_view bytes) -> std::string {
    try {
      expect_kind(bytes, "x.et", "a Chakra trace", {FileKind::kChakra});
    } catch (const WrongFileKind& error) {
      return std::string(error.what()) + "|" + error.hint();
    }
    return "";
  };
  EXPECT_EQ(error_of("\x89PNG\r\n\x1a\n"), "x.et: this is a PNG image, not a Chakra trace|");
  EXPECT_EQ(error_of(std::string(257, '\0') + "ustar"),
            "x.et: this is a tar archive, not a Chakra trace|unpack it first: tar -xf FILE");
  EXPECT_EQ(error_of(""), "") << "empty: the reader tells, too";
  EXPECT_EQ(error_of("\x07\x0a\x05"
                     "0.0.4"),
            "");
  EXPECT_EQ(error_of("\xe9\xff\xff"), "") << "unknown: the reader tells";
}

TEST(ExpectKind, TakesAnyTextWhereLinesAreWanted) {
  EXPECT_NO_THROW(expect_text("{\"text\": 1}\n", "a", "text"));
  EXPECT_NO_THROW(expect_text("#!/bin/sh", "a", "text"));
  EXPECT_NO_THROW(expect_text("caf\xe9", "a", "text"));
  EXPECT_THROW(expect_text("GGUF", "a", "text"), WrongFileKind);
  EXPECT_THROW(expect_text(R"({"traceEvents": [)", "a", "text"), WrongFileKind);
}

}  // namespace
}  // namespace nadi::inline ground
