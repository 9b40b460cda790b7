// Whole steps of tiny models on the CPU engine against the reference engine: loss, gradients and updated
// parameters, in every precision and with every way of computing the same step; what is recorded of a run
// against the dry trace; fp16's loss scale when gradients overflow.

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <new>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/base/half.h"
#include "nadi/cpu/cpu_engine.h"
#include "nadi/engine/element.h"
#include "nadi/engine/variable_values_for_tests.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/parallel/program_summary.h"
#include "nadi/parallel/step_program.h"
#include "nadi/recording/execution.h"
#include "nadi/reference/run_reference.h"
#include "random_integers.h"

namespace {

// Counts what is allocated through C++ while somebody asks for it.
std::atomic<bool> counting{false};
std::atomic<std::int64_t> allocations{0};

void* allocate(std::size_t size) {
  if (counting) ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) {
  return allocate(size);
}
void* operator new[](std::size_t size) {
  return allocate(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace nadi {
namespace {

constexpr std::int64_t kBatch = 4, kTokens = 7;

Program program_of(const ModelConfig& config, StepRequest request, std::int64_t micro_batches) {
  request.optimizer.learning_rate = {.decay = Decay::kConstant, .peak = 0.01};
  return build_step(config, request, {.micro_batches = micro_batches});
}

// The same program, variables and data on both engines.
class Job {
 public:
  Job(const ModelConfig& config, const StepRequest& request, int threads, std::int64_t micro_batches = 1)
      : program_(program_of(config, request, micro_batches)),
        micro_batches_(micro_batches),
        own_engine_(EngineOptions{.threads = threads}) {
    use(own_engine_, config);
  }
  Job(const ModelConfig& config, const StepRequest& request, CpuEngine& engine)
      : program_(program_of(config, request, 1)),
        micro_batches_(1),
        own_engine_(EngineOptions{.threads = 1}) {
    use(engine, config);
  }

  void step(std::int64_t number, ExecutedStep* record = nullptr) {
    std::vector<ReferenceSlot> slots(micro_batches_);
    std::vector<ReferenceStore> inputs(micro_batches_);
    for (std::int64_t m = 0; m < micro_batches_; ++m) set_micro_batch(m, number, inputs[m]);
    for (const Instruction& instruction : program_.instructions) {
      const Section& section = program_.section(instruction.section);
      ReferenceTask task{.graph = &program_.graph_of(section),
                         .ops = {section.first_op, section.end_op},
                         .inputs = &inputs[instruction.micro_batch]};
      if (section.graph == 0) task.slot = &slots[instruction.micro_batch];
      run_reference(task, store_);
    }
    ticket_ = engine_->run(loaded_, {.record = record});
  }

  // On the CPU engine alone, with the inputs that it has.
  void run_again(ExecutedStep* record) { ticket_ = engine_->run(loaded_, {.record = record}); }

  double scalar(const char* name) { return engine_->scalar(ticket_, name); }
  double loss() { return scalar("loss"); }
  double reference_loss() const { return store_.get("loss").front(); }

  // |x - reference| over all variables of the role, relative to |reference| over all of them.
  double difference(Role role) const {
    double error = 0, norm = 0;
    for (const Tensor* tensor : engine_->variables()) {
      if (tensor->role != role) continue;
      const std::vector<float> values = values_of(*engine_, *tensor);
      const Doubles& expected = store_.get(tensor->name);
      for (std::size_t i = 0; i < values.size(); ++i) {
        error += (values[i] - expected[i]) * (values[i] - expected[i]);
        norm += expected[i] * expected[i];
      }
    }
    return std::sqrt(error / norm);
  }

  const Program& program() const { return program_; }
  CpuEngine& engine() { return *engine_; }
  ReferenceStore& store() { return store_; }

 private:
  void use(CpuEngine& engine, const ModelConfig& config) {
    engine_ = &engine;
    loaded_ = engine.load(program_);
    engine.bind();
    engine.initialize(1);
    for (const Graph& graph : program_.graphs) initialize(graph, store_, 1);
    const std::int64_t tokens = kBatch * kTokens;
    ids_ = random_integers("ids", tokens, config.vocabulary);
    types_ = random_integers("types", tokens, 2);
    targets_ = random_integers("targets", tokens, config.vocabulary);
    targets_[3] = targets_[8] = -100;
    const std::vector<float> count{static_cast<float>(tokens - 2)};
    const std::vector<std::int64_t> advance{1};
    engine.set_input<float>(loaded_, InputSet::kFirst, "token_count", count);
    engine.set_input<std::int64_t>(loaded_, InputSet::kFirst, "schedule_advance", advance);
    store_.set("token_count", {static_cast<double>(tokens - 2)});
    store_.set("schedule_advance", {1});
  }

  template <class T>
  void set(const char* name, const Doubles& values, std::int64_t m, ReferenceStore& inputs) {
    inputs.set(name, values);
    const std::vector<T> typed(values.begin(), values.end());
    if (engine_->has_input(loaded_, name)) engine_->set_input<T>(loaded_, InputSet::kFirst, name, typed, m);
  }

  void set_micro_batch(std::int64_t m, std::int64_t step, ReferenceStore& inputs) {
    const std::int64_t sequences = kBatch / micro_batches_;
    const auto part = [&](const Doubles& all, std::int64_t each) {
      const auto first = all.begin() + m * sequences * each;
      return Doubles(first, first + sequences * each);
    };
    set<std::int32_t>("input_ids", part(ids_, kTokens), m, inputs);
    set<std::int32_t>("token_type_ids", part(types_, kTokens), m, inputs);
    set<std::int32_t>("targets", part(targets_, kTokens), m, inputs);
    set<std::int32_t>("lengths", part({7, 3, 1, 5}, 1), m, inputs);
    set<std::int64_t>("random", {42, static_cast<double>(step), static_cast<double>(m * sequences)}, m,
                      inputs);
  }

  Program program_;
  std::int64_t micro_batches_;
  CpuEngine own_engine_;
  CpuEngine* engine_ = nullptr;
  ProgramHandle loaded_{};
  Ticket ticket_{};
  ReferenceStore store_;
  Doubles ids_, types_, targets_;
};

StepRequest request(StepRequest changed = {}) {
  changed.batch_size = kBatch;
  changed.seq_length = kTokens;
  return changed;
}

class CpuStep : public testing::TestWithParam<Architecture> {};
INSTANTIATE_TEST_SUITE_P(All, CpuStep,
                         testing::Values(architecture_named("gpt2"), architecture_named("bert"),
                                         architecture_named("llama"), architecture_named("mistral"),
                                         architecture_named("qwen2"), architecture_named("qwen3"),
                                         architecture_named("mixtral"), architecture_named("qwen2_moe"),
                                         architecture_named("qwen3_moe")),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

// Dropout is on: the engines draw the same numbers.
TEST_P(CpuStep, EqualsTheReference) {
  struct Variant {
    const char* name;
    StepRequest request;
    std::int64_t micro_batches = 1;
  };
  const std::vector<Variant> variants{
      {"plain", {}},
      {"micro-batches", {}, 2},
      {"unfused", {.fused_attention = false}},
      {"recompute", {.recompute = {.granularity = Recompute::Granularity::kFull}}},
      {"selective",
       {.fused_attention = false, .recompute = {.granularity = Recompute::Granularity::kSelective}}},
      {"adam", {.optimizer = {.kind = OptimizerKind::kAdam}}},
      {"sgd", {.optimizer = {.kind = OptimizerKind::kSgd}}},
  };
  for (const Variant& variant : variants)
    for (const int threads : {1, 2}) {
      SCOPED_TRACE(std::string(variant.name) + ", threads " + std::to_string(threads));
      Job job(tiny_model(GetParam(), 2), request(variant.request), threads, variant.micro_batches);
      for (int number = 1; number <= 3; ++number) {
        job.step(number);
        EXPECT_NEAR(job.loss() / job.reference_loss(), 1, 1e-5);
        EXPECT_LE(job.difference(Role::kGradient), 1e-5);
        // Adam divides by the size of gradients: those that are 0 but for rounding (of key biases) become
        // steps of full length in any direction.
        const bool adaptive = variant.request.optimizer.kind != OptimizerKind::kSgd;
        EXPECT_LE(job.difference(Role::kParameter), adaptive ? 2e-3 : 1e-5);
      }
    }
}

// The reference rounds nothing, so what differs is the rounding of weights and activations: 2^-9 in bf16,
// 2^-12 in fp16, some twenty times on the way through two layers. A router that rounds may choose another expert
// for a token whose scores are nearly the same, which is no small difference.
TEST_P(CpuStep, RoundsInLowPrecision) {
  const bool routes = tiny_model(GetParam(), 2).experts > 0;
  for (const auto& [dtype, tolerance] :
       {std::pair{DType::kBF16, routes ? 0.2 : 0.05}, {DType::kF16, 0.006}}) {
    SCOPED_TRACE(std::string(to_string(dtype)));
    Job job(tiny_model(GetParam(), 2), request({.dtype = dtype}), 2);
    job.step(1);
    EXPECT_NEAR(job.loss() / job.reference_loss(), 1, tolerance);
    EXPECT_LE(job.difference(Role::kGradient), tolerance);
    EXPECT_GT(job.difference(Role::kGradient), tolerance / 1000);  // something was rounded
  }
}

TEST_P(CpuStep, RepeatsToTheBit) {
  std::optional<std::vector<std::vector<std::byte>>> first;
  for (int repeat = 0; repeat < 2; ++repeat) {
    Job job(tiny_model(GetParam(), 2), request(), 2);
    job.step(1);
    job.step(2);
    std::vector<std::vector<std::byte>> all;
    for (const Tensor* tensor : job.engine().variables()) all.push_back(bytes_of(job.engine(), *tensor));
    if (first) {
      EXPECT_EQ(all, *first);
    }
    first = std::move(all);
  }
}

TEST_P(CpuStep, RecordsWhatTheDryTraceSays) {
  for (const std::int64_t micro_batches : {1, 2}) {
    Job job(tiny_model(GetParam(), 2), request(), 1, micro_batches);
    ExecutedStep record{.step = 1};
    job.step(1, &record);
    const ExecutionTrace executed = trace_execution(job.program(), std::span(&record, 1));
    EXPECT_EQ(executed.dropped_dependencies, 0);
    const auto difference = compare_with_dry_trace(executed.trace, trace_step(job.program()));
    EXPECT_FALSE(difference.has_value()) << *difference;
  }
}

// An engine that forgets one kernel, the first that begins at an op or behind it: the comparison must see it.
class ForgetfulEngine : public CpuEngine {
 public:
  explicit ForgetfulEngine(std::size_t from) : CpuEngine(EngineOptions{.threads = 1}), from_(from) {}

 protected:
  void run_kernel(const KernelCallSite& call) override {
    if (!forgot_ && call.graph == 0 && call.planned().first_op >= from_) {
      forgot_ = true;
      return;
    }
    CpuEngine::run_kernel(call);
  }

 private:
  std::size_t from_;
  bool forgot_ = false;
};

TEST_P(CpuStep, ComparisonWithTheDryTraceSeesAForgottenOp) {
  const std::size_t middle = build_step(tiny_model(GetParam(), 2), request()).graphs[0].ops().size() / 3;
  ForgetfulEngine engine(middle);
  Job job(tiny_model(GetParam(), 2), request(), engine);
  ExecutedStep record{.step = 1};
  job.step(1, &record);
  const ExecutionTrace executed = trace_execution(job.program(), std::span(&record, 1));
  EXPECT_TRUE(compare_with_dry_trace(executed.trace, trace_step(job.program())).has_value());
}

TEST_P(CpuStep, AllocatesNothingWhileItRuns) {
  for (const bool fused : {true, false}) {
    Job job(tiny_model(GetParam(), 2), request({.fused_attention = fused}), 2, 2);
    job.step(1);
    ExecutedStep record{.step = 2};
    record.reserve(10'000, 20'000);
    allocations = 0;
    counting = true;
    job.run_again(&record);
    counting = false;
    EXPECT_EQ(allocations, 0);
    EXPECT_GT(record.kernels.size(), 100u);
  }
}

// What the engine takes is what the summary says, and the workspace of its kernels.
TEST_P(CpuStep, TakesTheMemoryThatWasPredicted) {
  Job job(tiny_model(GetParam(), 2), request(), 1);
  const Bytes predicted = summarize(job.program()).memory.total();
  EXPECT_GE(job.engine().allocated(), predicted);
  // Each of some 200 small tensors is rounded up to a cache line; the workspace of a tiny model is small.
  EXPECT_LE(job.engine().allocated(), predicted + 1_MiB);
}

// An infinite weight makes gradients overflow: the step is skipped and the loss scale halved, and the next
// one, without it, is done.
TEST_P(CpuStep, SkipsAStepThatOverflowsInFp16) {
  Job job(tiny_model(GetParam(), 2), request({.dtype = DType::kF16}), 1);
  CpuEngine& engine = job.engine();
  EXPECT_EQ(engine.read_all<float>("loss_scale").front(), 65536);
  std::string weight;
  for (const Tensor* tensor : engine.variables())
    if (tensor->role == Role::kParameter && tensor->shape.rank() == 2) weight = tensor->name;
  const std::vector<std::uint16_t> before = engine.read_all<std::uint16_t>(weight);
  std::vector<std::uint16_t> infinite = before;
  infinite[0] = to_f16(INFINITY);
  engine.write_all<std::uint16_t>(weight, infinite);
  std::vector<std::vector<float>> parameters;
  for (const Tensor* tensor : engine.variables())
    if (tensor->role == Role::kParameter) parameters.push_back(values_of(engine, *tensor));
  job.step(1);
  EXPECT_FALSE(std::isfinite(job.scalar("grad_norm")));
  EXPECT_EQ(job.scalar("loss_scale"), 32768);
  std::size_t i = 0;
  for (const Tensor* tensor : engine.variables())
    if (tensor->role == Role::kParameter) {
      EXPECT_EQ(values_of(engine, *tensor), parameters[i++]) << tensor->name << " changed in a skipped step";
    }
  engine.write_all<std::uint16_t>(weight, before);
  job.step(1);
  EXPECT_TRUE(std::isfinite(job.scalar("grad_norm")));
  EXPECT_EQ(job.scalar("loss_scale"), 32768);
}

TEST(CpuEngine, RefusesFp8) {
  const Program program =
      build_step(tiny_model(architecture_named("llama"), 1), request({.dtype = DType::kBF16, .fp8 = true}));
  CpuEngine engine({.threads = 1});
  try {
    engine.load(program);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_NE(error.message().find("the CPU does not compute in fp8"), std::string::npos) << error.message();
  }
}

// Masters keep what weights were before they were rounded, unless weights were loaded.
TEST(CpuEngine, MastersStartBeforeTheRounding) {
  const Program program =
      build_step(tiny_model(architecture_named("gpt2"), 1), request({.dtype = DType::kBF16}));
  const auto master_of = [&](bool load) {
    CpuEngine engine({.threads = 1});
    engine.load(program);
    engine.bind();
    const std::string name = "transformer.wte.weight";
    const std::vector<std::uint16_t> three{to_bf16(3)};
    if (load) engine.write_all<std::uint16_t>(name, three);
    engine.initialize(1);
    return engine.read_all<float>(name + ".master")[0];
  };
  EXPECT_EQ(master_of(true), 3);
  const float fresh = master_of(false);
  EXPECT_NE(fresh, from_bf16(to_bf16(fresh)));
}

}  // namespace
}  // namespace nadi
