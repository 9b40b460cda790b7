#include "nadi/parallel/logical_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <utility>

#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/parallel/step_program.h"

namespace nadi::inline describe {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAreArray;

// An element of a whole tensor by the tensor's name and its index; an empty name is padding.
using Element = std::pair<std::string, std::int64_t>;

// The programs of all stages, with several buckets each.
struct Stages {
  Stages(const ModelConfig& config, const Plan& plan, StepRequest request) {
    request.batch_size = plan.micro_batches;
    request.seq_length = 8;
    request.layout.bucket_elements = 100;
    for (std::int64_t stage = 0; stage < plan.pp; ++stage)
      programs.push_back(build_step(config, request, plan, stage));
    for (const Program& program : programs) pointers.push_back(&program);
  }
  std::vector<Program> programs;
  std::vector<const Program*> pointers;
};

struct PlanCase {
  std::string name;
  Plan plan;
  DType dtype = DType::kF32;
  OptimizerKind optimizer = OptimizerKind::kAdamW;
};
void PrintTo(const PlanCase& plan_case, std::ostream* out) {
  *out << plan_case.name;
}

std::vector<PlanCase> plan_cases() {
  using enum OptimizerKind;
  return {
      {"one", {}},
      {"one_bf16", {}, DType::kBF16},
      {"one_fp16_sgd", {}, DType::kF16, kSgd},
      {"dp4", {.dp = 4}},
      {"tp2", {.tp = 2}},
      {"tp4_bf16", {.tp = 4}, DType::kBF16},
      {"cp2", {.cp = 2}},
      {"sequence_parallel", {.tp = 2, .cp = 2, .sequence_parallel = true}},
      {"pp2", {.pp = 2, .micro_batches = 2}},
      {"pp4_uneven", {.pp = 4, .micro_batches = 4, .partition = {2, 0, 1, 1}}},
      {"pp4_empty_ends", {.pp = 4, .micro_batches = 2, .partition = {0, 3, 1, 0}}},
      {"interleaved",
       {.tp = 2, .pp = 2, .schedule = ScheduleKind::kInterleaved, .virtual_stages = 2, .micro_batches = 4}},
      {"dp2_tp2_pp2", {.tp = 2, .dp = 2, .pp = 2, .micro_batches = 2}, DType::kF32, kSgd},
      {"zero1", {.dp = 2, .zero_stage = 1}},
      {"zero1_dp4_tp2_sgd", {.tp = 2, .dp = 4, .zero_stage = 1}, DType::kF32, kSgd},
      {"zero1_dp16_tp4_bf16", {.tp = 4, .dp = 16, .zero_stage = 1}, DType::kBF16},
      {"zero1_cp2_pp2", {.cp = 2, .dp = 2, .pp = 2, .zero_stage = 1, .micro_batches = 2}},
      {"all_at_once_fp16",
       {.tp = 2, .cp = 2, .dp = 2, .pp = 2, .sequence_parallel = true, .zero_stage = 1, .micro_batches = 2},
       DType::kF16},
      {"sgd_sai_dp2_pp2", {.dp = 2, .pp = 2, .micro_batches = 2}, DType::kF32, kSgdSai},
  };
}

class LogicalStateOf : public testing::TestWithParam<std::tuple<Architecture, PlanCase>> {
 protected:
  const ModelConfig config_ = tiny_model(std::get<0>(GetParam()), 4);
  const Plan plan_ = std::get<1>(GetParam()).plan;
  const StepRequest request_{.dtype = std::get<1>(GetParam()).dtype,
                             .optimizer = {.kind = std::get<1>(GetParam()).optimizer}};
  const Stages stages_{config_, plan_, request_};
  const LogicalState state_{config_, plan_, stages_.pointers};
  // The saved variables of the same model on one rank.
  const std::map<std::string, Shape> whole_ = variables(Stages(config_, {}, request_).programs[0]);

  std::vector<Rank> ranks() const {
    std::vector<Rank> all;
    for (std::int64_t r = 0; r < plan_.world_size(); ++r) all.push_back(Rank{static_cast<std::int32_t>(r)});
    return all;
  }

  static bool is_saved(const Tensor& tensor) {
    return tensor.variable && (tensor.role == Role::kParameter || tensor.role == Role::kOptimizerState ||
                               tensor.role == Role::kMetric);
  }

  static std::map<std::string, Shape> variables(const Program& program) {
    std::map<std::string, Shape> shapes;
    for (const Graph& graph : program.graphs)
      for (const Tensor& tensor : graph.tensors())
        if (is_saved(tensor)) shapes[tensor.name] = tensor.shape;
    return shapes;
  }

  PlaceInGroup place_of(Rank rank) const {
    return [this, rank](const std::string& group) -> std::int64_t {
      const std::vector<Rank> members = group_members(plan_, group_named(group), rank);
      return std::ranges::find(members, rank) - members.begin();
    };
  }

  // What a variable consists of, element by element.
  std::vector<Element> elements(const Tensor& tensor, const std::string& name, Rank rank) const {
    const std::int64_t whole = whole_.at(name).elements();
    std::vector<Element> result;
    for (const std::int64_t at : whole_indices(tensor.shape, tensor.shards, place_of(rank)))
      result.push_back(at < whole ? Element{name, at} : Element{});
    return result;
  }

  // Elements of every variable of the rank: a bucket is all of its parameters, padded, of which the rank has a part.
  std::map<std::string, std::vector<Element>> expected_of(Rank rank) const {
    std::map<std::string, std::vector<Element>> result;
    for (const Graph& graph : stages_.programs[coordinates_of(plan_, rank).pp].graphs)
      for (const Tensor& tensor : graph.tensors()) {
        if (!is_saved(tensor) || tensor.shares_memory) continue;
        std::vector<Element>& own = result[tensor.name];
        own.clear();
        if (!tensor.name.starts_with("bucket.")) {
          own = elements(tensor, tensor.name, rank);
          continue;
        }
        const std::size_t dot = tensor.name.rfind('.');
        const Tensor& bucket = graph.tensor(*graph.find_tensor(tensor.name.substr(0, dot)));
        std::vector<Element> all;
        for (const TensorId source : bucket.initializer.sources) {
          const Tensor& parameter = graph.tensor(source);
          for (Element element : elements(parameter, parameter.name, rank)) {
            if (!element.first.empty()) element.first += tensor.name.substr(dot);
            all.push_back(element);
          }
        }
        const std::int64_t part = tensor.shape.elements();
        all.resize(part * group_size(plan_, GroupKind::kData));
        const auto first = all.begin() + place_of(rank)("dp") * part;
        own.assign(first, first + part);
      }
    return result;
  }
};

INSTANTIATE_TEST_SUITE_P(All, LogicalStateOf,
                         testing::Combine(testing::Values(architecture_named("gpt2"),
                                                          architecture_named("bert"),
                                                          architecture_named("llama")),
                                          testing::ValuesIn(plan_cases())),
                         [](const auto& tested) {
                           return std::string(to_string(std::get<0>(tested.param))) + "_" +
                                  std::get<1>(tested.param).name;
                         });

TEST_P(LogicalStateOf, HasTheTensorsOfOneRank) {
  std::map<std::string, Shape> names;
  for (const LogicalTensor& tensor : state_.tensors()) names[tensor.name] = tensor.shape;
  EXPECT_EQ(names, whole_);
  EXPECT_EQ(names.size(), state_.tensors().size());
}

TEST_P(LogicalStateOf, SaysWhereEveryElementIs) {
  for (const Rank rank : ranks()) {
    const auto expected = expected_of(rank);
    std::map<std::string, std::vector<Element>> found;
    for (const auto& [name, own] : expected) found[name].resize(own.size());
    for (const LogicalPiece& piece : state_.held_by(rank)) {
      const LogicalTensor& tensor = state_.tensors()[piece.tensor];
      std::int64_t sum = 0;
      piece.each_run(0, tensor.shape.elements(), [&](const ElementRun& run) {
        ASSERT_GT(run.count, 0);
        for (std::int64_t i = 0; i < run.count; ++i) {
          Element& element = found.at(piece.variable).at(run.local + i);
          EXPECT_EQ(element, Element{}) << "twice";
          element = {tensor.name, run.whole + i};
        }
        sum += run.count;
      });
      EXPECT_EQ(sum, piece.elements());
    }
    ASSERT_EQ(found, expected) << "rank " << to_number(rank);
  }
}

TEST_P(LogicalStateOf, WritesEveryElementOnce) {
  for (std::size_t t = 0; t < state_.tensors().size(); ++t) {
    std::vector<int> written(state_.tensors()[t].shape.elements());
    for (const LogicalWriter& writer : state_.writers(t)) {
      EXPECT_TRUE(writer.piece.writes);
      EXPECT_EQ(writer.piece.tensor, t);
      // In three windows: what each has is together all.
      const auto end = static_cast<std::int64_t>(written.size());
      for (const auto& [from, to] : {std::pair{0L, end / 3}, {end / 3, end / 2}, {end / 2, end}})
        writer.piece.each_run(from, to, [&, low = from, high = to](const ElementRun& run) {
          ASSERT_GE(run.whole, low);
          ASSERT_LE(run.whole + run.count, high);
          for (std::int64_t i = 0; i < run.count; ++i) ++written[run.whole + i];
        });
    }
    EXPECT_EQ(written, std::vector<int>(written.size(), 1)) << state_.tensors()[t].name;
  }
}

// A rank that knows only its own pieces writes what the others expect of it.
TEST_P(LogicalStateOf, WritersAndHoldersAgree) {
  std::vector<std::tuple<int, std::size_t, std::int64_t>> held, written;
  for (const Rank rank : ranks())
    for (const LogicalPiece& piece : state_.held_by(rank))
      if (piece.writes && !piece.blocks.empty())
        held.emplace_back(to_number(rank), piece.tensor, piece.elements());
  for (std::size_t t = 0; t < state_.tensors().size(); ++t)
    for (const LogicalWriter& writer : state_.writers(t))
      written.emplace_back(to_number(writer.rank), t, writer.piece.elements());
  EXPECT_THAT(written, UnorderedElementsAreArray(held));
}

// Queries, keys and values of GPT-2 are packed: [8, 24] for a rank of 2 means 4 columns of each, in 8 rows.
TEST(LogicalState, PiecesAreBlocksOfRuns) {
  const ModelConfig config = tiny_model(architecture_named("gpt2"), 4);
  const Plan plan{.tp = 2};
  const Stages stages(config, plan, {});
  const LogicalState state(config, plan, stages.pointers);
  for (const LogicalPiece& piece : state.held_by(Rank{1})) {
    if (piece.variable != "transformer.h.0.attn.c_attn.weight") continue;
    ASSERT_EQ(piece.blocks.size(), 3u);
    for (std::int64_t b = 0; b < 3; ++b) {
      const ElementBlock& block = piece.blocks[b];
      EXPECT_EQ(block.runs, 8);
      EXPECT_EQ(block.first.count, 4);
      EXPECT_EQ(block.first.local, 4 * b);
      EXPECT_EQ(block.first.whole, 8 * b + 4);
      EXPECT_EQ(block.local_stride, 12);
      EXPECT_EQ(block.whole_stride, 24);
    }
    // Row 1 of the whole is elements 24 to 47; of those from 30 on, rank 1 has 30 and 31 of the queries, 36
    // to 39 of the keys.
    std::vector<std::int64_t> starts, counts;
    piece.each_run(30, 40, [&](const ElementRun& run) {
      starts.push_back(run.whole);
      counts.push_back(run.count);
    });
    EXPECT_THAT(starts, ElementsAre(30, 36));
    EXPECT_THAT(counts, ElementsAre(2, 4));
    EXPECT_EQ(piece.elements(30, 40), 6);
    return;
  }
  FAIL() << "no such variable";
}

// 80 layers of width 8192 over 8 tensor-parallel and 16 data-parallel ranks with ZeRO: what a rank keeps in
// mind of its pieces does not grow with the rows of its matrices.
TEST(LogicalState, TablesOfLargeModelsAreSmall) {
  ModelConfig config{.name = "large",
                     .architecture = architecture_named("llama"),
                     .vocabulary = 128256,
                     .positions = 8192,
                     .layers = 80,
                     .width = 8192,
                     .heads = 64,
                     .kv_heads = 8,
                     .head_width = 128,
                     .ffn_width = 28672};
  config.attention_bias = config.attention_output_bias = config.ffn_bias = config.tied_embeddings = false;
  const Plan plan{.tp = 8, .dp = 16, .pp = 4, .zero_stage = 1, .micro_batches = 4};
  std::vector<Program> programs;
  std::vector<const Program*> pointers;
  programs.reserve(plan.pp);
  for (std::int64_t stage = 0; stage < plan.pp; ++stage) {
    programs.push_back(
        build_step(config, {.batch_size = 4, .seq_length = 4096, .dtype = DType::kBF16}, plan, stage));
    pointers.push_back(&programs.back());
  }
  const LogicalState state(config, plan, pointers);
  std::int64_t elements = 0;
  for (std::size_t t = 0; t < state.tensors().size(); ++t)
    for (const LogicalWriter& writer : state.writers(t)) {
      EXPECT_LE(writer.piece.blocks.size(), 3u);  // a slice: the end of a row, whole ones, the start of one
      if (state.tensors()[t].role == Role::kParameter) elements += writer.piece.elements();
    }
  EXPECT_EQ(elements, 70'553'706'496);  // as Llama 3 70B is known to have
}

}  // namespace
}  // namespace nadi::inline describe
