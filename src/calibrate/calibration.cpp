#include "nadi/calibrate/calibration.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/calibrate/comm_samples.h"
#include "nadi/calibrate/machine_description.h"
#include "nadi/calibrate/op_samples.h"
#include "nadi/calibrate/sample_programs.h"
#include "nadi/calibrate/sample_run.h"
#include "nadi/engine/comm/communicator.h"
#include "nadi/engine/comm/steady_time.h"

namespace nadi {
namespace {

// What ranks of a machine take away from each other.
struct SharingFigures {
  double alone_speedup = 1;
  double compute_share = 0;
  double busy_slowdown = 1;
};

class CalibrationJob {
 public:
  CalibrationJob(const CalibrationOptions& options, Communicator& world, CalibrationListener& listener)
      : options_(options), world_(world), listener_(listener), threads_(options.threads) {
    if (options.quick) comm_options_.largest = 8_MiB;
    comm_options_.at_each = [this] { next("communication"); };
  }

  Cluster run() {
    const std::vector<SampleProgram> samples = fitting_samples();
    const bool shared = world_.size() > 1;
    total_ = static_cast<std::int64_t>(samples.size()) + comm_sample_count(world_.size(), comm_options_) +
             (shared ? 1 : 0);
    const MeasuredCollectives communication = sample_communication(world_, comm_options_);
    OpSamples ops;
    for (const SampleProgram& sample : samples) {
      next(sample.name);
      SampleRun run(sample, run_options());
      run.run_once();
      std::vector<ExecutedStep> steps;
      for (std::int64_t i = 0; i < options_.repetitions; ++i) {
        world_.barrier(kWorld);
        steps.push_back(std::move(run.record(1).front()));
      }
      ops.add(run.program(), steps);
    }
    SharingFigures sharing;
    if (shared) {
      next("ranks that share the machine");
      sharing = measure_sharing(samples.front(), communication);
    }
    return describe(ops, communication, sharing);
  }

 private:
  SampleRun::Options run_options() const {
    return {.device = options_.device, .threads = threads_, .math = options_.math};
  }

  void next(std::string_view what) { listener_.progress(done_++, total_, what); }

  std::vector<SampleProgram> fitting_samples() {
    std::vector<SampleProgram> fitting;
    for (SampleProgram& sample :
         sample_programs({.models = options_.models, .ranks = world_.size(), .quick = options_.quick})) {
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

  // The median of some runs of a sample, in nanoseconds, with something started before each.
  template <typename Start, typename Finish>
  double median_run(SampleRun& run, const Start& start, const Finish& finish) {
    std::vector<double> times;
    for (std::int64_t i = 0; i < options_.repetitions; ++i) {
      world_.barrier(kWorld);
      start();
      times.push_back(static_cast<double>(run.run_once().count()));
      finish();
    }
    return largest_over_ranks(world_, median_of(times));
  }

  SharingFigures measure_sharing(const SampleProgram& sample, const MeasuredCollectives& communication) {
    SharingFigures figures;
    SampleRun run(sample, run_options());
    run.run_once();
    const auto nothing = [] {};
    const double together = median_run(run, nothing, nothing);

    // Rank 0 alone; the others wait for it as ranks of a step wait.
    world_.barrier(kWorld);
    std::vector<double> alone;
    if (world_.rank() == Rank{0})
      for (std::int64_t i = 0; i < options_.repetitions; ++i)
        alone.push_back(static_cast<double>(run.run_once().count()));
    world_.barrier(kWorld);
    figures.alone_speedup = std::max(1.0, together / largest_over_ranks(world_, median_of(alone)));

    // An all-reduce that would last a third of the computation, behind it.
    const auto ranks = static_cast<std::int32_t>(world_.size());
    const Bytes largest = comm_options_.largest;
    const double rate =
        static_cast<double>(largest.count()) /
        static_cast<double>(communication.collective(CollectiveType::kAllReduce, ranks, largest)->count());
    const auto wanted = static_cast<std::int64_t>(together / 3 * rate) / 64 * 64;
    const Bytes size{std::clamp<std::int64_t>(wanted, 64 * 1024, largest.count())};
    std::vector<std::byte> buffer(static_cast<std::size_t>(size.count()));
    std::vector<double> spans;
    CommRequest request{};
    Nanoseconds begin{};
    const double disturbed = median_run(
        run,
        [&] {
          begin = steady_time();
          request = world_.all_reduce(kWorld, {std::span(buffer), DType::kF32}, ReduceOp::kSum);
        },
        [&] { spans.push_back(static_cast<double>((world_.wait(request) - begin).count())); });
    const double span = largest_over_ranks(world_, median_of(spans));
    const double alone_span =
        static_cast<double>(communication.collective(CollectiveType::kAllReduce, ranks, size)->count());
    figures.busy_slowdown = std::max(1.0, span / alone_span);
    figures.compute_share = std::clamp((disturbed - together) / std::min(span, disturbed), 0.0, 0.95);
    return figures;
  }

  Cluster describe(const OpSamples& ops, const MeasuredCollectives& communication,
                   const SharingFigures& sharing) const {
    const auto ranks = static_cast<std::int32_t>(world_.size());
    Cluster cluster;
    cluster.name = options_.device == DeviceKind::kCuda ? "this-gpu-machine" : "this-machine";
    cluster.summary = "measured by nadi calibrate";
    cluster.devices = {describe_device(options_, ranks, threads_,
                                       {.between_kernels = ops.between_kernels(), .ops = ops.rows()})};
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

}  // namespace nadi
