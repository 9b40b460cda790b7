#include "nadi/run/sharded_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <bit>
#include <csignal>
#include <cstring>
#include <deque>
#include <ostream>

#include "nadi/base/random.h"
#include "nadi/checkpoint/checkpoint_folder.h"
#include "nadi/checkpoint/files_for_tests.h"
#include "nadi/checkpoint/training_state.h"
#include "nadi/comm/plan_groups.h"
#include "nadi/comm/thread_world_for_tests.h"
#include "nadi/cpu/cpu_engine.h"
#include "nadi/data/byte_tokenizer_for_tests.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/parallel/stage_programs.h"
#include "nadi/parallel/step_program.h"

namespace nadi::inline runs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace fs = std::filesystem;

constexpr std::int64_t kVocabulary = 261;  // divides over no group
const TrainingState kNumbers{.step = 7, .dtype = "f32", .optimizer = "adamw", .schedule = "linear"};

ModelConfig model_of_test(Architecture architecture) {
  ModelConfig config = tiny_model(architecture, 4);
  config.vocabulary = kVocabulary;
  return config;
}

// A table of 30,001 words, 7.7 MB: two windows.
ModelConfig large_words() {
  ModelConfig config = model_of_test(architecture_named("llama"));
  config.layers = 2;
  config.vocabulary = 30'001;
  config.width = 64;
  config.head_width = 16;
  return config;
}

// The value of an element of a whole tensor: any bits that are a number of its type.
float value_of(const std::string& tensor, std::int64_t element) {
  return random_normal({.seed = 3, .site = site_of(tensor)}, static_cast<std::uint64_t>(element));
}

std::vector<std::byte> bytes_of(const std::vector<float>& values, DType dtype) {
  std::vector<std::byte> bytes;
  for (const float value : values) {
    const auto bits = std::bit_cast<std::array<std::byte, 4>>(value);
    // The upper half is a bf16; any bits are an fp16.
    bytes.insert(bytes.end(), bits.begin() + (dtype == DType::kF32 ? 0 : 2), bits.end());
  }
  return bytes;
}

// The engines of all ranks of a plan, filled by rules of their own: whole_indices() for parts, and buckets
// element by element.
class Job {
 public:
  Job(const ModelConfig& config, StepRequest request, const Plan& plan)
      : config_(config), plan_(plan), request_(request), world_(plan.world_size()) {
    request_.batch_size = plan.micro_batches;
    request_.seq_length = 8;
    request_.layout.bucket_elements = 1000;  // several per stage
    programs_ = std::make_unique<StagePrograms>(config, request_, plan);
    for (std::int64_t r = 0; r < plan.world_size(); ++r) {
      groups_.emplace_back(world_.rank(r), plan);
      engines_.emplace_back(
          EngineOptions{.threads = 1, .groups = plan.world_size() > 1 ? &groups_.back() : nullptr});
      engines_.back().load(programs_->of(coordinates_of(plan, world_.rank(r).rank()).pp));
      engines_.back().bind();
      states_.emplace_back(engines_.back(), world_.rank(r), *programs_);
    }
  }

  // All ranks call body(state) at once; what each ended with.
  template <class Body>
  std::vector<std::optional<Error>> run(const Body& body) {
    return world_.run([&](Communicator& rank) { body(states_[to_number(rank.rank())]); });
  }

  template <class Body>
  void run_well(const Body& body) {
    for (const auto& error : run(body)) EXPECT_FALSE(error) << error->what();
  }

  void save(const fs::path& path) {
    const ByteTokenizer tokenizer = ByteTokenizer::gpt2();
    run_well([&](ShardedState& state) { state.save_checkpoint(path, &tokenizer, kNumbers); });
  }

  void load(const fs::path& path) {
    run_well([&](ShardedState& state) {
      EXPECT_THAT(state.load_weights(path), IsEmpty());
      state.load_training_tensors(path);
    });
    for (CpuEngine& engine : engines_) engine.initialize(9);  // has nothing left to do
  }

  // Gives every saved variable its part of the whole; padding is zero.
  void fill() {
    for_each_variable([](CpuEngine& engine, const Tensor& tensor, const std::vector<std::byte>& right) {
      engine.write(tensor.name, 0, right);
    });
  }

  // How many elements are not what fill() would make them.
  std::int64_t wrong() {
    std::int64_t count = 0;
    for_each_variable([&](CpuEngine& engine, const Tensor& tensor, const std::vector<std::byte>& right) {
      std::vector<std::byte> held(right.size());
      engine.read(tensor.name, 0, held);
      const auto size = static_cast<std::size_t>(size_of(tensor.dtype));
      for (std::size_t at = 0; at < right.size(); at += size)
        count += std::memcmp(right.data() + at, held.data() + at, size) != 0;
    });
    return count;
  }

  CpuEngine& engine(std::int64_t rank) { return engines_[rank]; }
  ThreadWorld& world() { return world_; }

 private:
  template <class Visit>
  void for_each_variable(const Visit& visit) {
    for (std::int64_t r = 0; r < plan_.world_size(); ++r)
      for (const Tensor* variable : engines_[r].variables()) {
        const Tensor& tensor = *variable;
        const bool saved = tensor.role == Role::kParameter || tensor.role == Role::kOptimizerState ||
                           tensor.role == Role::kMetric;
        if (!saved || tensor.shares_memory) continue;
        const std::vector<float> values =
            tensor.name.starts_with("bucket.") ? bucket_values(r, tensor) : values_of(r, tensor, tensor.name);
        ASSERT_EQ(static_cast<std::int64_t>(values.size()), tensor.shape.elements());
        visit(engines_[r], tensor, bytes_of(values, tensor.dtype));
      }
  }

  PlaceInGroup place_of(std::int64_t rank) const {
    return [&groups = groups_[rank]](const std::string& group) { return groups.place(group); };
  }

  std::vector<float> values_of(std::int64_t rank, const Tensor& tensor, const std::string& name) const {
    // Only the vocabulary is padded: tables of words, their state, and BERT's bias of the output.
    const Shape whole = whole_shape(tensor.shape, tensor.shards);
    const bool padded = whole.rank() > 0 && whole[0] > kVocabulary && !tensor.shards.empty();
    std::vector<float> values;
    for (const std::int64_t at : whole_indices(tensor.shape, tensor.shards, place_of(rank)))
      values.push_back(padded && at / whole.elements(1, whole.rank()) >= kVocabulary ? 0
                                                                                     : value_of(name, at));
    return values;
  }

  std::vector<float> bucket_values(std::int64_t rank, const Tensor& tensor) const {
    const std::size_t dot = tensor.name.rfind('.');
    const Program& program = programs_->of(coordinates_of(plan_, Rank{static_cast<std::int32_t>(rank)}).pp);
    const Graph& graph = program.graphs[plan_.virtual_stages];  // that of buckets and optimizer
    const Tensor& bucket = graph.tensor(*graph.find_tensor(tensor.name.substr(0, dot)));
    std::vector<float> all;
    for (const TensorId source : bucket.initializer.sources) {
      const Tensor& parameter = graph.tensor(source);
      const auto values = values_of(rank, parameter, parameter.name + tensor.name.substr(dot));
      all.insert(all.end(), values.begin(), values.end());
    }
    const std::int64_t part = tensor.shape.elements();
    all.resize(part * group_size(plan_, GroupKind::kData));
    const auto first = all.begin() + place_of(rank)("dp") * part;
    return {first, first + part};
  }

  ModelConfig config_;
  Plan plan_;
  StepRequest request_;
  ThreadWorld world_;
  std::unique_ptr<StagePrograms> programs_;
  std::deque<PlanGroups> groups_;
  std::deque<CpuEngine> engines_;
  std::deque<ShardedState> states_;
};

struct NamedPlan {
  std::string name;
  Plan plan;
};

const std::vector<NamedPlan> kPlans{
    {"one_again", {}},
    {"tp2", {.tp = 2}},
    {"pp2", {.pp = 2, .micro_batches = 2}},
    {"tp2_pp2", {.tp = 2, .pp = 2, .micro_batches = 2}},
    {"tp4_sequence_parallel", {.tp = 4, .sequence_parallel = true}},
    {"pp4", {.pp = 4, .micro_batches = 4}},
    {"dp2", {.dp = 2}},
    {"dp2_zero1", {.dp = 2, .zero_stage = 1}},
    {"dp2_tp2_zero1", {.tp = 2, .dp = 2, .zero_stage = 1}},
    {"cp2_dp2_pp2_zero1", {.cp = 2, .dp = 2, .pp = 2, .zero_stage = 1, .micro_batches = 2}},
    {"interleaved",
     {.pp = 2, .schedule = ScheduleKind::kInterleaved, .virtual_stages = 2, .micro_batches = 4}},
};

struct Numbers {
  std::string name;
  Architecture architecture;
  DType dtype;
  OptimizerKind optimizer = OptimizerKind::kAdamW;
};
void PrintTo(const Numbers& numbers, std::ostream* out) {
  *out << numbers.name;
}

const std::vector<Numbers> kNumberKinds{
    {"gpt2_fp32", architecture_named("gpt2"), DType::kF32},
    {"gpt2_bf16_sgd", architecture_named("gpt2"), DType::kBF16, OptimizerKind::kSgd},
    {"bert_fp16", architecture_named("bert"), DType::kF16},
    {"llama_bf16", architecture_named("llama"), DType::kBF16},
    {"qwen2_bf16", architecture_named("qwen2"), DType::kBF16},
};

class ShardedStateTest : public FolderTest {};

class ShardedStateOf : public FolderTest, public testing::WithParamInterface<Numbers> {};
INSTANTIATE_TEST_SUITE_P(All, ShardedStateOf, testing::ValuesIn(kNumberKinds),
                         [](const auto& tested) { return tested.param.name; });

// Both directions, against one rank: so every pair of plans.
TEST_P(ShardedStateOf, IsOneCheckpointForAllPlans) {
  const ModelConfig config = model_of_test(GetParam().architecture);
  const StepRequest request{.dtype = GetParam().dtype, .optimizer = {.kind = GetParam().optimizer}};
  Job one(config, request, {});
  one.fill();
  one.save(folder_ / "one");
  for (const auto& [name, plan] : kPlans) {
    SCOPED_TRACE(name);
    Job loaded(config, request, plan);
    loaded.load(folder_ / "one");
    EXPECT_EQ(loaded.wrong(), 0);

    Job saved(config, request, plan);
    saved.fill();
    saved.save(folder_ / name);
    for (const char* file : {"config.json", "model.safetensors", kTrainingTensorsFile, kTrainingStateFile})
      EXPECT_TRUE(read_text(folder_ / name / file) == read_text(folder_ / "one" / file)) << file;
    EXPECT_EQ(entries(folder_ / name), entries(folder_ / "one"));
  }
  EXPECT_EQ(entries(folder_), 1 + static_cast<std::ptrdiff_t>(kPlans.size()));  // nothing hidden is left
}

TEST_F(ShardedStateTest, LargeTensorsComeInSeveralWindows) {
  const ModelConfig config = large_words();
  Job one(config, {}, {});
  one.engine(0).initialize(1);
  one.save(folder_ / "one");
  Job split(config, {}, {.tp = 2, .dp = 2, .zero_stage = 1});
  split.load(folder_ / "one");
  split.save(folder_ / "split");
  for (const char* name : {"model.safetensors", kTrainingTensorsFile})
    EXPECT_TRUE(read_text(folder_ / "split" / name) == read_text(folder_ / "one" / name)) << name;
}

TEST_F(ShardedStateTest, AModelAloneHasNoTrainingState) {
  Job split(model_of_test(architecture_named("gpt2")), {}, {.tp = 2});
  split.fill();
  split.run_well([&](ShardedState& state) { state.save_model(folder_ / "best", nullptr); });
  EXPECT_EQ(entries(folder_ / "best"), 3);  // config.json, the weights, checksums: no tokenizer
  EXPECT_THAT(read_text(folder_ / "best" / "config.json"), Not(HasSubstr("eos_token_id")));
  Job one(model_of_test(architecture_named("gpt2")), {}, {});
  one.run_well([&](ShardedState& state) { state.load_weights(folder_ / "best"); });
}

// Weights alone: masters of bf16 parameters are made of them, on whatever part a rank has.
TEST_F(ShardedStateTest, MastersFollowFromWeights) {
  const ModelConfig config = model_of_test(architecture_named("gpt2"));
  Job saved(config, {.dtype = DType::kBF16}, {});
  saved.fill();
  saved.save(folder_ / "saved");
  const auto started = [&](const Plan& plan, const std::string& name) {
    Job job(config, {.dtype = DType::kBF16}, plan);
    job.run_well([&](ShardedState& state) { state.load_weights(folder_ / "saved"); });
    for (std::int64_t r = 0; r < plan.world_size(); ++r) job.engine(r).initialize(1);
    job.save(folder_ / name);
    return read_text(folder_ / name / kTrainingTensorsFile);
  };
  EXPECT_TRUE(started({}, "one") == started({.tp = 2, .dp = 2, .zero_stage = 1}, "zero1"));
}

// The folder cannot be made, or its disk becomes full while the others send: all ranks hear of it, none
// hangs, and the ranks can go on to save elsewhere.
TEST_F(ShardedStateTest, AFailureOfRank0IsOneOfAllRanks) {
  Job split(model_of_test(architecture_named("gpt2")), {}, {.tp = 2, .dp = 2, .zero_stage = 1});
  split.fill();
  write_text(folder_ / "file", "not a folder");
  const fs::path impossible = folder_ / "file" / "checkpoint-7";
  const auto errors =
      split.run([&](ShardedState& state) { state.save_checkpoint(impossible, nullptr, kNumbers); });
  for (const auto& error : errors) {
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::kEnvironment);
    EXPECT_STREQ(error->what(), errors[0]->what());
    EXPECT_EQ(error->hint(), errors[0]->hint());
    EXPECT_THAT(error->what(), HasSubstr((folder_ / "file").string()));
  }
  split.save(folder_ / "elsewhere");
  Job one(model_of_test(architecture_named("gpt2")), {}, {});
  one.load(folder_ / "elsewhere");
  EXPECT_EQ(one.wrong(), 0);
}

TEST_F(ShardedStateTest, AFullDiskIsAnErrorOfAllRanks) {
  Job split(large_words(), {}, {.tp = 2, .pp = 2, .micro_batches = 2});
  for (std::int64_t r = 0; r < 4; ++r) split.engine(r).initialize(1);
  // No file may grow beyond a mebibyte: what stands for a full disk, in the middle of the first tensor.
  struct rlimit old_limit {};
  getrlimit(RLIMIT_FSIZE, &old_limit);
  const struct rlimit one_mebibyte { 1 << 20, old_limit.rlim_max };
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &one_mebibyte);
  const auto errors = split.run(
      [&](ShardedState& state) { state.save_checkpoint(folder_ / "checkpoint-7", nullptr, kNumbers); });
  setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  for (const auto& error : errors) {
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::kEnvironment);
    EXPECT_THAT(error->what(), HasSubstr("model.safetensors"));
  }
  EXPECT_EQ(entries(folder_), 0);
  split.save(folder_ / "checkpoint-7");
  EXPECT_EQ(find_checkpoints(folder_).checkpoints.size(), 1u);
}

TEST_F(ShardedStateTest, AllRanksNameWhatIsMissing) {
  ModelConfig config = model_of_test(architecture_named("gpt2"));
  Job saved(config, {}, {.tp = 2});
  saved.fill();
  saved.save(folder_ / "four");
  config.layers = 5;
  // The fifth layer is on the second stage only.
  Job deeper(config, {}, {.pp = 2, .micro_batches = 2});
  auto errors = deeper.run([&](ShardedState& state) { state.load_weights(folder_ / "four"); });
  for (const auto& error : errors) {
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::kInput);
    EXPECT_EQ(error->place().file, (folder_ / "four" / "model.safetensors").string());
    EXPECT_EQ(error->message(), "tensor 'transformer.h.4.ln_1.weight' is missing");
  }
  errors = deeper.run([&](ShardedState& state) { state.load_training_tensors(folder_ / "four"); });
  for (const auto& error : errors) {
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message(), AllOf(HasSubstr("tensor 'transformer.h.4."), HasSubstr(".m' is missing")));
  }
}

TEST_F(ShardedStateTest, ShapesAreThoseWithoutPadding) {
  ModelConfig config = model_of_test(architecture_named("gpt2"));
  Job saved(config, {}, {.tp = 2});  // with 262 words
  saved.fill();
  saved.save(folder_ / "saved");
  config.vocabulary = 262;
  Job larger(config, {}, {.tp = 2});
  auto errors = larger.run([&](ShardedState& state) { state.load_weights(folder_ / "saved"); });
  for (const auto& error : errors) {
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message(),
                HasSubstr("the vocabulary has 261 entries in the file and 262 in the model"));
  }
  errors = larger.run([&](ShardedState& state) { state.load_training_tensors(folder_ / "saved"); });
  for (const auto& error : errors) {
    ASSERT_TRUE(error);
    EXPECT_THAT(error->what(),
                AllOf(HasSubstr(kTrainingTensorsFile),
                      HasSubstr("'transformer.wte.weight.m' is F32 [261, 8] in the file and F32 [262, 8]")));
  }
}

TEST_F(ShardedStateTest, StateOfAnotherOptimizerIsRefused) {
  const ModelConfig config = model_of_test(architecture_named("gpt2"));
  Job saved(config, {}, {.dp = 2, .zero_stage = 1});
  saved.fill();
  saved.save(folder_ / "adamw");
  Job sgd(config, {.optimizer = {.kind = OptimizerKind::kSgd}}, {.dp = 2, .zero_stage = 1});
  for (const auto& error :
       sgd.run([&](ShardedState& state) { state.load_training_tensors(folder_ / "adamw"); })) {
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::kInput);
    EXPECT_THAT(error->what(), AllOf(HasSubstr(kTrainingTensorsFile), HasSubstr(".momentum' is missing")));
  }
}

TEST_F(ShardedStateTest, ACutFileIsDamaged) {
  const ModelConfig config = model_of_test(architecture_named("gpt2"));
  Job split(config, {}, {.tp = 2});
  split.fill();
  split.save(folder_ / "cut");
  const fs::path file = folder_ / "cut" / kTrainingTensorsFile;
  fs::resize_file(file, fs::file_size(file) - 100);
  for (const auto& error :
       split.run([&](ShardedState& state) { state.load_training_tensors(folder_ / "cut"); })) {
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::kInput);
    EXPECT_EQ(error->place().file, file.string());
  }
}

}  // namespace
}  // namespace nadi::inline runs
