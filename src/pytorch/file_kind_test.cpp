#include "nadi/pytorch/file_kind.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "nadi/pytorch/pytorch_for_tests.h"

namespace nadi {
namespace {

TEST(FileKind, IsToldFromNames) {
  using Kind = JsonFileKind;
  const std::pair<std::string_view, Kind> texts[] = {
      {R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "H200"}], "traceEvents": [)",
       Kind::kKineto},
      {R"({"traceEvents": [], "metadata": {}})", Kind::kKineto},
      {R"([{"name": "a", "ph": "X"}])", Kind::kKineto},
      {"\xEF\xBB\xBF [ {\"ph\": \"B\"}", Kind::kKineto},
      {R"({"schema": "1.0.3-chakra.0.0.4", "pid": 3, "nodes": [{"id": 2)", Kind::kPytorchHost},
      {R"({"nodes": [{"id": 2, "name": "a", "attrs": []}], "schema": "1.1.1"})", Kind::kPytorchHost},
      {R"({"nodes": [{"id": 2, "rf_id": 3}]})", Kind::kPytorchHost},
      {R"({"metadata": {"version": "0.0.4"}, "nodes": [{"id": "1", "name": "a", "type": "COMP_NODE"}]})",
       Kind::kChakra},
      {R"({"globalMetadata": {}, "node": []})", Kind::kChakra},
      {R"({"nodes": [{"id": "1", "ctrlDeps": ["0"]}]})", Kind::kChakra},
      {R"({"version": "0.0.4"}{"id": "1", "name": "a"})", Kind::kChakra},
      {R"({"id": "1", "name": "a", "type": "COMP_NODE"})", Kind::kChakra},
      {R"({"directed": true, "multigraph": false, "graph": {}, "nodes": [{"id": 1}], "links": []})",
       Kind::kNodeLink},
      {R"({"model_type": "gpt2", "n_layer": 12})", Kind::kOther},
      {R"({"name": "traceEvents", "x": {"traceEvents": []}})", Kind::kOther},
      {"[1, 2, 3]", Kind::kOther},
      {"\"text\"", Kind::kOther},
      {"", Kind::kOther},
      {"\x0a\x07\x0a\x05"
       "0.0.4",
       Kind::kOther},
  };
  for (const auto& [text, kind] : texts) EXPECT_EQ(json_text_kind(text), kind) << text;
}

TEST(FileKind, KnowsRealFiles) {
  if (!std::filesystem::exists(real_trace("gpt2_b4_t512_host")))
    GTEST_SKIP() << "the real traces are not there";
  for (const std::string name : {"gpt2_b4_t512", "bert_b4_t384_ddp", "resnet_2gpu"}) {
    EXPECT_EQ(json_file_kind(real_trace(name + "_host")), JsonFileKind::kPytorchHost);
    EXPECT_EQ(json_file_kind(real_trace(name + "_device")), JsonFileKind::kKineto);
  }
  const std::filesystem::path chakra =
      std::string(NADI_SOURCE_DIR) + "/../shared/data/chakra/pytorch_converter_2023.0.et";
  if (std::filesystem::exists(chakra)) {
    EXPECT_EQ(json_file_kind(chakra), JsonFileKind::kOther);
  }
}

// Whatever the bytes, there is an answer.
TEST(FileKind, StandsAnything) {
  const std::string text = R"({"a\"": [{"b": "c\\"}], "traceEvents": [{"ph": "X"}]})";
  for (std::size_t size = 0; size <= text.size(); ++size) json_text_kind(text.substr(0, size));
  EXPECT_EQ(json_text_kind("{\"\\"), JsonFileKind::kOther);
  EXPECT_EQ(json_text_kind("}}]]{\""), JsonFileKind::kOther);
}

}  // namespace
}  // namespace nadi
