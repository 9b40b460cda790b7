#include "nadi/chakra/collective_traces.h"

#include <algorithm>
#include <array>

#include "nadi/base/atomic_file_set.h"
#include "nadi/base/format.h"
#include "nadi/base/version.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/graph/collective_table.h"

namespace nadi::inline traces {
namespace {

namespace fs = std::filesystem;

constexpr std::array kKinds{
    CollectiveKind{"all-reduce", CollectiveType::kAllReduce},
    CollectiveKind{"all-gather", CollectiveType::kAllGather},
    CollectiveKind{"reduce-scatter", CollectiveType::kReduceScatter},
    CollectiveKind{"broadcast", CollectiveType::kBroadcast},
    CollectiveKind{"all-to-all", CollectiveType::kAllToAll},
    CollectiveKind{"send-receive", std::nullopt},
};
constexpr std::array<std::string_view, 5> kReductions{"sum", "avg", "min", "max", "prod"};
constexpr std::uint32_t kAllRanks = 0;  // the process group

fs::path file_of(const fs::path& prefix, std::int64_t rank) {
  return format("{}.{}.et", prefix.string(), rank);
}

// The node of this rank; false when the rank does nothing.
bool fill_node(const CollectiveTraces& collective, std::int64_t rank, TraceNode& node) {
  node.clear();
  node.name = collective.kind.name;
  if (collective.kind.type) {
    node.type = NodeType::kCommColl;
    add_is_cpu_op(node, false);
    add_comm_type(node, *collective.kind.type);
    add_comm_size(node, collective.size);
    add_process_group(node, kAllRanks);
    if (!collective.reduction.empty()) node.attributes.add_text("reduce_op", collective.reduction);
    return true;
  }
  if (rank > 1) return false;
  node.type = rank == 0 ? NodeType::kCommSend : NodeType::kCommRecv;
  add_is_cpu_op(node, false);
  add_comm_size(node, collective.size);
  add_comm_src(node, 0);
  add_comm_dst(node, 1);
  add_comm_tag(node, 0);
  return true;
}

}  // namespace

bool CollectiveKind::reduces() const {
  return type && collective_facts(*type).reduces;
}

std::span<const CollectiveKind> collective_kinds() {
  return kKinds;
}

const CollectiveKind* find_collective(std::string_view name) {
  const auto kind = std::ranges::find(kKinds, name, &CollectiveKind::name);
  return kind == kKinds.end() ? nullptr : &*kind;
}

std::span<const std::string_view> reductions() {
  return kReductions;
}

CollectiveTraceReport write_collective_traces(const CollectiveTraces& traces, const fs::path& prefix,
                                              const CollectiveTraceOptions& options) {
  CollectiveTraceReport report;
  const auto say = [&](std::int64_t done) {
    if (options.progress) options.progress(done, traces.ranks);
  };
  if (options.overwrite == Overwrite::kRefuse)
    for (std::int64_t rank = 0; rank < traces.ranks; ++rank) {
      say(0);
      refuse_existing(file_of(prefix, rank));
    }
  GlobalMetadata metadata;
  metadata.attributes.add_text("nadi_version", version());
  AtomicFileSet files(options.overwrite, Durability::kLater);
  TraceNode node;
  for (std::int64_t rank = 0; rank < traces.ranks; ++rank) {
    AtomicFile& file = files.add(file_of(prefix, rank));
    ChakraWriter writer([&](std::string_view bytes) { file.write(bytes); }, metadata);
    if (fill_node(traces, rank, node)) {
      writer.write(node);
      ++report.nodes;
    }
    writer.finish();
    report.bytes += file.size();
    files.close(file);
    say(rank + 1);
  }
  files.publish([&] { say(traces.ranks); });
  return report;
}

}  // namespace nadi::inline traces
