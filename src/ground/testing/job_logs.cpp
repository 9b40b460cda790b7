#include "nadi/testing/job_logs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include "nadi/base/format.h"
#include "nadi/base/random.h"

namespace nadi::inline ground {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kStartSecond = 1656633600;  // 2022-07-01 00:00:00 UTC
constexpr std::int64_t kMicroseconds = 1'000'000;
constexpr std::int64_t kListedIterations = 10;  // whose calls a list has
constexpr double kPassShare = 0.8;              // of an iteration: forward and backward with their waits

double as_printed(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string date_text(std::int64_t second) {
  const std::time_t time = second;
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return {text.data(), size};
}

// A file that counts its bytes. One without a path takes nothing.
class CountedFile {
 public:
  CountedFile() = default;
  explicit CountedFile(const fs::path& path) : file_(path, std::ios::binary | std::ios::trunc) {
    if (!file_) throw std::runtime_error("cannot write " + path.string());
  }

  // With its newline.
  void line(std::string_view text) {
    buffer_ += text;
    buffer_ += '\n';
    bytes_ += text.size() + 1;
    if (buffer_.size() >= kBlock) flush();
  }

  std::uint64_t bytes() const { return bytes_; }

  void close() {
    flush();
    if (!file_.is_open()) return;
    file_.close();
    if (!file_) throw std::runtime_error("a file of a job could not be written whole");
  }

 private:
  static constexpr std::size_t kBlock = std::size_t{1} << 20;

  void flush() {
    if (file_.is_open()) file_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

  std::ofstream file_;
  std::string buffer_;
  std::uint64_t bytes_ = 0;
};

struct Pass {
  std::int64_t start = 0, end = 0;  // microseconds within the iteration
};

struct StagePasses {
  std::vector<Pass> forward, backward;  // by micro-batch
};

// One forward, one backward: stage s does p - 1 - s forward passes first. An op starts when its stage is free
// and the neighbour's op of the micro-batch has ended; messages take no time.
std::vector<StagePasses> one_forward_one_backward(std::int64_t stages, std::int64_t batches, Pass lengths) {
  struct Task {
    bool backward;
    std::int64_t batch;
  };
  std::vector<std::vector<Task>> orders(stages);
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    const std::int64_t ahead = std::min(stages - 1 - stage, batches);
    for (std::int64_t batch = 0; batch < ahead; ++batch) orders[stage].push_back({false, batch});
    for (std::int64_t batch = ahead; batch < batches; ++batch) {
      orders[stage].push_back({false, batch});
      orders[stage].push_back({true, batch - ahead});
    }
    for (std::int64_t batch = batches - ahead; batch < batches; ++batch)
      orders[stage].push_back({true, batch});
  }
  std::vector<StagePasses> passes(stages, {std::vector<Pass>(batches), std::vector<Pass>(batches)});
  std::vector<std::size_t> next(stages, 0);
  std::vector<std::int64_t> free(stages, 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::int64_t stage = 0; stage < stages; ++stage)
      while (next[stage] < orders[stage].size()) {
        const auto [backward, batch] = orders[stage][next[stage]];
        std::int64_t ready = 0;
        if (backward && stage + 1 < stages) {
          ready = passes[stage + 1].backward[batch].end;
          if (ready == 0) break;
        }
        if (!backward && stage > 0) {
          ready = passes[stage - 1].forward[batch].end;
          if (ready == 0) break;
        }
        Pass& pass = (backward ? passes[stage].backward : passes[stage].forward)[batch];
        pass.start = std::max(free[stage], ready);
        pass.end = pass.start + (backward ? lengths.end : lengths.start);
        free[stage] = pass.end;
        ++next[stage];
        moved = true;
      }
  }
  return passes;
}

struct TimerModel {
  std::string_view name;
  double share;  // of an iteration; 0 means from the pipeline
};
constexpr TimerModel kTimers[] = {
    {"forward-backward", kPassShare},
    {"forward-compute", 0},
    {"backward-compute", 0},
    {"batch-generator", 0.004},
    {"forward-recv", 0.03},
    {"forward-send", 0.01},
    {"backward-recv", 0.04},
    {"backward-send", 0.012},
    {"all-grads-sync", 0.09},
    {"params-all-gather", 0.02},
    {"optimizer-copy-to-main-grad", 0.004},
    {"optimizer-unscale-and-check-inf", 0.005},
    {"optimizer-clip-main-grad", 0.007},
    {"optimizer-inner-step", 0.04},
    {"optimizer-copy-main-to-model-params", 0.004},
    {"optimizer", 0.062},
};

constexpr std::string_view kWarnings[] = {
    "/opt/conda/lib/python3.8/site-packages/torch/distributed/launch.py:178: FutureWarning: The module "
    "torch.distributed.launch is deprecated",
    "/opt/conda/lib/python3.8/site-packages/torch/nn/parallel/distributed.py:{0}: UserWarning: "
    "find_unused_parameters "
    "was set in DistributedDataParallel",
    "WARNING:torch.distributed.run:Setting OMP_NUM_THREADS environment variable for each process to be 1 in "
    "default",
    "[W socket.cpp:{0}] [c10d] The client socket has failed to connect to [n060]:6000 (errno: 97 - Address "
    "family not "
    "supported by protocol).",
};

class JobLogsWriter {
 public:
  JobLogsWriter(const fs::path& parent, const JobLogsSpec& spec) : spec_(spec) {
    job_.ranks = spec.nodes * spec.gpus;
    if (spec.nodes < 1 || spec.gpus < 1 || spec.tensor < 1 || spec.pipeline < 1 ||
        job_.ranks % (spec.tensor * spec.pipeline) != 0 || spec.nodes_of_second_job >= spec.nodes)
      throw std::invalid_argument("a job whose ranks do not divide");
    job_.data = job_.ranks / (spec.tensor * spec.pipeline);
    job_.global_batch = job_.data * spec.micro_batch * spec.micro_batches;
    job_.iteration_node = spec.nodes - 1;
    job_.folders.push_back(parent / format("{}", spec.job));
    if (spec.nodes_of_second_job > 0) job_.folders.push_back(parent / format("{}", spec.job + 1));
    for (const fs::path& folder : job_.folders) fs::create_directories(folder);
    for (std::int64_t node = 0; node < spec.nodes; ++node) {
      const fs::path& folder =
          node >= spec.nodes - spec.nodes_of_second_job ? job_.folders.back() : job_.folders[0];
      const std::string name = format("n{:03}", spec.first_node + node);
      job_.nodes.push_back(
          {.name = name,
           .out = folder / (name + ".out"),
           .err = folder / (name + ".err"),
           .gpu = folder / (name + ".gpu"),
           .missing = std::ranges::find(spec.missing_nodes, node) != spec.missing_nodes.end()});
    }
  }

  WrittenJob write() {
    for (std::int64_t node = 0; node < spec_.nodes; ++node) {
      write_out(node);
      write_err(node);
      write_gpu(node);
    }
    return std::move(job_);
  }

 private:
  double random(std::string_view site, std::uint64_t index) const {
    return random_uniform_double({.seed = spec_.seed, .step = 0, .site = site_of(site)}, index);
  }
  // 1 - spread ... 1 + spread
  double around_one(std::string_view site, std::uint64_t index, double spread) const {
    return 1 + spread * (2 * random(site, index) - 1);
  }

  CountedFile open(std::int64_t node, const fs::path& path) const {
    return job_.nodes[node].missing ? CountedFile() : CountedFile(path);
  }

  // A line that may be cut off within. `least` characters stay, so that it still starts as it did.
  WrittenPlace line(CountedFile& file, std::int64_t node, std::string_view text, std::size_t least = 4,
                    std::size_t enough = std::string_view::npos) {
    const std::uint64_t number = ++lines_;
    const bool cut =
        spec_.cut_lines > 0 && random("cut", number) < spec_.cut_lines && text.size() > least + 1;
    if (cut) {
      const double at = random("cut at", number) * static_cast<double>(text.size() - least - 1);
      text = text.substr(0, least + static_cast<std::size_t>(at));
    }
    file.line(text);
    return {.node = node, .end = file.bytes(), .cut = cut && text.size() < enough};
  }

  bool kept(std::int64_t node) const { return spec_.keep_items && !job_.nodes[node].missing; }

  void setting(CountedFile& file, std::int64_t node, std::string_view name, const std::string& value) {
    file.line(format("{}: {}", name, value));
    if (kept(node)) job_.settings.push_back({{.node = node, .end = file.bytes()}, std::string(name), value});
  }

  void argument(CountedFile& file, std::int64_t node, std::string_view name, const std::string& value) {
    file.line(format("  {:.<48} {}", std::string(name) + " ", value));
    if (kept(node)) job_.settings.push_back({{.node = node, .end = file.bytes()}, std::string(name), value});
  }

  void write_settings(CountedFile& file, std::int64_t node) {
    const std::int64_t batch = job_.global_batch * (node == spec_.other_settings_node ? 2 : 1);
    setting(file, node, "NODE_RANK", format("{}", node));
    setting(file, node, "MASTER_ADDR", job_.nodes[0].name);
    setting(file, node, "NNODES", format("{}", spec_.nodes));
    setting(file, node, "WORLD_SIZE", format("{}", job_.ranks));
    setting(file, node, "GLOBAL_BATCH_SIZE", format("{}", batch));
    setting(file, node, "MICRO_BATCH_SIZE", format("{}", spec_.micro_batch));
    setting(file, node, "TENSOR_MP_SIZE", format("{}", spec_.tensor));
    setting(file, node, "DP_SIZE", format("{}", job_.data));
    setting(file, node, "PIPELINE_MP_SIZE", format("{}", spec_.pipeline));
    setting(file, node, "PARTITION", spec_.gpu.find("A100") != std::string::npos ? "gpu2" : "gpu4");
    setting(file, node, "MODEL", spec_.model);
    setting(file, node, "HIDDEN_SIZE", format("{}", spec_.hidden));
    setting(file, node, "NUM_LAYERS", format("{}", spec_.layers));
    setting(file, node, "PROFILE", spec_.profile ? "true" : "false");
  }

  // Written by the first rank.
  void write_arguments(CountedFile& file, std::int64_t node) {
    const std::int64_t micro = spec_.micro_batch * (spec_.other_micro_batch_in_effect ? 2 : 1);
    file.line(
        format("using world size: {}, data-parallel-size: {}, tensor-model-parallel size: {}, "
               "pipeline-model-parallel size: {} ",
               job_.ranks, job_.data, spec_.tensor, spec_.pipeline));
    file.line("------------------------ arguments ------------------------");
    argument(file, node, "adam_beta1", "0.9");
    argument(file, node, "data_parallel_size", format("{}", job_.data));
    argument(file, node, "global_batch_size", format("{}", job_.global_batch));
    argument(file, node, "hidden_size", format("{}", spec_.hidden));
    argument(file, node, "log_interval", format("{}", spec_.log_interval));
    argument(file, node, "lr", "0.00015");
    argument(file, node, "max_position_embeddings", format("{}", spec_.sequence));
    argument(file, node, "micro_batch_size", format("{}", micro));
    argument(file, node, "num_attention_heads", format("{}", spec_.heads));
    argument(file, node, "num_layers", format("{}", spec_.layers));
    argument(file, node, "padded_vocab_size", format("{}", spec_.vocabulary));
    argument(file, node, "pipeline_model_parallel_size", format("{}", spec_.pipeline));
    argument(file, node, "seq_length", format("{}", spec_.sequence));
    argument(file, node, "tensor_model_parallel_size", format("{}", spec_.tensor));
    argument(file, node, "train_iters", format("{}", spec_.all_iterations));
    argument(file, node, "world_size", format("{}", job_.ranks));
    file.line("-------------------- end of arguments ---------------------");
  }

  void write_out(std::int64_t node) {
    CountedFile file = open(node, job_.nodes[node].out);
    write_settings(file, node);
    if (node == 0 && spec_.arguments) write_arguments(file, node);
    const bool last = node == job_.iteration_node;
    if (last) file.line(format("[after dataloaders are built] datetime: {} ", date_text(kStartSecond - 1)));
    if (last) file.line(" > finished creating GPT datasets ...");
    const std::int64_t lines = spec_.iterations / spec_.log_interval;
    const auto wanted = static_cast<double>(spec_.bytes_of_node) * 3 / 8;
    double start = 0;  // seconds since the start of training
    for (std::int64_t number = 1; number <= lines; ++number) {
      const double seconds =
          spec_.seconds * (number == 1 ? spec_.warm_up : around_one("time", number, spec_.noise));
      if (last) write_iteration(file, node, number, seconds, start);
      if (number == 1) write_memory(file, node);
      if (last) write_timers(file, node, number, seconds, start);
      start += seconds * static_cast<double>(spec_.log_interval);
      const auto filled =
          static_cast<std::uint64_t>(wanted * static_cast<double>(number) / static_cast<double>(lines));
      write_filler(file, node, filled);
    }
    if (last && spec_.iterations == spec_.all_iterations)
      file.line(
          format("[after training is done] datetime: {} ", date_text(kStartSecond + std::llround(start))));
    file.close();
  }

  void write_iteration(CountedFile& file, std::int64_t node, std::int64_t number, double seconds,
                       double start) {
    const std::int64_t iteration = number * spec_.log_interval;
    const bool is_nan = spec_.nan_from > 0 && iteration >= spec_.nan_from;
    const double tokens = static_cast<double>(job_.global_batch) * static_cast<double>(spec_.sequence);
    const auto hidden = static_cast<double>(spec_.hidden), layers = static_cast<double>(spec_.layers);
    const double flops = 72 * tokens * layers * hidden * hidden *
                         (1 + static_cast<double>(spec_.sequence) / (6 * hidden) +
                          static_cast<double>(spec_.vocabulary) / (12 * layers * hidden));
    const std::string time = format("{:.1f}", seconds * 1000);
    const std::string tflops = format("{:.1f}", flops / seconds / 1e12 / static_cast<double>(job_.ranks));
    const double rate = 1.5e-4 * std::min(1.0, static_cast<double>(iteration) / 1000);
    const std::string rate_text = spec_.newer_lines ? format("{:.6E}", rate) : format("{:.3E}", rate);
    const double curve = 2.5 + 8.5 * std::exp(-static_cast<double>(iteration) / 120);
    const std::string loss = is_nan ? "nan" : format("{:.6E}", curve * around_one("loss", number, 0.01));
    const std::string norm = is_nan ? "nan" : format("{:.3f}", 1.7 * around_one("norm", number, 0.3));
    const std::int64_t consumed = iteration * job_.global_batch;
    std::string text;
    if (spec_.newer_lines)
      text += format(
          " [{}]",
          date_text(kStartSecond + std::llround(start + seconds * static_cast<double>(spec_.log_interval))));
    text += format(" iteration {:8}/{:8} | consumed samples: {:12} | elapsed time per iteration (ms): {} |",
                   iteration, spec_.all_iterations, consumed, time);
    if (spec_.newer_lines) text += format(" throughput per GPU (TFLOP/s/GPU): {} |", tflops);
    text += format(
        " learning rate: {} | global batch size: {:5} | lm loss: {} | loss scale: 1.0 | grad norm: {} |",
        rate_text, job_.global_batch, loss, norm);
    text +=
        format(" number of skipped iterations: {:3} | number of nan iterations: {:3} |", 0, is_nan ? 1 : 0);
    const WrittenPlace place = line(file, node, text, 20);
    if (!kept(node)) return;
    job_.iterations.push_back({.place = place,
                               .iteration = iteration,
                               .consumed_samples = consumed,
                               .milliseconds = as_printed(time),
                               .tflops = spec_.newer_lines ? std::optional(as_printed(tflops)) : std::nullopt,
                               .learning_rate = as_printed(rate_text),
                               .loss = is_nan ? std::nullopt : std::optional(as_printed(loss)),
                               .grad_norm = is_nan ? 0 : as_printed(norm)});
  }

  std::int64_t stage_of(std::int64_t rank) const { return rank / (job_.ranks / spec_.pipeline); }

  // From the ranks of this node that are first among the data-parallel ones.
  void write_memory(CountedFile& file, std::int64_t node) {
    for (std::int64_t gpu = 0; gpu < spec_.gpus; ++gpu) {
      const std::int64_t rank = node * spec_.gpus + gpu;
      const std::int64_t ranks_of_stage = job_.ranks / spec_.pipeline;
      if (rank % ranks_of_stage >= spec_.tensor) continue;
      const double base =
          static_cast<double>(spec_.gpu_megabytes) *
          (0.6 - 0.05 * static_cast<double>(stage_of(rank)) / static_cast<double>(spec_.pipeline));
      std::array<std::string, 4> texts;
      for (std::size_t i = 0; i < texts.size(); ++i)
        texts[i] = format(
            "{:.2f}", base * (1 + 0.08 * static_cast<double>(i)) * around_one("memory", 4 * rank + i, 0.005));
      file.line(
          format("[Rank {}] (after {} iterations) memory (MB) | allocated: {} | max allocated: {} | "
                 "reserved: {} | max "
                 "reserved: {}",
                 rank, spec_.log_interval, texts[0], texts[1], texts[2], texts[3]));
      if (kept(node))
        job_.memory.push_back({.place = {.node = node, .end = file.bytes()},
                               .rank = rank,
                               .iteration = spec_.log_interval,
                               .allocated = as_printed(texts[0]),
                               .most_allocated = as_printed(texts[1]),
                               .reserved = as_printed(texts[2]),
                               .most_reserved = as_printed(texts[3])});
    }
  }

  // Starts and ends of the calls of a timer in an iteration, in microseconds.
  std::vector<Pass> calls_of(const TimerModel& timer, std::int64_t rank, double seconds,
                             const std::vector<StagePasses>& passes) const {
    const auto length = [&](double share) { return std::llround(share * seconds * kMicroseconds); };
    if (timer.name == "forward-compute") return passes[stage_of(rank)].forward;
    if (timer.name == "backward-compute") return passes[stage_of(rank)].backward;
    if (timer.name == "forward-backward") return {{0, length(kPassShare)}};
    const std::int64_t start = length(timer.name.starts_with("optimizer")   ? 0.92
                                      : timer.name.starts_with("all-grads") ? 0.81
                                                                            : 0.9);
    return {{start, start + length(timer.share * around_one(timer.name, rank, 0.05))}};
  }

  void write_timers(CountedFile& file, std::int64_t node, std::int64_t number, double seconds, double start) {
    if (spec_.timers == JobTimers::kNone) return;
    const auto slots = static_cast<double>(spec_.micro_batches + spec_.pipeline - 1);
    const double slot = kPassShare * seconds / slots * kMicroseconds;
    const std::vector<StagePasses> passes =
        one_forward_one_backward(spec_.pipeline, spec_.micro_batches,
                                 {.start = std::llround(slot / 3), .end = std::llround(slot * 2 / 3)});
    file.line(spec_.timers == JobTimers::kAll      ? "times across ranks (ms):"
              : spec_.timers == JobTimers::kMinMax ? "(min, max) time across ranks (ms):"
                                                   : "max time across ranks (ms):");
    for (const TimerModel& timer : kTimers) {
      if (spec_.pipeline == 1 && (timer.name.ends_with("recv") || timer.name.ends_with("send"))) continue;
      WrittenTimer written{.iteration = number * spec_.log_interval, .name = std::string(timer.name)};
      std::vector<std::string> texts;
      std::vector<std::vector<Pass>> calls;
      double least = 0, most = 0;
      for (std::int64_t rank = 0; rank < job_.ranks; ++rank) {
        calls.push_back(calls_of(timer, rank, seconds, passes));
        std::int64_t sum = 0;
        for (const Pass& call : calls.back()) sum += call.end - call.start;
        const double time =
            static_cast<double>(sum) / 1000 *
            around_one(timer.name, static_cast<std::uint64_t>(number * job_.ranks + rank) + 1000, 0.02);
        least = rank == 0 ? time : std::min(least, time);
        most = std::max(most, time);
        if (spec_.timers == JobTimers::kAll) texts.push_back(format("{:.2f}", time));
      }
      const std::string label = format("{:.<48}", written.name + " ");
      const auto note = [&](const WrittenPlace& place) {
        written.place = {.node = node, .end = place.end, .cut = written.place.cut || place.cut};
      };
      if (spec_.timers == JobTimers::kMinMax) {
        texts = {format("{:.2f}", least), format("{:.2f}", most)};
        note(line(file, node, format("    {}: ({}, {})", label, texts[0], texts[1]), 30));
      } else if (spec_.timers == JobTimers::kMax) {
        texts = {format("{:.2f}", most)};
        note(line(file, node, format("    {}: {}", label, texts[0]), 30));
      } else {
        file.line(format("  {}:", timer.name));
        for (std::int64_t rank = 0; rank < job_.ranks; ++rank) {
          note(line(file, node, format("     rank {:2}: {}", rank, texts[rank]), 10));
          if (spec_.profile) {
            note(call_list(file, node, timer.name, {calls[rank], seconds, start, true}));
            note(call_list(file, node, timer.name, {calls[rank], seconds, start, false}));
          }
        }
        if (spec_.profile)
          written.calls =
              static_cast<std::int64_t>(calls[0].size()) * std::min(spec_.log_interval, kListedIterations);
      }
      for (const std::string& text : texts) written.milliseconds.push_back(as_printed(text));
      if (kept(node)) job_.timers.push_back(std::move(written));
    }
  }

  struct CallList {
    const std::vector<Pass>& calls;
    double seconds;  // of an iteration
    double start;    // of the interval
    bool starts;
  };

  WrittenPlace call_list(CountedFile& file, std::int64_t node, std::string_view name, const CallList& list) {
    std::string text = format(" {} {} time lst: ", name, list.starts ? "start" : "end");
    const std::int64_t listed = std::min(spec_.log_interval, kListedIterations);
    for (std::int64_t i = spec_.log_interval - listed; i < spec_.log_interval; ++i) {
      const std::int64_t base =
          kStartSecond * kMicroseconds +
          std::llround((list.start + list.seconds * static_cast<double>(i)) * kMicroseconds);
      for (const Pass& call : list.calls) {
        const std::int64_t at = base + (list.starts ? call.start : call.end);
        fmt::format_to(std::back_inserter(text), " {}.{:06}", at / kMicroseconds, at % kMicroseconds);
      }
    }
    return line(file, node, text, 20);
  }

  void write_filler(CountedFile& file, std::int64_t node, std::uint64_t wanted) {
    for (std::int64_t i = 0; file.bytes() < wanted; ++i)
      file.line(
          format("{}:{}:{} [{}] NCCL INFO Channel {:02}/0 : {}[{}] -> {}[{}] [send] via NET/IB/0/GDRDMA",
                 job_.nodes[node].name, 20000 + i % 4096, 20100 + i % 4096, i % spec_.gpus, i % 32,
                 i % job_.ranks, i % spec_.gpus, (i + 1) % job_.ranks, (i + 1) % spec_.gpus));
  }

  void message(CountedFile& file, std::int64_t node, bool error, const std::string& text) {
    file.line(text);
    if (kept(node)) job_.messages.push_back({{.node = node, .end = file.bytes()}, error, text});
  }

  void write_err(std::int64_t node) {
    CountedFile file = open(node, job_.nodes[node].err);
    const std::uint64_t wanted = static_cast<std::uint64_t>(spec_.bytes_of_node) / 8;
    for (std::int64_t i = 0; i < spec_.warnings || file.bytes() < wanted; ++i) {
      const std::string_view pattern = kWarnings[static_cast<std::size_t>(i) % std::size(kWarnings)];
      message(file, node, false, fmt::format(fmt::runtime(pattern), 400 + i % 50));
      if (pattern.find("UserWarning") != std::string_view::npos) file.line("  warnings.warn(");
    }
    if (node == spec_.failing_node) {
      const std::int64_t rank = node * spec_.gpus + spec_.gpus - 1;
      file.line("Traceback (most recent call last):");
      file.line("  File \"pretrain_gpt.py\", line 148, in <module>");
      file.line(
          "    pretrain(train_valid_test_datasets_provider, model_provider, ModelType.encoder_or_decoder,");
      file.line("  File \"/workspace/megatron/training.py\", line 161, in pretrain");
      file.line("    iteration = train(forward_step_func,");
      message(file, node, true,
              format("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU {}; 22.20 GiB total "
                     "capacity; 19.41 "
                     "GiB already allocated; 1.06 GiB free; 19.83 GiB reserved in total by PyTorch)",
                     spec_.gpus - 1));
      message(file, node, true,
              format("ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: "
                     "{} (pid: {}) of "
                     "binary: /opt/conda/bin/python",
                     spec_.gpus - 1, 21000 + rank));
    } else if (spec_.failing_node >= 0) {
      message(file, node, true,
              format("slurmstepd: error: *** STEP {}.0 ON {} CANCELLED AT {} ***", spec_.job,
                     job_.nodes[node].name, date_text(kStartSecond + 3600)));
    }
    file.close();
  }

  void write_gpu(std::int64_t node) {
    if (spec_.samples == JobSamples::kNone) return;
    CountedFile file = open(node, job_.nodes[node].gpu);
    const std::uint64_t wanted = static_cast<std::uint64_t>(spec_.bytes_of_node) / 2;
    for (std::int64_t number = 0; number < spec_.sample_count || file.bytes() < wanted; ++number) {
      if (spec_.samples == JobSamples::kGpustatWithHeader) {
        const std::time_t time =
            kStartSecond + std::llround(static_cast<double>(number) * spec_.sample_seconds);
        std::tm parts{};
        gmtime_r(&time, &parts);
        std::array<char, 40> date{};
        const std::size_t size = std::strftime(date.data(), date.size(), "%a %b %d %H:%M:%S %Y", &parts);
        file.line(
            format("{:<16}  {}  510.47.03", job_.nodes[node].name, std::string_view(date.data(), size)));
      }
      for (std::int64_t gpu = 0; gpu < spec_.gpus; ++gpu) sample(file, node, {.number = number, .gpu = gpu});
    }
    file.close();
  }

  void sample(CountedFile& file, std::int64_t node, WrittenSample written) {
    const std::uint64_t index =
        4 * static_cast<std::uint64_t>((written.number * spec_.nodes + node) * spec_.gpus + written.gpu);
    // The words of one block: a sample is one of very many.
    const RandomBlock words =
        random_block({.seed = spec_.seed, .step = 1, .site = site_of("sample")}, index / 4);
    const auto uniform = [&](std::size_t i) { return static_cast<double>(uniform_of_word(words[i])); };
    const bool starting = written.number < 5;  // nothing runs yet
    written.percent = starting ? 0 : std::llround(70 + 30 * uniform(0));
    written.celsius =
        std::llround((starting ? 35 : 55 + 10 * uniform(1)) + (node == spec_.hot_node ? 30 : 0));
    written.used_megabytes = starting ? 3 : spec_.gpu_megabytes * 3 / 4 + std::llround(200 * uniform(2));
    if (uniform(3) < spec_.missing_samples)
      (written.number % 2 == 0 ? written.percent : written.celsius).reset();
    const auto text_of = [](const std::optional<std::int64_t>& value, std::string_view missing) {
      return value ? format("{}", *value) : std::string(missing);
    };
    std::string text;
    std::size_t figures = std::string::npos;  // what is behind them may be cut
    if (spec_.samples == JobSamples::kNvidiaSmi) {
      text = format("{}, {}, {}, {}, {}, {}", written.gpu, spec_.gpu, text_of(written.celsius, "[N/A]"),
                    text_of(written.percent, "[N/A]"), written.used_megabytes, spec_.gpu_megabytes);
    } else if (spec_.samples == JobSamples::kOwn) {
      const std::int64_t time =
          kStartSecond + std::llround(static_cast<double>(written.number) * spec_.sample_seconds);
      text =
          format("gpu {} {}, {}, {}, {}, {}, {}, 0x{:016x}, {}, {}.50", time, written.gpu, spec_.gpu,
                 text_of(written.celsius, "[N/A]"), text_of(written.percent, "[N/A]"), written.used_megabytes,
                 spec_.gpu_megabytes, starting ? 1 : 4, starting ? 210 : 1695, starting ? 20 : 150);
    } else {
      text = format("[{}] {:<16} |{:>3}{}, {:>3} % | {:>5} / {:>5} MB |", written.gpu, spec_.gpu,
                    text_of(written.celsius, "??"),
                    spec_.samples == JobSamples::kGpustatDegrees ? "\xC2\xB0"
                                                                   "C"
                                                                 : "'C",
                    text_of(written.percent, "??"), written.used_megabytes, spec_.gpu_megabytes);
      figures = text.size();
      if (!starting) text += format(" user({}M)", written.used_megabytes - 3);
    }
    written.place = line(file, node, text, 4, figures);
    if (kept(node)) job_.samples.push_back(written);
  }

  const JobLogsSpec& spec_;
  WrittenJob job_;
  std::uint64_t lines_ = 0;
};

}  // namespace

WrittenJob write_job_logs(const fs::path& parent, const JobLogsSpec& spec) {
  return JobLogsWriter(parent, spec).write();
}

}  // namespace nadi::inline ground
