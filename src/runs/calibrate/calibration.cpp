#include "nadi/calibrate/calibration.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/calibrate/comm_samples.h"
#include "nadi/calibrate/machine_description.h"
#include "nadi/calibrate/op_samples.h"
#include "nadi/calibrate/quiet_windows.h"
#include "nadi/calibrate/rank_skew.h"
#include "nadi/calibrate/sample_programs.h"
#include "nadi/calibrate/sample_run.h"
#include "nadi/comm/communicator.h"
#include "nadi/comm/steady_time.h"

namespace nadi::inline runs {
namespace {

// What ranks of a machine take away from each other.
struct SharingFigures {
  double alone_speedup = 1;
  double compute_share = 0;
  double busy_slowdown = 1;
};

constexpr std::int64_t kMoreSharingRounds = 2;  // than repetitions: the figures are ratios of two times
constexpr std::int64_t kMostRepetitions = 9;
constexpr double kShortStep = 1;             // seconds, of all repetitions
constexpr std::int64_t kMostOfAWindow = 24;  // runs of a short step that are judged together
// Where communication stopped all computation, times would be without bounds.
constexpr double kLargestShare = 0.9;

class CalibrationJob {
 public:
  CalibrationJob(const CalibrationOptions& options, Communicator& world, CalibrationListener& listener)
      : options_(options),
        world_(world),
        listener_(listener),
        threads_(options.threads),
        quiet_(world, options.device == DeviceKind::kCuda ? Nanoseconds{} : options.patience),
        skew_(world) {
    if (options.quick) comm_options_.largest = 8_MiB;
    comm_options_.at_each = [this] { next("communication"); };
    comm_options_.at_again = [this] { listener_.between_runs(); };
  }

  Cluster run() {
    const std::vector<SampleProgram> samples = fitting_samples();
    const bool shared = world_.size() > 1;
    total_ = static_cast<std::int64_t>(samples.size()) + comm_sample_count(world_.size(), comm_options_) +
             (shared ? 1 : 0);
    MeasuredCollectives communication = sample_communication(world_, comm_options_, quiet_);
    OpSamples ops;
    for (const SampleProgram& sample : samples) {
      next(sample.name);
      SampleRun run(sample, run_options());
      run.run_once();
      std::optional<Nanoseconds> sustained;
      // Before anything is recorded: that slows a GPU down afterwards.
      if (options_.device == DeviceKind::kCuda && sample.request.kind == StepKind::kTrain && !shared)
        sustained = run.run_sustained();
      // The first recorded step of a GPU is launched for the first time in that way. Nobody else computes
      // there.
      const bool gpu = options_.device == DeviceKind::kCuda;
      if (gpu) run.record(1);
      const std::vector<ExecutedStep> steps = quiet_steps(run, gpu ? options_.repetitions : kMostRepetitions);
      ops.add(run.program(), steps, sustained, sample.inner_weight);
      if (shared && !gpu) skew_.add(steps);
    }
    SharingFigures sharing;
    if (shared) {
      next("ranks that share the machine");
      sharing = measure_sharing(samples.front(), communication);
      communication.skew = skew_.rows(largest_over_ranks(world_, sharing.alone_speedup));
    }
    say_conditions();
    return describe(ops, communication, sharing);
  }

 private:
  SampleRun::Options run_options() const {
    return {.device = options_.device, .threads = threads_, .math = options_.math};
  }

  // Runs of the step that were not disturbed, as many as are wanted: more of short ones, of which a burst of
  // somebody else's work hits more.
  std::vector<ExecutedStep> quiet_steps(SampleRun& run, std::int64_t most) {
    std::vector<ExecutedStep> steps, least;  // least: those of the least disturbed window
    double elapsed = 0, least_share = 1;
    const auto enough = [&](double seconds, std::size_t count) {
      const auto runs = static_cast<std::int64_t>(count);
      return runs >= options_.repetitions && (seconds >= kShortStep || runs >= most);
    };
    while (true) {
      std::vector<ExecutedStep> window;
      double seconds = 0;
      quiet_.begin();
      do {
        listener_.between_runs();
        world_.barrier(kWorld);
        window.push_back(std::move(run.record(1).front()));
        seconds += largest_over_ranks(world_, to_seconds(window.back().end - window.back().start));
      } while (quiet_.wants_more(seconds) ? std::ssize(window) < kMostOfAWindow
                                          : !quiet_.judges() && !enough(seconds, window.size()));
      if (!quiet_.end(seconds)) {
        if (quiet_.latest_share() < least_share) {
          least_share = quiet_.latest_share();
          least = std::move(window);
        }
        // Few but undisturbed runs are better than more.
        if (!quiet_.has_patience() && !steps.empty()) return steps;
        continue;
      }
      if (quiet_.latest_share() > least_share) return least;  // time was up
      elapsed += seconds;
      std::ranges::move(window, std::back_inserter(steps));
      if (enough(elapsed, steps.size())) return steps;
    }
  }

  void say_conditions() {
    const MeasuringConditions& conditions = quiet_.conditions();
    if (conditions.dropped > 0)
      listener_.note(
          format("{} of {} stretches of measurements were disturbed and measured again: more than "
                 "{:.0f}% of the processor time was stolen or taken by other processes",
                 conditions.dropped, conditions.judged, 100 * kDisturbed));
    if (conditions.disturbed > 0)
      listener_.warning(
          format("the machine was not quiet: {} of {} stretches of measurements were disturbed and "
                 "are in the file, since time was up",
                 conditions.disturbed, conditions.judged));
  }

  void next(std::string_view what) { listener_.progress(done_++, total_, what); }

  std::vector<SampleProgram> fitting_samples() {
    std::vector<SampleProgram> fitting;
    for (const DType dtype : options_.dtypes)
      for (SampleProgram& sample : sample_programs({.models = options_.models,
                                   .ranks = world_.size(),
                                   .quick = options_.quick,
                                   .sizes = options_.sizes,
                                   .dtype = dtype,
                                   .gpu = options_.device == DeviceKind::kCuda})) {
        const Bytes needed = SampleRun::memory_of(sample, run_options());
        if (needed > options_.memory_limit)
          listener_.note(format("left out: {} needs {} of memory; {} may be used", sample.name,
                                to_string(needed), to_string(options_.memory_limit)));
        else
          fitting.push_back(std::move(sample));
      }
    if (fitting.empty())
      throw Error(ErrorKind::kInfeasible, {}, "no sample fits the memory that may be used",
                  "choose a smaller model");
    return fitting;
  }

  // Three ways to run the same step, in turns, so that a machine whose speed changes is the same for all: all
  // ranks; all ranks with an all-reduce behind the computation; rank 0 alone, while the others wait for it as
  // ranks of a step wait. Kernels are compared with themselves.
  SharingFigures measure_sharing(const SampleProgram& sample, const MeasuredCollectives& communication) {
    SampleRun run(sample, run_options());
    run.run_once();
    world_.barrier(kWorld);
    const auto step = static_cast<double>(run.run_once().count());
    const auto ranks = static_cast<std::int32_t>(world_.size());
    const auto alone_for = [&](Bytes size) {
      return static_cast<double>(communication.collective(CollectiveType::kAllReduce, ranks, size)->count());
    };
    // One that would last a third of the step.
    const Bytes largest = comm_options_.largest;
    const auto wanted = static_cast<std::int64_t>(largest_over_ranks(world_, step) / 3 *
                                                  static_cast<double>(largest.count()) / alone_for(largest));
    const Bytes size{std::clamp<std::int64_t>(wanted / 64 * 64, 64 * 1024, largest.count())};
    std::vector<std::byte> buffer(static_cast<std::size_t>(size.count()));

    std::vector<ExecutedStep> together, disturbed, alone;
    std::vector<double> spans;
    std::vector<Nanoseconds> ends;
    const auto round = [&] {
      listener_.between_runs();
      world_.barrier(kWorld);
      together.push_back(std::move(run.record(1).front()));
      world_.barrier(kWorld);
      const Nanoseconds begin = steady_time();
      const CommRequest request = world_.all_reduce(kWorld, {std::span(buffer), DType::kF32}, ReduceOp::kSum);
      disturbed.push_back(std::move(run.record(1).front()));
      ends.push_back(world_.wait(request));
      spans.push_back(static_cast<double>((ends.back() - begin).count()));
      world_.barrier(kWorld);
      if (world_.rank() == Rank{0}) alone.push_back(std::move(run.record(1).front()));
      world_.barrier(kWorld);
    };
    const std::size_t wanted_rounds = static_cast<std::size_t>(options_.repetitions + kMoreSharingRounds);
    while (together.size() < wanted_rounds) {
      const std::size_t before = together.size();
      double seconds = 0;
      quiet_.begin();
      do {
        const Nanoseconds begin = steady_time();
        round();
        seconds += largest_over_ranks(world_, to_seconds(steady_time() - begin));
      } while (quiet_.wants_more(seconds) && together.size() < wanted_rounds);
      if (quiet_.end(seconds)) continue;
      for (std::vector<ExecutedStep>* runs : {&together, &disturbed, &alone})
        runs->resize(std::min(before, runs->size()));
      spans.resize(before);
      ends.resize(before);
    }
    const std::vector<double> usual = kernel_medians(together);
    SharingFigures figures;
    if (world_.rank() == Rank{0})
      figures.alone_speedup = std::max(1.0, sum_of(usual) / sum_of(kernel_medians(alone)));
    double slowed = 0, undisturbed = 0;
    for (std::size_t i = 0; i < disturbed.size(); ++i)
      for (std::size_t k = 0; k < usual.size(); ++k)
        if (disturbed[i].kernels[k].end <= ends[i]) {
          slowed +=
              static_cast<double>((disturbed[i].kernels[k].end - disturbed[i].kernels[k].start).count());
          undisturbed += usual[k];
        }
    if (slowed > 0) figures.compute_share = std::clamp(1 - undisturbed / slowed, 0.0, kLargestShare);
    figures.busy_slowdown = std::max(1.0, median_of(spans) / alone_for(size));
    return figures;
  }

  static double sum_of(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
  }

  Cluster describe(const OpSamples& ops, const MeasuredCollectives& communication,
                   const SharingFigures& sharing) const {
    const auto ranks = static_cast<std::int32_t>(world_.size());
    Cluster cluster;
    cluster.name = options_.device == DeviceKind::kCuda ? "this-gpu-machine" : "this-machine";
    cluster.summary = "measured by nadi calibrate";
    cluster.devices = {describe_device(
        options_, ranks, threads_,
        {.between_kernels = ops.between_kernels(), .ops = ops.rows(), .conditions = quiet_.conditions()},
        ops.kernels())};
    Fabric fabric{.kind = "memory", .topology = FabricTopology::kBus};
    if (communication.messages.empty()) {
      fabric.bandwidth = cluster.devices[0].memory_bandwidth;
    } else {
      const MeasuredMessage& largest = communication.messages.back();
      fabric.bandwidth = ByteRate{static_cast<double>(largest.size.count()) / to_seconds(largest.time)};
      fabric.latency = communication.messages.front().time;
    }
    fabric.compute_share = sharing.compute_share;
    fabric.busy_slowdown = sharing.busy_slowdown;
    fabric.measured = communication;
    NodeSpec node{.name = ranks == 1 ? "1-rank" : format("{}-ranks", ranks),
                  .device = 0,
                  .devices = ranks,
                  .inside = std::move(fabric)};
    node.alone_speedup = sharing.alone_speedup;
    cluster.kinds = {std::move(node)};
    cluster.nodes = {0};
    return cluster;
  }

  const CalibrationOptions& options_;
  Communicator& world_;
  CalibrationListener& listener_;
  const int threads_;
  CommSampleOptions comm_options_;
  QuietWindows quiet_;
  RankSkew skew_;
  std::int64_t done_ = 0, total_ = 0;
};

}  // namespace

Cluster calibrate(const CalibrationOptions& options, Communicator& world, CalibrationListener& listener) {
  return CalibrationJob(options, world, listener).run();
}

Cluster machine_of(std::vector<Cluster> parts) {
  check(!parts.empty(), "a machine has at least one part");
  std::stable_sort(parts.begin(), parts.end(), [](const Cluster& a, const Cluster& b) {
    return a.kinds.front().devices < b.kinds.front().devices;
  });
  Cluster machine;
  machine.name = parts.front().name;
  machine.summary = parts.front().summary;
  for (Cluster& part : parts) {
    NodeSpec node = std::move(part.kinds.front());
    node.device = static_cast<std::int32_t>(machine.devices.size());
    if (!machine.kinds.empty())
      machine.kinds.front().alternatives.push_back(static_cast<std::int32_t>(machine.kinds.size()));
    machine.devices.push_back(std::move(part.devices.front()));
    machine.kinds.push_back(std::move(node));
  }
  machine.nodes = {0};
  return machine;
}

}  // namespace nadi::inline runs
