#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/base/json.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/chakra/chakra_reader.h"
#include "nadi/generate/generator.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/recording/execution.h"
#include "nadi/recording/run_traces.h"

namespace nadi::inline runs {
namespace {

TEST(GenerationTrace, IsThreeFiles) {
  const TemporaryFolder folder;
  Generator generator(generating_model(architecture_named("gpt2")),
                      {.input_tokens = 2, .output_tokens = 3, .threads = 1, .record = true});
  generator.generate(std::vector<std::vector<TokenId>>{{1, 2}, {3}},
                     [](std::size_t, TokenId) { return true; });
  const RunTraceFiles files{
      .kineto = folder / "g_kineto.json", .chakra = folder / "g.0.et", .stacks = folder / "g_stacks.txt"};
  EXPECT_EQ(files.chakra, folder / "g.0.et");
  EXPECT_EQ(files.kineto, folder / "g_kineto.json");
  EXPECT_EQ(files.stacks, folder / "g_stacks.txt");
  refuse_existing(files);
  write_run_traces(files, generator.program(), generator.recorded(),
                   {.name = "g", .metadata = {{"model", "tiny"}}});

  std::size_t calls = 0;
  for (const ExecutedStep& step : generator.recorded()) calls += step.kernels.size();
  const Trace trace = read_chakra(files.chakra);
  ASSERT_EQ(trace.size(), calls);
  for (std::size_t row = 1; row < trace.size(); ++row)
    EXPECT_GE(trace.start(row), trace.start(row - 1) + trace.duration(row - 1));
  EXPECT_GT(trace.start(0), Nanoseconds{0});
  EXPECT_EQ(trace.metadata.attributes.find("model")->text, "tiny");

  const JsonDocument kineto = read_json(files.kineto);
  std::size_t operations = 0;
  for (const JsonValue& event : kineto.root().at("traceEvents").elements()) {
    const auto category = event.find("cat");
    operations += category && category->as_string() == "cpu_op";
  }
  EXPECT_EQ(operations, calls);
  EXPECT_GT(std::filesystem::file_size(files.stacks), 0u);

  for (const std::filesystem::path& path : {files.chakra, files.kineto}) std::filesystem::remove(path);
  EXPECT_THROW(refuse_existing(files), Error);
  EXPECT_THROW(write_run_traces(files, generator.program(), generator.recorded(), {}), Error);
  EXPECT_FALSE(std::filesystem::exists(files.chakra)) << "all or nothing";
  write_run_traces(files, generator.program(), generator.recorded(), {.overwrite = Overwrite::kAllow});
  EXPECT_TRUE(std::filesystem::exists(files.chakra));
}

}  // namespace
}  // namespace nadi::inline runs
