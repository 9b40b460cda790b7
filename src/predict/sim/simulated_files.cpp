#include "nadi/sim/simulated_files.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "nadi/base/atomic_file_set.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/trace/rank_files.h"
#include "nadi/unroll/process_groups.h"
#include "nadi/unroll/rank_attributes.h"
#include "nadi/unroll/step_trace.h"

namespace nadi::inline predict {
namespace {

namespace fs = std::filesystem;

// More files than this are synced together, by syncing the file system.
constexpr std::size_t kMostSyncedAlone = 16;
constexpr std::int64_t kNodesBetweenProgress = 4096;  // about 10 ms

fs::path simulated_path(const fs::path& prefix, const std::string& suffix) {
  fs::path path = prefix;
  path += suffix;
  return path;
}

class SimulatedFiles {
 public:
  SimulatedFiles(const SimulationResult& result, const fs::path& prefix, const SimulatedFileOptions& options)
      : result_(result),
        prefix_(prefix),
        options_(options),
        ranks_(ranks_of(result, options)),
        files_(options.overwrite, ranks_.size() <= kMostSyncedAlone ? Durability::kNow : Durability::kLater) {
    for (const SimulatedClass& one : result.classes)
      check(!one.nodes.empty() || one.end == Nanoseconds{}, "the simulation has kept the times of nodes");
    if (options.overwrite == Overwrite::kRefuse)
      for (const Rank rank : ranks_) refuse_existing(path_of(rank));
  }

  const std::vector<Rank>& ranks() const { return ranks_; }

  // `next` fills a node and says which of the class's nodes it is; false at the end. `in_order`: nodes come
  // in the order in which the rank goes through them.
  void write(Rank rank, const GlobalMetadata& metadata, bool in_order,
             const std::function<bool(TraceNode&, std::size_t&)>& next) {
    const SimulatedClass& of_class = result_.class_of(rank);
    AtomicFile& file = files_.add(path_of(rank));
    ChakraWriter writer([&](std::string_view bytes) { file.write(bytes); }, metadata);
    TraceNode node;
    Nanoseconds last_end;
    for (std::size_t number = 0; next(node, number);) {
      if (report_.nodes % kNodesBetweenProgress == 0) progress();
      const NodeTime& time = of_class.nodes[number];
      node.start = arrives_early(node.type, in_order) ? std::min(time.start, last_end) : time.start;
      node.duration = time.end - node.start;
      last_end = std::max(last_end, time.end);
      writer.write(node);
      ++report_.nodes;
    }
    writer.finish();
    files_.close(file);
    ++report_.files;
  }

  SimulatedFileReport publish(const std::string& groups) {
    if (!groups.empty()) {
      report_.groups_file = simulated_path(prefix_, ".groups.json");
      if (options_.overwrite == Overwrite::kRefuse) refuse_existing(report_.groups_file);
      files_.write(report_.groups_file, groups);
    }
    files_.publish([this] { progress(); });
    return report_;
  }

 private:
  // A simulated receive or collective lasts as long as its data moves. A rank that runs waits in it, from the
  // moment when all that comes before has ended: so it does in the file, whose readers then know the time for
  // what it is, a bubble of the pipeline or a late rank.
  static bool arrives_early(NodeType type, bool in_order) {
    return in_order && (type == NodeType::kCommRecv || type == NodeType::kCommColl);
  }

  void progress() const {
    if (options_.progress) options_.progress(report_.files, static_cast<std::int64_t>(ranks_.size()));
  }

  static std::vector<Rank> ranks_of(const SimulationResult& result, const SimulatedFileOptions& options) {
    std::set<Rank> known;
    for (const SimulatedClass& one : result.classes) known.insert(one.ranks.begin(), one.ranks.end());
    if (options.ranks.empty()) return {known.begin(), known.end()};
    for (const Rank rank : options.ranks)
      if (!known.contains(rank)) throw usage_error(format("rank {} was not simulated", to_number(rank)));
    std::vector<Rank> ranks = options.ranks;
    std::ranges::sort(ranks);
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
  }

  fs::path path_of(Rank rank) const { return simulated_path(prefix_, format(".{}.et", to_number(rank))); }

  const SimulationResult& result_;
  const fs::path& prefix_;
  const SimulatedFileOptions& options_;
  const std::vector<Rank> ranks_;
  AtomicFileSet files_;
  SimulatedFileReport report_;
};

std::string groups_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void add_metadata(GlobalMetadata& metadata, const SimulatedFileOptions& options) {
  metadata.attributes.add_text("times", "simulated");
  for (const auto& [name, value] : options.metadata) metadata.attributes.add_text(name, value);
}

}  // namespace

SimulatedFileReport write_simulated_step(const StagePrograms& programs, const SimulationResult& result,
                                         const fs::path& prefix, const SimulatedFileOptions& options) {
  const Plan& plan = programs.plan();
  SimulatedFiles files(result, prefix, options);
  std::set<GroupKind> kinds;
  for (const Program* program : programs.all()) kinds.merge(collective_groups(*program));
  const ProcessGroups groups(plan, kinds);
  for (const Rank rank : files.ranks()) {
    GlobalMetadata metadata;
    add_metadata(metadata, options);
    metadata.attributes.add_text("tensors", to_string(TensorListing::kFirstMicroBatch));
    metadata.attributes.add_int64("rank", to_number(rank));
    metadata.attributes.add_int64("stage", coordinates_of(plan, rank).pp);
    StepTracer tracer(programs.of(coordinates_of(plan, rank).pp),
                      {.plan = &plan, .tensors = TensorListing::kFirstMicroBatch});
    std::size_t count = 0;
    files.write(rank, metadata, /*in_order=*/true, [&](TraceNode& node, std::size_t& number) {
      if (!tracer.next(node)) return false;
      add_rank_attributes(node, tracer.binding(), plan, groups, rank);
      node.attributes.add_int64("step", 0);
      number = count++;
      return true;
    });
  }
  return files.publish(groups.empty() ? "" : groups.to_json());
}

SimulatedFileReport write_simulated_traces(const std::vector<fs::path>& traces,
                                           const RunReadingOptions& reading, const SimulationResult& result,
                                           const fs::path& prefix, const SimulatedFileOptions& options) {
  SimulatedFiles files(result, prefix, options);
  // Sources count traces by rank, and files may come in any order.
  std::map<std::int64_t, std::int32_t> positions;
  read_run(traces, reading, [&](const ReadRank& read) { positions[read.rank] = 0; });
  std::int32_t position = 0;
  for (auto& [rank, place] : positions) place = position++;
  read_run(traces, reading, [&](const ReadRank& read) {
    for (const Rank rank : files.ranks()) {
      if (result.class_of(rank).source != positions.at(read.rank)) continue;
      GlobalMetadata metadata;
      metadata.version = read.trace.metadata.version;
      for (const TraceAttribute& attribute : read.trace.metadata.attributes)
        if (attribute.name != "rank") metadata.attributes.add_borrowed(attribute);
      add_metadata(metadata, options);
      metadata.attributes.add_int64("rank", to_number(rank));
      std::size_t row = 0;
      files.write(rank, metadata, /*in_order=*/false, [&](TraceNode& node, std::size_t& number) {
        if (row == read.trace.size()) return false;
        read.trace.get(row, node);
        number = row++;
        return true;
      });
    }
  });
  // Groups are those of the traces, unless other ranks run them.
  const fs::path groups = traces.empty() ? fs::path{} : parse_rank_file_name(traces.front()).groups_file;
  std::error_code ignored;
  const bool same_ranks = static_cast<std::int64_t>(positions.size()) == result.ranks;
  return files.publish(same_ranks && fs::is_regular_file(groups, ignored) ? groups_text(groups) : "");
}

}  // namespace nadi::inline predict
