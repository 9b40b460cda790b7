// The table of docs/counting.md that holds our memory and work against published formulas: every figure in it
// is computed here, the published one from its formula, ours from the program and from the closed form that
// the table states.
//
// Letters: b sequences of s tokens, l layers, width h, a heads, vocabulary V, N parameters, t tensor-parallel
// ranks. Memory in 16 bit.

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/model/catalogue.h"
#include "nadi/parallel/program_summary.h"
#include "nadi/parallel/step_program.h"
#include "nadi/testing/source_folder.h"

namespace nadi::inline describe {
namespace {

using enum Recompute::Granularity;

constexpr std::int64_t b = 1, s = 2048, l = 96, h = 12288, a = 96, V = 50257, t = 8;
constexpr std::int64_t sbh = s * b * h;

const ModelConfig& gpt3() {
  return *find_built_in_model("gpt3-175b");
}

// "`x`" and "y" of "| `x` | y |".
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t at = 2; at < line.size();) {
    const std::size_t end = line.find(" |", at);
    if (end == std::string::npos) break;
    cells.push_back(line.substr(at, end - at));
    at = end + 3;
  }
  return cells;
}

// The row that starts with this cell.
std::vector<std::string> documented(const std::string& first_cell) {
  std::ifstream file(source_folder().string() + "/docs/counting.md");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("| " + first_cell + " |")) return cells_of(line);
  ADD_FAILURE() << "docs/counting.md has no row " << first_cell;
  return std::vector<std::string>(4);
}

struct Figures {
  std::string published_formula;
  std::int64_t published = 0;
  std::string our_formula;
  std::int64_t ours = 0;
};

std::string difference(const Figures& figures) {
  if (figures.ours == figures.published) return "none";
  return format("{:+.2f}%", 100.0 * static_cast<double>(figures.ours - figures.published) /
                                static_cast<double>(figures.published));
}

template <typename Unit>
void expect_row(const std::string& first_cell, const Figures& figures) {
  const std::vector<std::string> row = documented(first_cell);
  ASSERT_GE(row.size(), 4u) << first_cell;
  EXPECT_EQ(row[1], figures.published_formula + " = " + to_string(Unit{figures.published})) << first_cell;
  EXPECT_EQ(row[2], figures.our_formula + " = " + to_string(Unit{figures.ours})) << first_cell;
  EXPECT_EQ(row[3], difference(figures)) << first_cell;
}

struct Setting {
  bool sequence_parallel = false;
  bool fused = true;
  Recompute::Granularity recompute = kNone;
};

ProgramSummary summary_of(const Setting& setting, std::int64_t ranks) {
  StepRequest request{
      .batch_size = b, .seq_length = s, .dtype = DType::kBF16, .fused_attention = setting.fused};
  request.recompute.granularity = setting.recompute;
  return summarize(
      build_step(gpt3(), request, {.tp = ranks, .sequence_parallel = setting.sequence_parallel}, 0));
}

TEST(PublishedFormulas, OfWhatABlockKeeps) {
  struct Row {
    std::string flags;
    Setting setting;
    Figures figures;
  };
  const std::int64_t scores = a * s * s * b;
  const std::vector<Row> rows{
      {"`--tp 8 --attention unfused`",
       {.fused = false},
       {"s·b·h·(10 + 24/t) + 5·a·s²·b/t", 10 * sbh + 24 * sbh / t + 5 * scores / t,
        "s·b·h·(8 + 24/t) + 4·a·s²·b/t + 16·s·b", 8 * sbh + 24 * sbh / t + 4 * scores / t + 16 * s * b}},
      {"`--tp 8`",
       {},
       {"s·b·h·(10 + 24/t)", 10 * sbh + 24 * sbh / t, "s·b·h·(8 + 24/t) + (16 + 4·a/t)·s·b",
        8 * sbh + 24 * sbh / t + 16 * s * b + 4 * a * s * b / t}},
      {"`--tp 8 --sequence-parallel --attention unfused`",
       {.sequence_parallel = true, .fused = false},
       {"34·s·b·h/t + 5·a·s²·b/t", 34 * sbh / t + 5 * scores / t, "32·s·b·h/t + 4·a·s²·b/t + 16·s·b/t",
        32 * sbh / t + 4 * scores / t + 16 * s * b / t}},
      {"`--tp 8 --sequence-parallel --attention unfused --recompute selective`",
       {.sequence_parallel = true, .fused = false, .recompute = kSelective},
       {"34·s·b·h/t", 34 * sbh / t, "32·s·b·h/t + 16·s·b/t", 32 * sbh / t + 16 * s * b / t}},
      {"`--tp 8 --sequence-parallel`",
       {.sequence_parallel = true},
       {"34·s·b·h/t", 34 * sbh / t, "32·s·b·h/t + (16 + 4·a)·s·b/t",
        32 * sbh / t + (16 + 4 * a) * s * b / t}},
      {"`--tp 8 --recompute full`", {.recompute = kFull}, {"2·s·b·h", 2 * sbh, "2·s·b·h", 2 * sbh}},
      {"`--tp 8 --sequence-parallel --recompute full`",
       {.sequence_parallel = true, .recompute = kFull},
       {"2·s·b·h/t", 2 * sbh / t, "2·s·b·h/t", 2 * sbh / t}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(summary_of(row.setting, t).memory.kept_per_block.count(), row.figures.ours) << row.flags;
    expect_row<Bytes>(row.flags, row.figures);
  }
}

// Per block and micro-batch, forward and backward together; a gather is given a part, a scatter the whole.
TEST(PublishedFormulas, OfTraffic) {
  const std::int64_t whole = 2 * sbh;
  const Figures figures{"6 all-gathers + 4 reduce-scatters", 6 * whole / t + 4 * whole,
                        "6 all-gathers + 4 reduce-scatters", 6 * whole / t + 4 * whole};
  StepRequest request{.batch_size = b, .seq_length = s, .dtype = DType::kBF16};
  const Plan plan{.tp = t, .sequence_parallel = true};
  ModelConfig fewer = gpt3();
  fewer.layers = l - 1;
  const auto sent = [&](const ModelConfig& config) {
    const Program program = build_step(config, request, plan, 0);
    Bytes bytes;
    for (const Op& op : program.graphs[0].ops()) bytes += cost_of(program.graphs[0], op).sent;
    return bytes;
  };
  EXPECT_EQ((sent(gpt3()) - sent(fewer)).count(), figures.ours);
  expect_row<Bytes>("sent by `--tp 8 --sequence-parallel`", figures);
}

TEST(PublishedFormulas, OfWork) {
  struct Row {
    std::string flags;
    Setting setting;
    Figures figures;
  };
  const std::int64_t linear = s * b * l * h * h, square = s * s * b * l * h, head = s * b * h * V;
  const std::string published = "72·b·s·l·h²·(1 + s/6h + V/12lh)";
  const std::vector<Row> rows{
      {"`--attention unfused`",
       {.fused = false},
       {published, 72 * linear + 12 * square + 6 * head, "72·b·s·l·h²·(1 + s/6h + V/12lh)",
        72 * linear + 12 * square + 6 * head}},
      {"`--attention unfused --recompute full`",
       {.fused = false, .recompute = kFull},
       {"96·b·s·l·h²·(1 + s/6h + V/16lh)", 96 * linear + 16 * square + 6 * head,
        "88·b·s·l·h² + 16·b·s²·l·h + 6·b·s·h·V", 88 * linear + 16 * square + 6 * head}},
      {"(by default: fused)",
       {},
       {published, 72 * linear + 12 * square + 6 * head, "72·b·s·l·h² + 7·b·s·(s+1)·l·h + 6·b·s·h·V",
        72 * linear + 7 * s * (s + 1) * b * l * h + 6 * head}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(summary_of(row.setting, 1).total().cost.matrix.count(), row.figures.ours) << row.flags;
    expect_row<Flops>(row.flags, row.figures);
  }
  // Per token: all parameters are taken to be matrices that are multiplied with.
  const std::int64_t N = summary_of({}, 1).parameters;
  const std::int64_t others =
      s * h + l * 13 * h + 2 * h;  // positions; biases 9 h and norms 4 h; the last norm
  const Figures palm{"6·N + 12·l·h·s", 6 * N + 12 * l * h * s, "6·(N - s·h - 13·l·h - 2·h) + 12·l·h·s",
                     6 * (N - others) + 12 * l * h * s};
  EXPECT_EQ(summary_of({.fused = false}, 1).total().cost.matrix.count(), palm.ours * s * b);
  expect_row<Flops>("a token with `--attention unfused`", palm);
}

}  // namespace
}  // namespace nadi::inline describe
