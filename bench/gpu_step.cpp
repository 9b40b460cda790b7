// One training step, or one token, on a GPU, on random tokens: what bench/gpu.sh measures beside PyTorch.
//   gpu_step MODEL BATCH TOKENS [--dtype bf16|fp16|fp32] [--dropout] [--deterministic] [--tf32]
//   [--per-kernel] [--traced]
//   gpu_step decode MODEL PROMPT TOKENS [--dtype ...] [--per-kernel]
// MODEL: a built-in one, bert-base, llama-1b or llama-8b-4l. Prints one line of JSON: ms is the median of the
// steps after half a second of load, the steps following one another without a pause; launch_ms how long the
// call that launches one takes, which may wait until the driver has room for more kernels; host_ms how long
// it takes when the device is idle, and host_cpu_ms how much of a processor it takes then. With --per-kernel
// also where the time of one recorded step went. With
// --traced also what recording costs: steps alone, each waited for, with and without it.

#include <ctime>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpu_models.h"
#include "nadi/base/error.h"
#include "nadi/base/random.h"
#include "nadi/devices/make_engine.h"
#include "nadi/engine/engine.h"
#include "nadi/engine/engine_memory.h"
#include "nadi/parallel/step_program.h"
#include "nadi/recording/executed_step.h"

namespace nadi {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Time of a processor, spent by the calling thread.
double processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

ModelConfig model_named(const std::string& name) {
  const std::optional<ModelConfig> found = gpu_bench_model(name);
  if (!found) {
    std::fprintf(stderr, "no model '%s'\n", name.c_str());
    std::exit(2);
  }
  return *found;
}

struct Options {
  DType dtype = DType::kBF16;
  bool dropout = false, per_kernel = false, traced = false;
  DeviceKind device = DeviceKind::kCuda;
  MathOptions math = {};
};

Options options_of(int argc, char** argv, int first) {
  Options options;
  for (int i = first; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--dropout") options.dropout = true;
    if (flag == "--per-kernel") options.per_kernel = true;
    if (flag == "--traced") options.traced = true;
    if (flag == "--deterministic") options.math.deterministic = true;
    if (flag == "--tf32") options.math.tf32 = true;
    if (flag == "--cpu") options.device = DeviceKind::kCpu;
    if (flag == "--dtype" && i + 1 < argc) {
      const std::string dtype = argv[++i];
      options.dtype = dtype == "fp32" ? DType::kF32 : dtype == "fp16" ? DType::kF16 : DType::kBF16;
    }
  }
  return options;
}

std::vector<std::int32_t> random_tokens(std::uint64_t seed, std::int64_t count, std::int64_t vocabulary) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    tokens[static_cast<std::size_t>(i)] =
        static_cast<std::int32_t>(random_word({.seed = seed}, static_cast<std::uint64_t>(i)) % vocabulary);
  return tokens;
}

void print_kernels(const Program& program, const ExecutedStep& step) {
  struct Sum {
    double us = 0;
    int count = 0;
  };
  std::map<std::string, Sum> ops, work;
  for (const ExecutedKernel& kernel : step.kernels) {
    Sum& sum = ops[kernel_name(program, step, kernel)];
    sum.us += static_cast<double>((kernel.end - kernel.start).count()) * 1e-3;
    ++sum.count;
  }
  for (const DeviceWork& item : step.device_work) {
    std::string name = step.work_names[item.name].substr(0, 90);
    if (item.kind != DeviceWork::Kind::kKernel && item.kernel != DeviceWork::kNoKernel)
      name += " in " + kernel_name(program, step, step.kernels[item.kernel]);
    Sum& sum = work[name];
    sum.us += static_cast<double>((item.end - item.start).count()) * 1e-3;
    ++sum.count;
  }
  const auto print = [](const std::map<std::string, Sum>& sums, std::size_t most) {
    std::vector<std::pair<std::string, Sum>> sorted(sums.begin(), sums.end());
    std::ranges::sort(sorted, [](const auto& a, const auto& b) { return a.second.us > b.second.us; });
    for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i)
      std::printf("  %9.1f us %5d  %s\n", sorted[i].second.us, sorted[i].second.count,
                  sorted[i].first.c_str());
  };
  // A run that is not the first of its step has no start.
  const Nanoseconds start = step.start.count() != 0 ? step.start : step.kernels.front().start;
  std::printf("recorded step: %.3f ms\n", static_cast<double>((step.end - start).count()) * 1e-6);
  print(ops, 30);
  print(work, 40);
}

// Steps alone, each waited for: how long they take without a record and with one, and of each record when the
// device began, how long it was at work, and how long its kernels and gaps took together.
void print_cost_of_tracing(Engine& engine, ProgramHandle loaded, InputSet inputs) {
  constexpr int kSteps = 9;
  const auto milliseconds = [](Nanoseconds time) { return static_cast<double>(time.count()) * 1e-6; };
  std::vector<double> alone, recorded;
  for (int i = 0; i < kSteps; ++i) {
    const double start = now();
    engine.wait(engine.run(loaded, {.inputs = inputs}));
    alone.push_back((now() - start) * 1e3);
  }
  std::printf("%6s %9s %9s %9s %9s %9s %8s %9s\n", "record", "step", "first", "work", "busy", "span", "works",
              "launches");
  std::size_t works = 0;
  for (int i = 0; i < kSteps; ++i) {
    ExecutedStep step;
    engine.wait(engine.run(loaded, {.inputs = inputs, .record = &step}));
    std::vector<DeviceWork> work = step.device_work;
    work.insert(work.end(), step.work_besides.begin(), step.work_besides.end());
    std::ranges::sort(work, {}, &DeviceWork::start);
    Nanoseconds sum = {}, busy = {}, until = work.front().start;
    for (const DeviceWork& item : work) {
      sum = sum + (item.end - item.start);
      if (item.end > until) busy = busy + (item.end - std::max(until, item.start));
      until = std::max(until, item.end);
    }
    Nanoseconds launching = {};
    for (const HostLaunch& launch : step.launches) launching = launching + (launch.end - launch.start);
    std::printf("%6d %9.4f %9.4f %9.4f %9.4f %9.4f %8zu %9.4f\n", i, milliseconds(step.end - step.start),
                milliseconds(work.front().start - step.start), milliseconds(sum), milliseconds(busy),
                milliseconds(until - work.front().start), work.size(), milliseconds(launching));
    // The first is run kernel by kernel or captured, the second launched for the first time.
    if (i >= 2) recorded.push_back(milliseconds(step.end - step.start));
    works = work.size();
  }
  std::printf("{\"alone_ms\": %.4f, \"recorded_ms\": %.4f, \"works\": %zu, \"us_per_work\": %.3f}\n",
              median(alone), median(recorded), works,
              (median(recorded) - median(alone)) * 1e3 / static_cast<double>(works));
}

int train(int argc, char** argv) {
  const std::string name = argv[1];
  const std::int64_t batch = std::atoi(argv[2]), tokens = std::atoi(argv[3]);
  const Options options = options_of(argc, argv, 4);
  ModelConfig config = model_named(name);
  if (!options.dropout) config.embedding_dropout = config.attention_dropout = config.residual_dropout = 0;
  const Program program = build_step(
      config,
      {.batch_size = batch,
       .seq_length = tokens,
       .dtype = options.dtype,
       .optimizer = {.learning_rate = {.decay = Decay::kConstant, .peak = 1e-4}, .max_grad_norm = 0}});
  const std::unique_ptr<Engine> engine = make_engine(options.device, {.math = options.math});
  const ProgramHandle loaded = engine->load(program);
  engine->bind();
  engine->initialize(1);
  const auto set = [&](const char* input, const auto& values) {
    using T = typename std::remove_cvref_t<decltype(values)>::value_type;
    if (!engine->has_input(loaded, input)) return;
    for (const InputSet inputs : {InputSet::kFirst, InputSet::kSecond})
      engine->set_input<T>(loaded, inputs, input, values);
  };
  set("input_ids", random_tokens(1, batch * tokens, config.vocabulary));
  set("targets", random_tokens(2, batch * tokens, config.vocabulary));
  set("token_type_ids", std::vector<std::int32_t>(static_cast<std::size_t>(batch * tokens), 0));
  set("lengths",
      std::vector<std::int32_t>(static_cast<std::size_t>(batch), static_cast<std::int32_t>(tokens)));
  set("token_count", std::vector<float>{static_cast<float>(batch * tokens)});
  set("schedule_advance", std::vector<std::int64_t>{1});
  set("random", std::vector<std::int64_t>{1, 1, 0});

  std::vector<double> times, launches, processor;
  InputSet inputs = InputSet::kFirst;
  const auto launch = [&] {
    const double start = now(), used = processor_time();
    const Ticket ticket = engine->run(loaded, {.inputs = inputs});
    launches.push_back(now() - start);
    processor.push_back(processor_time() - used);
    inputs = other(inputs);
    return ticket;
  };
  Ticket before{};
  for (int i = 0; i < 6; ++i) {
    before = launch();
    std::fprintf(stderr, "loss %d: %.6f\n", i, engine->scalar(before, "loss"));
  }
  launches.clear();
  processor.clear();
  const double start = now();
  double last = start;
  before = launch();
  while (now() - start < 2 || times.size() < 5) {
    const Ticket next = launch();
    engine->wait(before);
    const double time = now();
    if (time - start > 0.5) times.push_back(time - last);
    last = time;
    before = next;
  }
  const double loss = engine->scalar(before, "loss");
  const double launch_ms = median(launches) * 1e3;
  launches.clear();
  processor.clear();
  for (int i = 0; i < 7; ++i) engine->wait(launch());
  const double ms = median(times) * 1e3;
  const EngineMemory memory =
      engine_memory(program, plan_kernels(options.device, program, {.math = options.math}));
  std::int64_t parameters = 0;
  for (const Tensor* tensor : engine->variables())
    if (tensor->role == Role::kParameter) parameters += tensor->shape.elements();
  std::printf(
      "{\"model\": \"%s\", \"batch\": %ld, \"tokens\": %ld, \"ms\": %.3f, \"launch_ms\": %.4f, "
      "\"host_ms\": %.4f, \"host_cpu_ms\": %.4f, \"steps\": %zu, \"tokens_per_s\": %.0f, \"mfu\": %.4f, "
      "\"loss\": %.4f, "
      "\"allocated_gb\": %.3f, "
      "\"predicted_gb\": %.3f}\n",
      name.c_str(), batch, tokens, ms, launch_ms, median(launches) * 1e3, median(processor) * 1e3,
      times.size(), static_cast<double>(batch * tokens) / ms * 1e3,
      6.0 * static_cast<double>(parameters * batch * tokens) / ms * 1e3 / 989e12, loss,
      static_cast<double>(engine->allocated().count()) / 1e9,
      static_cast<double>(memory.total().count()) / 1e9);
  std::fflush(stdout);
  if (options.traced) print_cost_of_tracing(*engine, loaded, inputs);
  if (options.per_kernel) {
    ExecutedStep warm, step;
    engine->wait(engine->run(loaded, {.inputs = inputs, .record = &warm}));
    engine->wait(engine->run(loaded, {.inputs = inputs, .record = &step}));
    print_kernels(program, step);
  }
  return 0;
}

int decode(int argc, char** argv) {
  const std::string name = argv[2];
  const std::int64_t prompt = std::atoi(argv[3]), tokens = std::atoi(argv[4]);
  const Options options = options_of(argc, argv, 5);
  const ModelConfig config = model_named(name);
  const Program program = build_step(config, {.kind = StepKind::kGenerate,
                                              .batch_size = 1,
                                              .input_tokens = prompt,
                                              .output_tokens = tokens,
                                              .dtype = options.dtype});
  const std::unique_ptr<Engine> engine = make_engine(options.device, {.math = options.math});
  const ProgramHandle loaded = engine->load(program);
  engine->bind();
  engine->initialize(1);
  engine->set_input<std::int32_t>(loaded, InputSet::kFirst, "input_ids",
                                  random_tokens(1, prompt, config.vocabulary));
  engine->set_input<std::int32_t>(loaded, InputSet::kFirst, "lengths",
                                  std::vector<std::int32_t>{static_cast<std::int32_t>(prompt)});
  std::vector<double> times, processor;
  std::uint64_t sum = 0;
  ExecutedStep step;
  double begin = 0, end = 0;
  for (int round = 0; round < 3; ++round) {
    Ticket before{};
    double last = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(tokens); ++i) {
      const double used = processor_time();
      const Ticket ticket = engine->run(loaded, {.inputs = InputSet::kFirst, .first = i, .end = i + 1});
      processor.push_back(processor_time() - used);
      if (i > 0) sum = sum * 31 + static_cast<std::uint64_t>(engine->scalar(before, "next_token"));
      if (i == 4) begin = now();
      const double time = now();
      if (i > 4 && round > 0) times.push_back(time - last);
      last = time;
      before = ticket;
    }
    engine->wait(before);
    end = now();
  }
  std::printf(
      "{\"model\": \"%s\", \"prompt\": %ld, \"tokens\": %ld, \"ms_per_token\": %.4f, \"mean\": %.4f, "
      "\"host_ms\": %.4f, \"check\": %llu}\n",
      name.c_str(), prompt, tokens, median(times) * 1e3,
      (end - begin) * 1e3 / static_cast<double>(tokens - 4), median(processor) * 1e3,
      static_cast<unsigned long long>(sum));
  std::fflush(stdout);
  if (options.per_kernel) {
    for (std::size_t i = 0; i < 6; ++i) {
      step = {};
      engine->wait(
          engine->run(loaded, {.inputs = InputSet::kFirst, .first = i, .end = i + 1, .record = &step}));
    }
    print_kernels(program, step);
  }
  return 0;
}

int run(int argc, char** argv) {
  if (argc >= 5 && std::strcmp(argv[1], "decode") == 0) return decode(argc, argv);
  if (argc >= 4) return train(argc, argv);
  std::fprintf(stderr, "usage: gpu_step MODEL BATCH TOKENS [flags] | decode MODEL PROMPT TOKENS [flags]\n");
  return 2;
}

}  // namespace
}  // namespace nadi

int main(int argc, char** argv) {
  try {
    return nadi::run(argc, argv);
  } catch (const nadi::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 4;
  }
}
