// Real traces of PyTorch's profiler against counts taken with other tools, and one of them, field by field,
// against a plain reader over nlohmann-json: the reference of kineto_reader.cpp.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "nadi/pytorch/kineto_reader.h"
#include "nadi/pytorch/pytorch_for_tests.h"

namespace nadi::inline traces {
namespace {

using nlohmann::json;
using Category = KinetoCategory;

struct RealTrace {
  std::string name;
  std::map<Category, std::size_t> rows;
  KinetoCounts counts;
};

class KinetoReal : public testing::TestWithParam<RealTrace> {};

TEST_P(KinetoReal, HasTheEventsThatOtherToolsCount) {
  if (!std::filesystem::exists(real_trace(GetParam().name))) GTEST_SKIP() << "the real traces are not there";
  const KinetoTrace trace = read_kineto(real_trace(GetParam().name));
  std::map<Category, std::size_t> rows;
  for (const Category category : trace.category) ++rows[category];
  EXPECT_EQ(rows, GetParam().rows);
  EXPECT_EQ(trace.counts.events, GetParam().counts.events);
  EXPECT_EQ(trace.counts.flows, GetParam().counts.flows);
  EXPECT_EQ(trace.counts.metadata, GetParam().counts.metadata);
  EXPECT_EQ(trace.counts.instants, GetParam().counts.instants);
  EXPECT_EQ(trace.counts.other, 0u);
  EXPECT_EQ(trace.counts.without_duration, 0u);
  EXPECT_FALSE(trace.counts.damage.damaged());
}

INSTANTIATE_TEST_SUITE_P(
    Traces, KinetoReal,
    testing::Values(
        RealTrace{.name = "gpt2_b4_t512_device",
                  .rows = {{Category::kCpuOp, 7080},
                           {Category::kUserAnnotation, 3},
                           {Category::kRuntime, 1187},
                           {Category::kDriver, 195},
                           {Category::kKernel, 1117},
                           {Category::kMemcpy, 1},
                           {Category::kMemset, 73},
                           {Category::kGpuAnnotation, 2},
                           {Category::kSpan, 1}},
                  .counts = {.events = 13480, .flows = 3759, .metadata = 60, .instants = 2, .damage = {}}},
        RealTrace{.name = "bert_b4_t384_ddp_device",
                  .rows = {{Category::kCpuOp, 10171},
                           {Category::kUserAnnotation, 19},
                           {Category::kRuntime, 1837},
                           {Category::kDriver, 270},
                           {Category::kKernel, 1301},
                           {Category::kMemcpy, 204},
                           {Category::kMemset, 97},
                           {Category::kGpuAnnotation, 3},
                           {Category::kSpan, 1}},
                  .counts = {.events = 19074, .flows = 5109, .metadata = 60, .instants = 2, .damage = {}}},
        RealTrace{.name = "resnet_2gpu_device",
                  .rows = {{Category::kCpuOp, 14346},
                           {Category::kUserAnnotation, 42},
                           {Category::kRuntime, 8740},
                           {Category::kKernel, 2700},
                           {Category::kMemcpy, 960},
                           {Category::kMemset, 114},
                           {Category::kGpuAnnotation, 30},
                           {Category::kSpan, 1}},
                  .counts = {.events = 40573, .flows = 13600, .metadata = 38, .instants = 2, .damage = {}}}),
    [](const auto& test) { return test.param.name; });

TEST(KinetoReader, ReadsTheDocumentOfARealTrace) {
  if (!std::filesystem::exists(real_trace("resnet_2gpu_device")))
    GTEST_SKIP() << "the real traces are not there";
  const KinetoTrace trace = read_kineto(real_trace("resnet_2gpu_device"));
  EXPECT_EQ(trace.base_time.count(), 1711964646000000000);
  EXPECT_EQ(trace.rank, 0);
  EXPECT_EQ(trace.world_size, 2);
  ASSERT_EQ(trace.groups.size(), 1u);
  EXPECT_EQ(trace.groups[0].name, "0");
  EXPECT_EQ(trace.groups[0].description, "default_pg");
  EXPECT_EQ(trace.groups[0].ranks, (std::vector<std::int64_t>{0, 1}));
  std::vector<std::string> names;
  for (const auto& [name, json_text] : trace.members) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"schemaVersion", "deviceProperties", "distributedInfo", "INFO",
                                             "traceName", "displayTimeUnit"}));
}

// A plain reading of one attribute, held against the fast one.
void expect_same(const json& value, const std::optional<TraceAttribute>& attribute, const std::string& name) {
  ASSERT_TRUE(attribute) << name;
  if (value.is_string()) {
    EXPECT_EQ(attribute->string(), value.get<std::string>()) << name;
  } else if (value.is_number_float()) {
    EXPECT_EQ(attribute->real(), value.get<double>()) << name;
  } else if (value.is_number()) {
    EXPECT_EQ(attribute->kind, TraceAttributeKind::kInt64) << name;
    EXPECT_EQ(attribute->integer(), value.get<std::int64_t>()) << name;
  } else if (attribute->kind == TraceAttributeKind::kInt64List) {
    EXPECT_EQ(json(std::vector<std::uint64_t>(attribute->numbers.begin(), attribute->numbers.end())), value)
        << name;
  } else {
    EXPECT_EQ(json::parse(*attribute->string()), value) << name;
  }
}

std::uint64_t id_in(const json& args, const char* name) {
  return args.contains(name) ? args.at(name).get<std::uint64_t>() : 0;
}

json parsed_or_null(std::string_view text) {
  return text.empty() ? json() : json::parse(text);
}

TEST(KinetoReader, AgreesWithAPlainReaderInEveryField) {
  if (!std::filesystem::exists(real_trace("bert_b4_t384_ddp_device")))
    GTEST_SKIP() << "the real traces are not there";
  const KinetoTrace trace = read_kineto(real_trace("bert_b4_t384_ddp_device"));
  const json document = json::parse(unpacked_trace("bert_b4_t384_ddp_device"));
  std::size_t row = 0;
  for (const json& event : document.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    ASSERT_LT(row, trace.events.size());
    SCOPED_TRACE(row);
    const json args = event.value("args", json::object());
    EXPECT_EQ(trace.events.id(row), TraceNodeId{row});
    EXPECT_EQ(trace.events.name(row), event.at("name").get<std::string>());
    EXPECT_EQ(to_string(trace.category[row]), event.at("cat").get<std::string>());
    // A double is not exact to the nanosecond here: ulp(3.8e15) = 0.5.
    EXPECT_NEAR(static_cast<double>(trace.events.start(row).count()), event.at("ts").get<double>() * 1e3,
                1.0);
    EXPECT_EQ(trace.events.duration(row).count(), std::llround(event.at("dur").get<double>() * 1e3));
    EXPECT_EQ(trace.correlation[row], id_in(args, "correlation"));
    EXPECT_EQ(trace.external_id[row], id_in(args, "External id"));
    EXPECT_EQ(trace.record_function[row], id_in(args, "Record function id"));
    const IoInfo inputs = trace.events.inputs(row);
    EXPECT_EQ(parsed_or_null(inputs.values), args.value("Concrete Inputs", json()));
    EXPECT_EQ(parsed_or_null(inputs.shapes), args.value("Input Dims", json()));
    EXPECT_EQ(parsed_or_null(inputs.types), args.value("Input type", json()));
    std::size_t attributes = 0;
    for (const auto& [name, value] : args.items()) {
      if (name == "correlation" || name == "External id" || name == "Record function id" ||
          name == "Concrete Inputs" || name == "Input Dims" || name == "Input type")
        continue;
      expect_same(value, trace.events.find_attribute(row, name), name);
      ++attributes;
    }
    EXPECT_EQ(trace.events.attribute_count(row), attributes);
    const KinetoLane& lane = trace.lanes[trace.lane[row]];
    if (lane.device) {
      EXPECT_EQ(lane.process, args.value("device", event.at("pid").get<int>()));
      EXPECT_EQ(lane.thread, args.value("stream", event.at("tid").get<int>()));
    } else if (event.at("pid").is_number()) {
      EXPECT_EQ(lane.process, event.at("pid").get<std::int64_t>());
      EXPECT_EQ(lane.thread, event.at("tid").get<std::int64_t>());
    }
    ++row;
  }
  EXPECT_EQ(row, trace.events.size());
}

TEST(KinetoReader, NamesTheLanesOfARealTrace) {
  if (!std::filesystem::exists(real_trace("gpt2_b4_t512_device")))
    GTEST_SKIP() << "the real traces are not there";
  const KinetoTrace trace = read_kineto(real_trace("gpt2_b4_t512_device"));
  const auto find = [&](std::int64_t process, std::int64_t thread, bool device) -> const KinetoLane* {
    for (const KinetoLane& lane : trace.lanes)
      if (lane.process == process && lane.thread == thread && lane.device == device) return &lane;
    return nullptr;
  };
  const KinetoLane* stream = find(0, 7, true);
  ASSERT_NE(stream, nullptr);
  EXPECT_EQ(stream->name, "stream 7 ");
  EXPECT_EQ(stream->process_name, "python3");
  const KinetoLane* thread = find(402, 402, false);
  ASSERT_NE(thread, nullptr);
  EXPECT_EQ(thread->name, "thread 402 (python3)");
}

}  // namespace
}  // namespace nadi::inline traces
