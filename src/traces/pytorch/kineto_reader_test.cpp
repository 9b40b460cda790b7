#include "nadi/pytorch/kineto_reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/pytorch/pytorch_for_tests.h"

namespace nadi::inline traces {
namespace {

using Kind = TraceAttributeKind;

std::string document(const std::string& events) {
  return R"({"traceEvents": [)" + events + "]}";
}

KinetoTrace read(const std::string& events, const KinetoReadOptions& options = {}) {
  return read_kineto(document(events), "t.json", options);
}

KinetoTrace read_leniently(const std::string& events) {
  return read(events, {.damage = JsonDamage::kSkip});
}

// The error for events that are refused; `at` is the text that its byte must point to.
Error refused(const std::string& events, std::string_view at, const KinetoReadOptions& options = {}) {
  const std::string text = document(events);
  const Error error = error_of([&] { read_kineto(text, "t.json", options); });
  EXPECT_EQ(error.kind(), ErrorKind::kInput);
  EXPECT_EQ(error.place().file, "t.json");
  EXPECT_EQ(error.place().byte, static_cast<std::int64_t>(text.find(at))) << error.what();
  return error;
}

TEST(KinetoReader, ReadsCompleteEvents) {
  const KinetoTrace trace = read(R"(
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 402, "tid": 451, "ts": 1000.5, "dur": 20,
     "args": {"External id": 7, "Record function id": 5, "Sequence number": 3, "Input Dims": [[2, 3], [3, 4]],
              "Input type": ["float", "float"], "Concrete Inputs": ["", ""]}},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1010.001, "dur": 3.002,
     "args": {"device": 1, "stream": 9, "correlation": 44, "External id": 7, "grid": [8, 1, 1], "occupancy": 0.5}})");
  ASSERT_EQ(trace.events.size(), 2u);
  EXPECT_EQ(trace.events.name(0), "aten::mm");
  EXPECT_EQ(trace.events.start(0).count(), 1000500);
  EXPECT_EQ(trace.events.duration(0).count(), 20000);
  EXPECT_EQ(trace.category[0], KinetoCategory::kCpuOp);
  EXPECT_EQ(trace.external_id[0], 7u);
  EXPECT_EQ(trace.record_function[0], 5u);
  EXPECT_EQ(trace.correlation[0], 0u);
  EXPECT_EQ(trace.events.inputs(0).shapes, "[[2, 3], [3, 4]]");
  EXPECT_EQ(trace.events.inputs(0).types, R"(["float", "float"])");
  EXPECT_EQ(trace.events.inputs(0).values, R"(["", ""])");
  EXPECT_EQ(trace.events.attribute_count(0), 1u);
  EXPECT_EQ(trace.events.find_attribute(0, "Sequence number")->integer(), 3);

  EXPECT_EQ(trace.correlation[1], 44u);
  EXPECT_EQ(trace.events.start(1).count(), 1010001);
  EXPECT_EQ(trace.events.duration(1).count(), 3002);
  EXPECT_EQ(trace.events.find_attribute(1, "occupancy")->real(), 0.5);
  const TraceAttribute grid = *trace.events.find_attribute(1, "grid");
  EXPECT_EQ(std::vector<std::uint64_t>(grid.numbers.begin(), grid.numbers.end()),
            (std::vector<std::uint64_t>{8, 1, 1}));
  // Streams are known by device and stream, whatever the event is filed under.
  ASSERT_EQ(trace.lanes.size(), 2u);
  EXPECT_EQ(trace.lanes[trace.lane[0]].process, 402);
  EXPECT_EQ(trace.lanes[trace.lane[0]].thread, 451);
  EXPECT_FALSE(trace.lanes[trace.lane[0]].device);
  EXPECT_EQ(trace.lanes[trace.lane[1]].process, 1);
  EXPECT_EQ(trace.lanes[trace.lane[1]].thread, 9);
  EXPECT_TRUE(trace.lanes[trace.lane[1]].device);
}

TEST(KinetoReader, KeepsArgsWithTheirKinds) {
  const KinetoTrace trace = read(R"({"ph": "X", "ts": 1, "dur": 1, "args": {
      "int": -3, "big": 18446744073709551615, "real": 1e3, "text": "a\n\"b\" \u00e9\ud83d\ude00", "yes": true, "no": false,
      "nothing": null, "list": [1, -2], "mixed": [1, "a"], "object": {"a": [1]}, "empty": [], "": 5,
      "correlation": -1}})");
  const auto get = [&](std::string_view name) { return *trace.events.find_attribute(0, name); };
  EXPECT_EQ(get("int").kind, Kind::kInt64);
  EXPECT_EQ(get("int").integer(), -3);
  EXPECT_EQ(get("big").kind, Kind::kUint64);
  EXPECT_EQ(get("big").bits, 18446744073709551615u);
  EXPECT_EQ(get("real").real(), 1000.0);
  EXPECT_EQ(get("text").string(), "a\n\"b\" \xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_EQ(get("yes").kind, Kind::kBool);
  EXPECT_EQ(get("yes").integer(), 1);
  EXPECT_EQ(get("no").integer(), 0);
  EXPECT_EQ(get("nothing").kind, Kind::kNone);
  EXPECT_EQ(get("list").kind, Kind::kInt64List);
  ASSERT_EQ(get("list").numbers.size(), 2u);
  EXPECT_EQ(static_cast<std::int64_t>(get("list").numbers[1]), -2);
  EXPECT_EQ(get("mixed").string(), R"([1, "a"])");
  EXPECT_EQ(get("object").string(), R"({"a": [1]})");
  EXPECT_EQ(get("empty").kind, Kind::kInt64List);
  EXPECT_EQ(get("empty").numbers.size(), 0u);
  EXPECT_EQ(get("").integer(), 5);
  // What does not fit a column stays an attribute.
  EXPECT_EQ(get("correlation").integer(), -1);
  EXPECT_EQ(trace.correlation[0], 0u);
}

TEST(KinetoReader, CanPassOverArgs) {
  const std::string events = R"({"ph": "X", "cat": "kernel", "pid": 0, "tid": 1, "ts": 1, "dur": 1, "args": {
      "stream": 7, "correlation": 4, "grid": [1, 1, 1], "Input Dims": [[1]], "dtype": "Float"}})";
  const KinetoTrace trace = read(events, {.attributes = false});
  EXPECT_EQ(trace.correlation[0], 4u);
  EXPECT_EQ(trace.lanes[0].thread, 7);
  EXPECT_EQ(trace.events.find_attribute(0, "grid"), std::nullopt);
  EXPECT_EQ(trace.events.inputs(0).shapes, "");
  EXPECT_EQ(trace.events.find_attribute(0, "dtype")->string(), "Float");
}

TEST(KinetoReader, CountsTheLastOfNamesGivenTwice) {
  const KinetoTrace trace = read(R"(
    {"ph": "B", "name": "a", "ts": 1, "dur": 1, "name": "b", "ph": "X", "ts": 2,
     "args": {"gone": 1}, "args": {"x": 1, "y": 2, "x": "three", "correlation": -1, "z": 4, "correlation": 5,
                                   "External id": 6, "External id": "none"}})");
  ASSERT_EQ(trace.events.size(), 1u);
  EXPECT_EQ(trace.events.name(0), "b");
  EXPECT_EQ(trace.events.start(0).count(), 2000);
  EXPECT_EQ(trace.correlation[0], 5u);
  EXPECT_EQ(trace.external_id[0], 0u);
  ASSERT_EQ(trace.events.attribute_count(0), 4u);
  EXPECT_EQ(trace.events.attribute(0, 0).name, "x");
  EXPECT_EQ(trace.events.attribute(0, 0).string(), "three");
  EXPECT_EQ(trace.events.attribute(0, 1).name, "y");
  EXPECT_EQ(trace.events.attribute(0, 2).name, "z");
  EXPECT_EQ(trace.events.attribute(0, 3).string(), "none");
}

TEST(KinetoReader, ReadsEscapedNames) {
  const KinetoTrace trace = read(R"(
    {"\u0070h": "X", "n\u0061me": "a\u0041", "ts": 1, "dur": 1, "args": {"k\u0065y": 1, "key": 2, "\\n": 3, "\n": 4}})");
  ASSERT_EQ(trace.events.size(), 1u);
  EXPECT_EQ(trace.events.name(0), "aA");
  EXPECT_EQ(trace.events.attribute_count(0), 3u);
  EXPECT_EQ(trace.events.find_attribute(0, "key")->integer(), 2);
  EXPECT_EQ(trace.events.find_attribute(0, "\\n")->integer(), 3);
  EXPECT_EQ(trace.events.find_attribute(0, "\n")->integer(), 4);
}

TEST(KinetoReader, MakesRowsOfBeginsAndEnds) {
  const KinetoTrace trace = read(R"(
    {"ph": "E", "pid": 1, "tid": 1, "ts": 1},
    {"ph": "B", "name": "outer", "cat": "x", "pid": 1, "tid": 1, "ts": 10, "args": {"a": 1, "b": 2}},
    {"ph": "B", "name": "other", "pid": 1, "tid": 2, "ts": 11},
    {"ph": "B", "name": "inner", "pid": 1, "tid": 1, "ts": 12},
    {"ph": "E", "pid": 1, "tid": 1, "ts": 15},
    {"ph": "E", "pid": 1, "tid": 1, "ts": 20, "args": {"b": "end", "c": 3}})");
  ASSERT_EQ(trace.events.size(), 2u);
  EXPECT_EQ(trace.events.name(0), "inner");
  EXPECT_EQ(trace.events.start(0).count(), 12000);
  EXPECT_EQ(trace.events.duration(0).count(), 3000);
  EXPECT_EQ(trace.events.name(1), "outer");
  EXPECT_EQ(trace.events.duration(1).count(), 10000);
  EXPECT_EQ(trace.events.find_attribute(1, "a")->integer(), 1);
  EXPECT_EQ(trace.events.find_attribute(1, "b")->string(), "end");
  EXPECT_EQ(trace.events.find_attribute(1, "c")->integer(), 3);
  EXPECT_EQ(trace.events.find_attribute(1, "cat")->string(), "x");
  EXPECT_EQ(trace.counts.events, 6u);
  EXPECT_EQ(trace.counts.other, 2u);  // the first end, and "other"
}

TEST(KinetoReader, CountsEventsThatAreNoRows) {
  const KinetoTrace trace = read(R"(
    {"ph": "s", "id": 1, "ts": 1}, {"ph": "t", "id": 1}, {"ph": "f", "id": 1}, {"ph": "i", "ts": 1}, {"ph": "C", "ts": 1},
    {"ph": "I"}, {"ph": "M", "name": "x"}, {"ph": "N"}, {"ph": "XX"}, {"no": "phase"}, {})");
  EXPECT_EQ(trace.events.size(), 0u);
  EXPECT_EQ(trace.counts.flows, 3u);
  EXPECT_EQ(trace.counts.instants, 3u);
  EXPECT_EQ(trace.counts.metadata, 1u);
  EXPECT_EQ(trace.counts.other, 4u);
  EXPECT_EQ(trace.counts.events, 11u);
}

TEST(KinetoReader, NamesLanes) {
  const KinetoTrace trace = read(R"(
    {"ph": "M", "name": "process_name", "pid": 5, "tid": 0, "args": {"name": "first"}},
    {"ph": "X", "name": "a", "pid": 5, "tid": 6, "ts": 1, "dur": 1},
    {"ph": "X", "name": "b", "pid": "Spans", "tid": "Profiler", "ts": 1, "dur": 1},
    {"ph": "X", "name": "c", "pid": "Profiler", "tid": "Spans", "ts": 1, "dur": 1},
    {"ph": "X", "name": "d", "ts": 1, "dur": 1},
    {"ph": "X", "name": "e", "pid": 18446744073709551615, "tid": -7, "ts": 1, "dur": 1},
    {"ph": "M", "name": "process_name", "pid": 5, "tid": 0, "args": {"name": "python3"}},
    {"ph": "M", "name": "thread_name", "pid": 5, "tid": 6, "args": {"name": "main \u0026c"}},
    {"ph": "M", "name": "thread_name", "pid": 5, "tid": 7, "args": {"name": 8}},
    {"ph": "M", "name": "thread_name", "pid": "Spans", "tid": "Profiler", "args": {"name": "spans"}})");
  ASSERT_EQ(trace.lanes.size(), 5u);
  EXPECT_EQ(trace.lanes[0].name, "main &c");
  EXPECT_EQ(trace.lanes[0].process_name, "python3");
  EXPECT_EQ(trace.lanes[1].process, -2);
  EXPECT_EQ(trace.lanes[1].thread, -3);
  EXPECT_EQ(trace.lanes[1].name, "spans");
  EXPECT_EQ(trace.lanes[2].process, -3);
  EXPECT_EQ(trace.lanes[2].thread, -2);
  EXPECT_EQ(trace.lanes[3].process, 0);
  EXPECT_EQ(trace.lanes[4].process, -1);
  EXPECT_EQ(trace.lanes[4].thread, -7);
  EXPECT_EQ(trace.counts.metadata, 5u);
}

TEST(KinetoReader, KnowsCategoriesOfOtherDevicesAndYears) {
  using Category = KinetoCategory;
  const std::pair<std::string_view, Category> names[] = {{"cpu_op", Category::kCpuOp},
                                                         {"Operator", Category::kCpuOp},
                                                         {"hip_runtime", Category::kRuntime},
                                                         {"Runtime", Category::kRuntime},
                                                         {"xpu_driver", Category::kDriver},
                                                         {"Kernel", Category::kKernel},
                                                         {"mlu_memcpy", Category::kMemcpy},
                                                         {"Memset", Category::kMemset},
                                                         {"xpu_sync", Category::kSync},
                                                         {"gpu_user_annotation", Category::kGpuAnnotation},
                                                         {"Trace", Category::kSpan},
                                                         {"subkernel", Category::kOther},
                                                         {"", Category::kOther},
                                                         {"user_annotation", Category::kUserAnnotation},
                                                         {"a,b", Category::kOther},
                                                         {"mlu_user_annotation", Category::kGpuAnnotation}};
  for (const auto& [name, category] : names) EXPECT_EQ(kineto_category(name), category) << name;
  for (int i = 0; i < static_cast<int>(Category::kOther); ++i)
    EXPECT_EQ(kineto_category(to_string(static_cast<Category>(i))), static_cast<Category>(i));

  const KinetoTrace trace = read(R"(
    {"ph": "X", "cat": "hip_runtime", "ts": 1, "dur": 1}, {"ph": "X", "cat": "cuda_runtime", "ts": 1, "dur": 1},
    {"ph": "X", "cat": "blink", "ts": 1, "dur": 1}, {"ph": "X", "ts": 1, "dur": 1})");
  EXPECT_EQ(trace.category[0], Category::kRuntime);
  EXPECT_EQ(trace.events.find_attribute(0, "cat")->string(), "hip_runtime");
  EXPECT_EQ(trace.events.attribute_count(1), 0u);
  EXPECT_EQ(trace.events.find_attribute(2, "cat")->string(), "blink");
  EXPECT_EQ(trace.events.attribute_count(3), 0u);
}

TEST(KinetoReader, ReadsMembersOfTheDocument) {
  const KinetoTrace trace = read_kineto(R"({
    "schemaVersion": 1, "baseTimeNanoseconds": 1790857026000000000,
    "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8,
      "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "ranks": []},
                    {"pg_name": 5, "pg_desc": "tp", "ranks": "[2, 3]"}]},
    "traceEvents": [], "traceName": "a", "traceName": "b"})",
                                        "t.json");
  EXPECT_EQ(trace.base_time.count(), 1790857026000000000);
  EXPECT_EQ(trace.rank, 3);
  EXPECT_EQ(trace.world_size, 8);
  ASSERT_EQ(trace.groups.size(), 2u);
  EXPECT_EQ(trace.groups[0].ranks.size(), 0u);
  EXPECT_EQ(trace.groups[1].name, "5");
  EXPECT_EQ(trace.groups[1].ranks, (std::vector<std::int64_t>{2, 3}));
  ASSERT_EQ(trace.members.size(), 3u);
  EXPECT_EQ(trace.members[0], (std::pair<std::string, std::string>("schemaVersion", "1")));
  EXPECT_EQ(trace.members[2], (std::pair<std::string, std::string>("traceName", "\"b\"")));
}

TEST(KinetoReader, TakesAListOfEventsAsTheDocument) {
  EXPECT_EQ(read_kineto(R"([{"ph": "X", "name": "a", "ts": 1, "dur": 2}])", "t.json").events.size(), 1u);
  EXPECT_EQ(read_kineto(R"({"traceEvents": []})", "t.json").events.size(), 0u);
}

TEST(KinetoReader, ReadsTimesInNanosecondsIfAsked) {
  const std::string events = R"({"ph": "X", "name": "a", "ts": 1790857026000000123, "dur": 17.6})";
  const KinetoTrace trace = read(events, {.time_unit = KinetoTimeUnit::kNanoseconds});
  EXPECT_EQ(trace.events.start(0).count(), 1790857026000000123);
  EXPECT_EQ(trace.events.duration(0).count(), 18);
  const Error error = refused(events, "1790857026000000123");
  EXPECT_NE(error.message().find("63 bits"), std::string::npos);
  EXPECT_NE(error.hint().find("times are in nanoseconds"), std::string::npos);
  EXPECT_EQ(refused(R"({"ph": "X", "ts": 1e30, "dur": 1})", "1e30").hint(), "");
}

TEST(KinetoReader, NamesTheByteOfWhatItRefuses) {
  const std::string good = R"({"ph": "X", "name": "a", "ts": 1, "dur": 1}, )";
  EXPECT_NE(refused(good + R"({"ph": "X", "name": "late", "ts": 1})", R"({"ph": "X", "name": "late")")
                .message()
                .find("no duration"),
            std::string::npos);
  refused(good + R"({"ph": "X", "dur": 7})", R"({"ph": "X", "dur": 7})");
  refused(good + R"({"ph": "X", "ts": "12", "dur": 7})", R"("12")");
  refused(good + R"({"ph": "X", "ts": 12, "dur": null})", "null");
  refused(good + R"({"ph": "X", "ts": 9223372036854775, "dur": 9223372036854775})", R"({"ph": "X", "ts": 9)");
  refused(good + R"({"ph": "X", "ts": 1, "dur": 1, "pid": 1.5})", "1.5");
  refused(good + R"({"ph": "X", "ts": 1, "dur": 1, "pid": true})", "true");
  refused(good + R"({"ph": "X", "ts": 1, "dur": 1, "name": 17})", "17");
  refused(good + R"({"ph": "X", "ts": 1, "dur": 1, "cat": ["a"]})", R"(["a"])");
  refused(good + R"({"ph": "X", "ts": 1, "dur": 1, "args": [5]})", "[5]");
  refused(good + R"({"ph": "B", "name": "b"})", R"({"ph": "B")");
  refused(good + R"({"ph": "B", "ts": 5}, {"ph": "E", "ts": 4})", "4}");
  refused(good + R"({"ph": "E"})", R"({"ph": "E")");
  refused(good + R"({"ph": "X", "ts": 1, "dur": 1, "args": {"x": inf}})", "inf");
  refused(good + R"({"ph": "X", "ts": 1, "dur": 1, "args": {"x": [1 2]}})", "2]");
  refused(good + R"({"ph": "X", "ts": 1, "dur": 1, "args": {"x": "\q"}})", "q\"}");
  refused(good + R"({"ph": "X" "ts": 1})", R"("ts": 1})");
}

TEST(KinetoReader, RefusesMembersThatSayNothing) {
  const auto refused_member = [](const std::string& text, std::string_view at) {
    const Error error = error_of([&] { read_kineto(text, "t.json"); });
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_EQ(error.place().byte, static_cast<std::int64_t>(text.find(at))) << error.what();
  };
  refused_member(R"({"traceEvents": {"a": 1}})", R"({"a")");
  refused_member(R"({"baseTimeNanoseconds": "x", "traceEvents": []})", R"("x")");
  refused_member(R"({"distributedInfo": [], "traceEvents": []})", "[]");
  refused_member(R"({"distributedInfo": {"rank": "a"}, "traceEvents": []})", R"({"rank")");
  refused_member(R"({"distributedInfo": {"pg_config": [{"ranks": ["a"]}]}, "traceEvents": []})",
                 R"({"pg_config")");
  refused_member(R"({"a": 1})", "{");
  EXPECT_EQ(error_of([] { read_kineto(R"({"schema": "1.1.1", "nodes": []})", "t.json"); }).message(),
            "this is an execution trace of PyTorch's host, not a Kineto trace");
}

TEST(KinetoReader, GoesOnIfAsked) {
  const KinetoTrace trace = read_leniently(R"(
    {"ph": "X", "name": "a", "ts": 1, "dur": 1},
    {"ph": "X", "name": "no duration", "ts": 1},
    {"ph": "X", "name": "no start", "dur": 1},
    {"ph": "X", "name": "back", "ts": 1, "dur": -1},
    {"ph": "X", "name": "quo"te", "ts": 1, "dur": 1},
    {"ph": "X", "name": "z", "ts": 2, "dur": 1})");
  ASSERT_EQ(trace.events.size(), 2u);
  EXPECT_EQ(trace.events.name(0), "a");
  EXPECT_EQ(trace.events.name(1), "z");
  EXPECT_EQ(trace.counts.without_duration, 1u);
  EXPECT_EQ(trace.counts.damage.dropped_records, 2u);
  EXPECT_EQ(trace.counts.unfinished, 1u);
  EXPECT_EQ(trace.counts.events, 4u);
}

TEST(KinetoReader, LeavesOutEventsThatHadNotEnded) {
  const KinetoTrace trace = read(R"(
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 5, "dur": -1},
    {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 0, "dur": 0},
    {"ph": "X", "cat": "cpu_op", "name": "aten::add", "ts": 0, "dur": 0},
    {"ph": "X", "cat": "kernel", "name": "add", "ts": 7, "dur": 0})");
  ASSERT_EQ(trace.events.size(), 2u);
  EXPECT_EQ(trace.events.name(0), "aten::add");
  EXPECT_EQ(trace.events.name(1), "add");
  EXPECT_EQ(trace.counts.unfinished, 2u);
  EXPECT_EQ(trace.counts.events, 4u);
}

// A copy that takes no time has a bandwidth that JSON has no number for.
TEST(KinetoReader, TakesInfinitiesIfAsked) {
  const KinetoTrace trace = read_leniently(
      R"({"ph": "X", "name": "copy", "ts": 1, "dur": 0, "args": {"bandwidth": inf, "x": NaN, "y": -Infinity}})");
  ASSERT_EQ(trace.events.size(), 1u);
  EXPECT_EQ(trace.events.find_attribute(0, "bandwidth")->real(), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(*trace.events.find_attribute(0, "x")->real()));
  EXPECT_EQ(trace.events.find_attribute(0, "y")->real(), -std::numeric_limits<double>::infinity());
  EXPECT_FALSE(trace.counts.damage.damaged());
}

TEST(KinetoReader, TakesTheLastOfSeveralDocuments) {
  const std::string first = R"({"distributedInfo": {"rank": 1}, "traceEvents": [
      {"ph": "X", "cat": "odd", "name": "a", "pid": "p", "ts": 1, "dur": 1, "args": {"x": 1}}, {"ph": "B", "ts": 1}]})";
  const std::string second = R"({"traceEvents": [
      {"ph": "X", "cat": "odd", "name": "b", "pid": "q", "ts": 1, "dur": 1, "args": {"y": 1}}]})";
  EXPECT_EQ(error_of([&] { read_kineto(first + second, "t.json"); }).place().byte,
            static_cast<std::int64_t>(first.size()));
  const KinetoTrace trace = read_kineto(first + second, "t.json", {.damage = JsonDamage::kSkip});
  ASSERT_EQ(trace.events.size(), 1u);
  EXPECT_EQ(trace.events.name(0), "b");
  EXPECT_EQ(trace.events.find_attribute(0, "y")->integer(), 1);
  EXPECT_EQ(trace.events.find_attribute(0, "cat")->string(), "odd");
  EXPECT_EQ(trace.rank, std::nullopt);
  EXPECT_EQ(trace.lanes.size(), 1u);
  EXPECT_EQ(trace.counts.other, 0u);
  EXPECT_EQ(trace.counts.damage.dropped_documents, 1u);
}

// Cut at any byte: refused with a byte, or what is there. A row is never half of an event.
TEST(KinetoReader, StandsFilesThatAreCutShort) {
  const std::string text = document(R"(
    {"ph": "X", "cat": "kernel", "name": "first", "pid": 1, "ts": 1.25, "dur": 1, "args": {"x": [1, 2], "y": "\u0041"}},
    {"ph": "X", "cat": "kernel", "name": "second", "pid": 1, "ts": 2, "dur": 1, "args": {"x": [1, 2]}})");
  for (std::size_t size = 0; size < text.size(); ++size) {
    const std::string cut = text.substr(0, size);
    const Error error = error_of([&] { read_kineto(cut, "t.json"); });
    EXPECT_EQ(error.kind(), ErrorKind::kInput) << cut;
    EXPECT_TRUE(error.place().byte) << cut;
    try {
      const KinetoTrace trace = read_kineto(cut, "t.json", {.damage = JsonDamage::kSkip});
      EXPECT_TRUE(trace.counts.damage.damaged()) << cut;
      for (std::size_t row = 0; row < trace.events.size(); ++row) {
        EXPECT_EQ(trace.events.name(row), row == 0 ? "first" : "second");
        EXPECT_EQ(trace.events.attribute_count(row), row == 0 ? 2u : 1u);
      }
    } catch (const Error& none) {
      EXPECT_NE(none.message().find("not a trace of Kineto"), std::string::npos) << cut;
    }
  }
}

TEST(KinetoReader, TellsHowFarItIs) {
  std::string events = R"({"ph": "i", "ts": 1})";
  for (int i = 0; i < 10000; ++i) events += R"(, {"ph": "i", "ts": 1})";
  std::vector<std::uint64_t> bytes;
  read(events, {.progress = [&](std::uint64_t byte) { bytes.push_back(byte); }});
  ASSERT_EQ(bytes.size(), 2u);
  EXPECT_LT(bytes[0], bytes[1]);
  EXPECT_LT(bytes[1], events.size());
}

// Events that began and did not end, lanes that all carry the long name of their process, and plain events.
TEST(KinetoReader, HasALimitOfMemory) {
  std::string begun, lanes, events;
  lanes = R"({"ph": "M", "name": "process_name", "pid": 1, "args": {"name": ")" + std::string(100'000, 'p') +
          R"("}})";
  for (int i = 0; i < 600; ++i) {
    const std::string number = std::to_string(i);
    begun +=
        (i > 0 ? "," : "") + (R"({"ph": "B", "name": "b", "ts": 1, "pid": )" + number + R"(, "tid": 1})");
    lanes += R"(,{"ph": "X", "name": "x", "ts": 1, "dur": 1, "pid": 1, "tid": )" + number + "}";
    events += (i > 0 ? "," : "") + (R"({"ph": "X", "name": "n)" + number + std::string(1000, 'n') +
                                    R"(", "ts": 1, "dur": 1, "pid": 1, "tid": 1})");
  }
  const KinetoReadOptions enough{.memory = MemoryLimit(200_MiB)};
  for (const std::string& text : {begun, lanes, events}) read(text, enough);
  const auto kind_of = [](const std::string& text, Bytes most) {
    return error_of([&] { read(text, {.damage = JsonDamage::kSkip, .memory = MemoryLimit(most)}); }).kind();
  };
  EXPECT_EQ(kind_of(begun, 32_KiB), ErrorKind::kEnvironment);
  EXPECT_EQ(kind_of(events, 128_KiB), ErrorKind::kEnvironment);
  // 600 lanes of 100,000 bytes are 60 MB, of a file of 150 kB.
  const Error error = error_of([&] { read(lanes, {.memory = MemoryLimit(20_MiB)}); });
  EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
  EXPECT_NE(error.message().find("the list of lanes takes 57"), std::string::npos) << error.message();
}

TEST(KinetoReader, NamesAFileThatIsNotThere) {
  EXPECT_EQ(error_of([] { read_kineto("/nowhere/trace.json"); }).kind(), ErrorKind::kInput);
}

TEST(KinetoReader, EventsOfAnyDeviceAreDeviceWork) {
  const KinetoTrace trace = read_kineto(
      R"({"traceEvents": [
        {"ph": "X", "cat": "mtia_ccp_events", "name": "fc", "pid": 9, "tid": 4, "ts": 1, "dur": 2, "args": {}},
        {"ph": "X", "cat": "mtia_ccp_events", "name": "event_wait", "pid": 9, "tid": 4, "ts": 3, "dur": 2, "args": {}},
        {"ph": "X", "cat": "mtia_runtime", "name": "runFunction", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {}},
        {"ph": "X", "cat": "hpu_op", "name": "gemm", "pid": 0, "tid": 1, "ts": 6, "dur": 2, "args": {}},
        {"ph": "X", "cat": "of_tomorrow", "name": "k", "pid": 0, "tid": 1, "ts": 9, "dur": 2,
         "args": {"device": 0, "stream": 3}},
        {"ph": "X", "cat": "cuda_profiler_range", "name": "r", "pid": 0, "tid": 1, "ts": 9, "dur": 2, "args": {}}]})",
      "t.json");
  EXPECT_EQ(trace.category,
            (std::vector{KinetoCategory::kKernel, KinetoCategory::kSync, KinetoCategory::kRuntime,
                         KinetoCategory::kKernel, KinetoCategory::kKernel, KinetoCategory::kOther}));
  EXPECT_EQ(trace.events.find_attribute(0, "cat")->string(), "mtia_ccp_events");
  EXPECT_TRUE(trace.lanes[trace.lane[3]].device);
  EXPECT_EQ(device_of_category("mtia_ccp_events"), "MTIA");
  EXPECT_EQ(device_of_category("cuda_runtime"), "");
}

}  // namespace
}  // namespace nadi::inline traces
