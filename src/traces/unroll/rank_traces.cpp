#include "nadi/unroll/rank_traces.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "nadi/base/atomic_file_set.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/worker_threads.h"
#include "nadi/parallel/program.h"
#include "nadi/parallel/stage_programs.h"
#include "nadi/parallel/step_program.h"
#include "nadi/unroll/process_groups.h"

namespace nadi::inline traces {
namespace {

namespace fs = std::filesystem;

// A stage whose nodes take more is not held in memory. It is a thousand times what a stage of 20 large layers
// takes for a micro-batch (0.25 MB), so that only generating very many tokens gets there.
constexpr Bytes kSharedLimit = 256_MiB;

// Up to as many files are synced one by one, which takes milliseconds each; more of them by syncing the file
// system, which may have to wait for what others have written.
constexpr std::size_t kSyncedOneByOne = 16;

StepTraceOptions tracer_options(const Plan& plan, const RankTraceOptions& options) {
  return {.plan = &plan, .flavor = options.flavor, .tensors = options.tensors};
}

GlobalMetadata metadata_of(const RankTraceOptions& options, Rank rank) {
  GlobalMetadata metadata;
  for (const auto& [name, value] : options.metadata) metadata.attributes.add_text(name, value);
  metadata.attributes.add_text("tensors", to_string(options.tensors));
  metadata.attributes.add_int64("rank", to_number(rank));
  return metadata;
}

std::vector<Rank> ranks_to_write(const Plan& plan, const RankTraceOptions& options) {
  std::vector<Rank> ranks = options.ranks;
  if (ranks.empty())
    for (std::int64_t rank = 0; rank < plan.world_size(); ++rank)
      ranks.push_back(Rank{static_cast<std::int32_t>(rank)});
  for (const Rank rank : ranks)
    if (to_number(rank) < 0 || to_number(rank) >= plan.world_size())
      throw usage_error(format("there is no rank {}: the plan has {}", to_number(rank), plan.world_size()),
                        format("ranks are 0 to {}", plan.world_size() - 1));
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

struct WrittenFile {
  NodeCounts counts;
  Bytes bytes;
};

// Nodes that an estimate encodes at most: some tenths of a second. The second half of them stands for all
// that follow: it is of other micro-batches than the first, whose nodes may list tensors.
constexpr std::int64_t kEstimatedNodes = 200'000;

// A node is rarely larger. Where even such nodes fit, nothing is estimated.
constexpr std::int64_t kLargestNode = 4096;

// Ends an estimate that has seen enough.
struct EnoughSeen {};

// Ends the helper's work when the calling thread has stopped.
struct Stopped {};

fs::path with_suffix(const fs::path& prefix, const std::string& suffix) {
  fs::path path = prefix;
  path += suffix;
  return path;
}

class RankTraceWriter {
 public:
  RankTraceWriter(const Plan& plan, std::span<const Program* const> programs, const fs::path& prefix,
                  const RankTraceOptions& options)
      : plan_(plan),
        programs_(programs),
        prefix_(prefix),
        options_(options),
        ranks_(ranks_to_write(plan, options)),
        groups_(plan, kinds()),
        files_(options.overwrite, ranks_.size() <= kSyncedOneByOne ? Durability::kNow : Durability::kLater) {
    check(static_cast<std::int64_t>(programs.size()) == plan.pp, "a plan has one program per pipeline stage");
  }

  RankTraceReport write() {
    if (options_.overwrite == Overwrite::kRefuse) {
      for (const Rank rank : ranks_) refuse_existing(path_of(rank));
      if (!groups_.empty()) refuse_existing(groups_path());
    }
    count_nodes();
    if (options_.limit) check_size(*options_.limit);
    // Ranks of one stage are neighbours.
    for (std::size_t first = 0; first < ranks_.size();) {
      const std::int64_t stage = stage_of(ranks_[first]);
      std::size_t end = first;
      while (end < ranks_.size() && stage_of(ranks_[end]) == stage) ++end;
      write_stage(program_of(ranks_[first]), first, end);
      first = end;
    }
    publish();
    return report_;
  }

 private:
  const Program& program_of(Rank rank) const {
    const Program* const program = programs_[static_cast<std::size_t>(stage_of(rank))];
    check(program != nullptr, "a rank is to be written whose stage has no program");
    return *program;
  }

  void count_nodes() {
    nodes_of_stage_.assign(programs_.size(), 0);
    for (std::size_t stage = 0; stage < programs_.size(); ++stage)
      if (programs_[stage] != nullptr) nodes_of_stage_[stage] = trace_nodes(*programs_[stage]);
    for (const Rank rank : ranks_) all_nodes_ += nodes_of(rank);
  }
  std::int64_t nodes_of(Rank rank) const { return nodes_of_stage_[static_cast<std::size_t>(stage_of(rank))]; }

  void check_size(const RankTraceOptions::Limit& limit) const {
    if (all_nodes_ <= limit.most.count() / kLargestNode) return;
    double total = 0;
    std::optional<std::int64_t> stage;
    double of_stage = 0;
    for (const Rank rank : ranks_) {
      if (stage != stage_of(rank))
        of_stage = static_cast<double>(estimate_rank_trace(plan_, program_of(rank), rank, options_).count());
      stage = stage_of(rank);
      total += of_stage;
    }
    if (total <= static_cast<double>(limit.most.count())) return;
    constexpr double kLargest = 9e18;
    const std::size_t files = ranks_.size();
    throw environment_error(
        format("the {} of {} rank{} would take about {}; {}", files == 1 ? "trace" : "traces",
               with_thousands(static_cast<std::int64_t>(files)), files == 1 ? "" : "s",
               to_string(Bytes{static_cast<std::int64_t>(std::min(total, kLargest))}), limit.reason),
        "write the traces of fewer ranks, or of fewer tensors");
  }

  std::int64_t stage_of(Rank rank) const { return coordinates_of(plan_, rank).pp; }
  fs::path path_of(Rank rank) const { return with_suffix(prefix_, format(".{}.et", to_number(rank))); }
  fs::path groups_path() const { return with_suffix(prefix_, ".groups.json"); }

  std::set<GroupKind> kinds() const {
    std::set<GroupKind> kinds;
    for (const Program* program : programs_)
      if (program != nullptr) kinds.merge(collective_groups(*program));
    return kinds;
  }

  // The ranks from `first` to `end` in files_. Where there are several, a second thread takes turns with the
  // calling one. The calling thread asks `progress` at every piece of a file, so that it can stop both in the
  // middle of one.
  void write_stage(const Program& program, std::size_t first, std::size_t end) {
    // One rank shares with nobody: its nodes go straight to the file.
    std::optional<StageEncoding> encoding;
    if (end - first > 1)
      encoding = StageEncoding::make(program, tracer_options(plan_, options_), kSharedLimit);
    std::vector<WrittenFile> written(end - first);
    std::atomic<std::size_t> next = first;
    std::atomic<bool> stop = false, helper_is_done = false;
    const auto work = [&](const std::function<void()>& at_each_piece) {
      WireWriter buffer;
      for (std::size_t i; (i = next++) < end;)
        written[i - first] = write_file(i, program, encoding ? &*encoding : nullptr, buffer, at_each_piece);
    };
    const auto help = [&] {
      work([&] {
        if (stop) throw Stopped{};
      });
      helper_is_done = true;
    };
    const bool has_helper = end - first > 1;
    run_workers(
        has_helper ? 2 : 1,
        [&](std::size_t worker) {
          if (worker == 1) return help();
          work([&] { report_progress(); });
          while (has_helper && !helper_is_done) {
            report_progress();
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
          }
        },
        [&] {
          stop = true;
          next = end;
          helper_is_done = true;
        });
    report_progress();
    for (const WrittenFile& file : written) count(file);
  }

  WrittenFile write_file(std::size_t i, const Program& program, const StageEncoding* encoding,
                         WireWriter& buffer, const std::function<void()>& at_each_piece) {
    AtomicFile& file = files_.add(path_of(ranks_[i]));
    const std::int64_t nodes = nodes_of(ranks_[i]);
    std::int64_t told = 0, bytes_so_far = 0;  // of this file
    const auto tell = [&](std::int64_t so_far) {
      nodes_done_ += std::clamp(so_far, told, nodes) - told;
      told = std::clamp(so_far, told, nodes);
    };
    const ByteSink sink = [&](std::string_view bytes) {
      at_each_piece();
      file.write(bytes);
      bytes_so_far += static_cast<std::int64_t>(bytes.size());
      if (encoding != nullptr && encoding->size().count() > 0)
        tell(static_cast<std::int64_t>(static_cast<double>(nodes) * static_cast<double>(bytes_so_far) /
                                       static_cast<double>(encoding->size().count())));
    };
    NodeCounts counts;
    if (encoding == nullptr) {
      counts = write_rank_trace(plan_, program, groups_, ranks_[i], options_, sink, tell);
    } else {
      ChakraWriter([&](std::string_view bytes) { buffer.raw(bytes); }, metadata_of(options_, ranks_[i]))
          .finish();
      encoding->write(plan_, groups_, ranks_[i], buffer, sink);
      counts = encoding->counts();
    }
    files_.close(file);
    tell(nodes);
    return {.counts = counts, .bytes = file.size()};
  }

  void report_progress() const {
    if (options_.progress) options_.progress(nodes_done_, all_nodes_);
  }

  void count(const WrittenFile& file) {
    const NodeCounts& counts = file.counts;
    ++report_.files;
    report_.nodes += counts.nodes;
    report_.bytes += file.bytes;
    std::int64_t sum = 0;
    if (report_.flops && __builtin_add_overflow(report_.flops->count(), counts.flops.count(), &sum))
      report_.flops.reset();
    else if (report_.flops)
      report_.flops = Flops{sum};
    report_.data_edges += counts.data_edges;
    report_.control_edges += counts.control_edges;
  }

  void publish() {
    if (!groups_.empty()) {
      report_.groups_file = groups_path();
      files_.write(groups_path(), groups_.to_json());
    }
    files_.publish();
  }

  const Plan& plan_;
  const std::span<const Program* const> programs_;
  const fs::path& prefix_;
  const RankTraceOptions& options_;
  const std::vector<Rank> ranks_;
  const ProcessGroups groups_;
  AtomicFileSet files_;
  RankTraceReport report_;
  std::vector<std::int64_t> nodes_of_stage_;
  std::int64_t all_nodes_ = 0;                // of all files
  std::atomic<std::int64_t> nodes_done_ = 0;  // written so far
};

}  // namespace

std::int64_t trace_nodes(const Program& program) {
  std::int64_t nodes = 0;
  for (const Instruction& instruction : program.instructions) {
    const Section& section = program.section(instruction.section);
    nodes += static_cast<std::int64_t>(section.end_op) - static_cast<std::int64_t>(section.first_op);
  }
  return nodes;
}

Bytes estimate_rank_trace(const Plan& plan, const Program& program, Rank rank,
                          const RankTraceOptions& options) {
  const std::int64_t nodes = trace_nodes(program);
  const ProcessGroups groups(plan, collective_groups(program));
  std::int64_t bytes = 0, bytes_at_half = 0, seen = 0;
  try {
    write_rank_trace(
        plan, program, groups, rank, options,
        [&](std::string_view piece) { bytes += static_cast<std::int64_t>(piece.size()); },
        [&](std::int64_t so_far) {
          seen = so_far;
          if (so_far == kEstimatedNodes / 2) bytes_at_half = bytes;
          if (so_far >= kEstimatedNodes && so_far < nodes) throw EnoughSeen{};
        });
    return Bytes{bytes};
  } catch (const EnoughSeen&) {
    const double each =
        static_cast<double>(bytes - bytes_at_half) / static_cast<double>(seen - kEstimatedNodes / 2);
    return Bytes{bytes + static_cast<std::int64_t>(each * static_cast<double>(nodes - seen))};
  }
}

NodeCounts write_rank_trace(const Plan& plan, const Program& program, const ProcessGroups& groups, Rank rank,
                            const RankTraceOptions& options, const ByteSink& sink,
                            const std::function<void(std::int64_t)>& at_each_node) {
  NodeCounts counts;
  ChakraWriter writer(sink, metadata_of(options, rank));
  StepTracer tracer(program, tracer_options(plan, options));
  for (TraceNode node; tracer.next(node);) {
    add_rank_attributes(node, tracer.binding(), plan, groups, rank);
    counts.add(node);
    writer.write(node);
    if (at_each_node) at_each_node(counts.nodes);
  }
  writer.finish();
  return counts;
}

RankTraceReport write_step_traces(const ModelConfig& config, const StepRequest& request, const Plan& plan,
                                  const fs::path& prefix, const RankTraceOptions& options) {
  const StagePrograms programs(config, request, plan);
  for (const Rank rank : ranks_to_write(plan, options)) programs.of(coordinates_of(plan, rank).pp);
  return write_rank_traces(plan, programs.built(), prefix, options);
}

RankTraceReport write_rank_traces(const Plan& plan, std::span<const Program* const> programs,
                                  const fs::path& prefix, const RankTraceOptions& options) {
  return RankTraceWriter(plan, programs, prefix, options).write();
}

}  // namespace nadi::inline traces
