#include "nadi/tune/metric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline tuning {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Metric, TextsNameSourceAndName) {
  EXPECT_EQ(metric_of_text("loss: ([0-9.]+)").source, MetricSource::kPattern);
  EXPECT_EQ(metric_of_text("loss=([0-9.]+)").text, "loss=([0-9.]+)") << "a pattern with '=', no name";
  EXPECT_EQ(metric_of_text("loss=pattern:l=([0-9.]+)").name, "loss");
  EXPECT_EQ(metric_of_text("loss=pattern:l=([0-9.]+)").text, "l=([0-9.]+)");
  EXPECT_EQ(metric_of_text("json:a.b").source, MetricSource::kJson);
  EXPECT_EQ(metric_of_text("l=json:x.json#a.b").file, "x.json");
  EXPECT_EQ(metric_of_text("runtime").name, "runtime");
  for (const char* text :
       {"loss=pattern:l=([0-9.]+)", "a=json:b.c", "a=json:f#b", "t=runtime", "c=exit-code"})
    EXPECT_EQ(metric_text(metric_of_text(text)), text);
  EXPECT_THROW(metric_of_text("loss: [0-9.]+"), Error) << "no group";
  EXPECT_THROW(metric_of_text("loss: ([0-9"), Error);
  EXPECT_THROW(metric_of_text("json:"), Error);
}

TEST(Metric, FiguresBecomeOne) {
  const std::vector<double> figures{4, 1, 2, 2};
  EXPECT_EQ(reduced(MetricReduction::kLast, figures), 2);
  EXPECT_EQ(reduced(MetricReduction::kMean, figures), 2.25);
  EXPECT_EQ(reduced(MetricReduction::kMedian, figures), 2);
  EXPECT_EQ(reduced(MetricReduction::kMedian, std::vector<double>{1, 2, 4, 9}), 3);
  // 4 / (1/4 + 1 + 1/2 + 1/2) = 4 / 2.25
  EXPECT_THAT(reduced(MetricReduction::kHarmonicMean, figures), DoubleEq(4 / 2.25));
  EXPECT_EQ(reduced(MetricReduction::kLeast, figures), 1);
  EXPECT_EQ(reduced(MetricReduction::kGreatest, figures), 4);
  EXPECT_THROW(reduced(MetricReduction::kHarmonicMean, std::vector<double>{1, 0}), Error);
}

TEST(Metric, AFigureThatIsNoNumberLeavesTheLastAloneKnown) {
  for (const ReductionEntry& entry : metric_reductions())
    EXPECT_EQ(std::isnan(reduced(entry.reduction, std::vector<double>{1, std::nan(""), 2, 3})),
              entry.reduction != MetricReduction::kLast)
        << entry.name;
}

MetricResult read_lines(const MetricSpec& metric, const std::vector<std::string>& lines,
                        const TrialFacts& facts = {}) {
  MetricReader reader({&metric, 1});
  for (const std::string& line : lines) reader.on_line(line);
  return reader.result(facts);
}

TEST(Metric, PatternsAndWarmUp) {
  MetricSpec metric = metric_of_text("loss: ([0-9.naef-]+)");
  EXPECT_THAT(read_lines(metric, {"loss: 3", "x", "loss: 2e-1 ok"}).values, ElementsAre(0.2));
  metric.reduction = MetricReduction::kMean;
  metric.warmup = 1;
  EXPECT_THAT(read_lines(metric, {"loss: 9", "loss: 3", "loss: 1"}).values, ElementsAre(2));
  EXPECT_EQ(read_lines(metric, {"loss: 9"}).missing,
            "no metric: the output has 1 figures, and the warm-up takes 1");
  EXPECT_EQ(read_lines(metric, {"lost: 9"}).missing,
            "no metric: no line of the output matches 'loss: ([0-9.naef-]+)'");
  EXPECT_EQ(read_lines(metric, {"loss: 9", "loss: nan"}).missing,
            "no metric: what was printed is no finite number");
}

TEST(Metric, IntermediateValuesAreWhatTheMetricWouldBe) {
  MetricSpec metric = metric_of_text("v ([0-9]+)");
  metric.reduction = MetricReduction::kMean;
  metric.warmup = 1;
  MetricReader reader({&metric, 1});
  reader.on_line("v 100");
  EXPECT_TRUE(reader.take_intermediate().empty()) << "warm-up";
  reader.on_line("v 2");
  reader.on_line("v 4");
  const auto fresh = reader.take_intermediate();
  ASSERT_EQ(fresh.size(), 2u);
  EXPECT_EQ(fresh[0].step, 1);
  EXPECT_EQ(fresh[0].value, 2);
  EXPECT_EQ(fresh[1].step, 2);
  EXPECT_EQ(fresh[1].value, 3);
  EXPECT_TRUE(reader.take_intermediate().empty());
}

TEST(Metric, ALossThatIsNoNumberIsAnIntermediateValue) {
  const MetricSpec metric = metric_of_text("loss: ([0-9.a-z]+)");
  MetricReader reader({&metric, 1});
  reader.on_line("loss: 2");
  reader.on_line("loss: nan");
  const auto fresh = reader.take_intermediate();
  ASSERT_EQ(fresh.size(), 2u);
  EXPECT_EQ(fresh[1].step, 2);
  EXPECT_TRUE(std::isnan(fresh[1].value)) << "pruners end such a trial";
}

TEST(Metric, JsonInLinesInTheWholeOutputAndInFiles) {
  const MetricSpec metric = metric_of_text("json:train.loss");
  EXPECT_THAT(read_lines(metric, {R"({"train": {"loss": 3}})", "{", R"({"train": {"loss": 2.5}})"}).values,
              ElementsAre(2.5));
  EXPECT_THAT(read_lines(metric, {"{", "  \"train\": {", "    \"loss\": 4", "  }", "}"}).values,
              ElementsAre(4));
  EXPECT_THAT(read_lines(metric_of_text("json:losses.-1"), {R"({"losses": [5, 6, 7]})"}).values,
              ElementsAre(7));
  EXPECT_THAT(read_lines(metric, {"{}"}).missing, HasSubstr("no JSON with the number 'train.loss'"));
  const TemporaryFolder folder;
  write_text(folder.path() / "out.json", R"({"a": {"b": 1.5}})");
  const MetricSpec file = metric_of_text("json:{{folder}}/out.json#a.b");
  EXPECT_THAT(read_lines(file, {}, {.folder = folder.path()}).values, ElementsAre(1.5));
  EXPECT_THAT(read_lines(metric_of_text("json:{{folder}}/no.json#a"), {}, {.folder = folder.path()}).missing,
              HasSubstr("no.json"));
  EXPECT_THAT(read_lines(metric_of_text("json:{{folder}}/out.json#c"), {}, {.folder = folder.path()}).missing,
              HasSubstr("c"));
}

TEST(Metric, JsonIsReadFromTheStandardOutputAlone) {
  const MetricSpec metric = metric_of_text("json:loss");
  MetricReader reader({&metric, 1});
  reader.on_line("{");
  reader.on_line("step 1", true);
  reader.on_line("  \"loss\": 2}");
  EXPECT_THAT(reader.result({}).values, ElementsAre(2));
}

TEST(Metric, TimeAndExitCode) {
  const std::vector<MetricSpec> metrics{metric_of_text("runtime"), metric_of_text("exit-code")};
  const MetricReader reader(metrics);
  EXPECT_THAT(reader.result({.exit_code = 3, .seconds = 1.5}).values, ElementsAre(1.5, 3));
}

TEST(Metric, LongLinesAreSearchedInPartAndCounted) {
  const MetricSpec metric = metric_of_text("v ([0-9]+)");
  MetricReader reader({&metric, 1});
  reader.on_line(std::string(60'000, 'x') + "v 3");
  EXPECT_EQ(reader.cut_lines(), 1);
  EXPECT_TRUE(reader.result({}).values.empty());
}

}  // namespace
}  // namespace nadi::inline tuning
