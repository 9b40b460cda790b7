#include "nadi/calibrate/sample_run.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

#include "nadi/base/error.h"
#include "nadi/base/half.h"
#include "nadi/base/random.h"
#include "nadi/calibrate/partners_absent.h"
#include "nadi/comm/plan_groups.h"
#include "nadi/comm/steady_time.h"
#include "nadi/engine/engine.h"
#include "nadi/engine/engine_memory.h"

namespace nadi::inline runs {
namespace {

constexpr std::uint64_t kSampleSeed = 1;

Program program_of(const SampleProgram& sample) {
  SampleProgram constant = sample;
  constant.request.optimizer.learning_rate = {.decay = Decay::kConstant, .peak = 1e-5};
  return build_step(constant.config, constant.request, constant.plan, 0);
}

}  // namespace

class SampleRun::State {
 public:
  State(const SampleProgram& sample, const SampleRun::Options& options)
      : program(program_of(sample)), world(sample.plan.world_size(), Rank{0}), groups(world, sample.plan) {
    engine = make_engine(options.device, {.threads = options.threads,
                                          .groups = sample.plan.world_size() > 1 ? &groups : nullptr,
                                          .math = options.math});
    if (const std::string why = engine->why_no_record(); !why.empty())
      throw environment_error("kernels cannot be timed: " + why);
    handle = engine->load(program);
    engine->bind();
    fill_large_weights(options.device == DeviceKind::kCpu);
    engine->initialize(kSampleSeed);
    set_inputs(sample);
  }

  // Drawing millions of random weights takes longer than a step. A CPU multiplies zeros as fast as other
  // numbers. A GPU does not, since it draws less power with them: there large weights are one random block
  // again and again, and what is no weight is zero by itself.
  void fill_large_weights(bool zeros) {
    constexpr Bytes kBlock = 4_MiB, kLarge = 1_MiB;
    for (const Tensor* variable : engine->variables()) {
      if (variable->size() < kLarge || (!zeros && variable->role != Role::kParameter)) continue;
      const std::int64_t element = size_of(variable->dtype), step = kBlock.count() / element;
      const std::vector<std::byte> block =
          zeros ? std::vector<std::byte>(static_cast<std::size_t>(kBlock.count()))
                : random_weights(variable->dtype, step);
      for (std::int64_t first = 0, all = variable->shape.elements(); first < all; first += step)
        engine->write(
            variable->name, first,
            std::span(block).first(static_cast<std::size_t>(std::min(step, all - first) * element)));
    }
  }

  static std::vector<std::byte> random_weights(DType dtype, std::int64_t count) {
    std::vector<std::byte> block(static_cast<std::size_t>(count * size_of(dtype)));
    const RandomKey key{.seed = kSampleSeed, .site = site_of("weights")};
    for (std::int64_t i = 0; i < count; ++i) {
      // As wide as weights are initialised.
      const float weight = 0.02F * random_normal(key, static_cast<std::uint64_t>(i));
      std::byte* const place = block.data() + i * size_of(dtype);
      if (dtype == DType::kF32) {
        std::memcpy(place, &weight, sizeof weight);
      } else {
        check(dtype == DType::kBF16 || dtype == DType::kF16, "weights are floats of 16 or 32 bits");
        const std::uint16_t narrow = dtype == DType::kBF16 ? to_bf16(weight) : to_f16(weight);
        std::memcpy(place, &narrow, sizeof narrow);
      }
    }
    return block;
  }

  // Random tokens; everything else as a step of training or the first token of a text has it.
  void set_inputs(const SampleProgram& sample) {
    std::set<std::string> done;
    for (const Graph& graph : program.graphs)
      for (const Tensor& tensor : graph.tensors())
        if (tensor.role == Role::kInput && done.insert(tensor.name).second) set_input(tensor, sample);
  }

  void set_input(const Tensor& tensor, const SampleProgram& sample) {
    const std::string& name = tensor.name;
    if (!engine->has_input(handle, name)) return;
    const auto count = static_cast<std::size_t>(tensor.shape.elements());
    const StepRequest& request = sample.request;
    const bool trains = request.kind == StepKind::kTrain;
    const std::int64_t length = trains ? request.seq_length : request.input_tokens;
    if (tensor.dtype == DType::kF32) {
      // token_count; temperature, top-k and top-p of sampling.
      std::vector<float> values(count,
                                name == "token_count" ? static_cast<float>(request.batch_size * length) : 1);
      if (name == "sampling" && count == 3) values[1] = 0;
      engine->set_input<float>(handle, InputSet::kFirst, name, values);
    } else if (tensor.dtype == DType::kI64) {
      engine->set_input<std::int64_t>(handle, InputSet::kFirst, name, std::vector<std::int64_t>(count, 1));
    } else {
      check(tensor.dtype == DType::kI32, "inputs are numbers of 32 or 64 bits");
      std::vector<std::int32_t> values(count, name == "lengths" ? static_cast<std::int32_t>(length) : 0);
      if (name == "input_ids" || name == "targets")
        for (std::size_t i = 0; i < count; ++i)
          values[i] = static_cast<std::int32_t>(random_word({.seed = kSampleSeed, .site = site_of(name)}, i) %
                                                static_cast<std::uint64_t>(sample.config.vocabulary));
      engine->set_input<std::int32_t>(handle, InputSet::kFirst, name, values);
    }
  }

  void run(ExecutedStep* record) {
    // The counters say how far a text is: it starts anew.
    for (const Tensor* variable : engine->variables())
      if (variable->role == Role::kCounter) {
        const std::vector<std::byte> zeros(static_cast<std::size_t>(variable->size().count()), std::byte{0});
        engine->write(variable->name, 0, zeros);
      }
    engine->wait(engine->run(handle, {.record = record}));
  }

  const Program program;
  PartnersAbsent world;
  PlanGroups groups;
  std::unique_ptr<Engine> engine;
  ProgramHandle handle{};
};

Bytes SampleRun::memory_of(const SampleProgram& sample, const Options& options) {
  const Program program = program_of(sample);
  return engine_memory(program, plan_kernels(options.device, program,
                                             {.threads = options.threads, .math = options.math}))
      .total();
}

SampleRun::SampleRun(const SampleProgram& sample, const Options& options)
    : state_(std::make_unique<State>(sample, options)) {}
SampleRun::~SampleRun() = default;

const Program& SampleRun::program() const {
  return state_->program;
}

Nanoseconds SampleRun::run_once() {
  const Nanoseconds begin = steady_time();
  state_->run(nullptr);
  return steady_time() - begin;
}

Nanoseconds SampleRun::run_sustained() {
  // The clocks of an H200 settle within some 100 ms.
  constexpr Nanoseconds kSettling{300'000'000}, kWhole{700'000'000};
  constexpr std::size_t kFewestSteps = 3;
  const auto start = [&] { return state_->engine->run(state_->handle, {}); };
  std::vector<Nanoseconds> times;
  const Nanoseconds begin = steady_time();
  Nanoseconds last = begin;
  Ticket before = start();
  while (last - begin < kWhole || times.size() < kFewestSteps) {
    const Ticket next = start();
    state_->engine->wait(before);
    const Nanoseconds now = steady_time();
    if (last - begin >= kSettling) times.push_back(now - last);
    last = now;
    before = next;
  }
  state_->engine->wait(before);
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

std::vector<ExecutedStep> SampleRun::record(std::int64_t runs) {
  std::vector<ExecutedStep> steps(static_cast<std::size_t>(runs));
  for (std::int64_t i = 0; i < runs; ++i) {
    steps[static_cast<std::size_t>(i)].step = i;
    state_->run(&steps[static_cast<std::size_t>(i)]);
  }
  return steps;
}

}  // namespace nadi::inline runs
