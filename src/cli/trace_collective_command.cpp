// nadi trace collective
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/nearest.h"
#include "nadi/base/version.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/cli/trace_output.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/progress_line.h"
#include "nadi/terminal/wrap.h"
#include "nadi/trace/common_attributes.h"

namespace nadi {
namespace {

struct KindEntry {
  std::string_view name;
  std::optional<CollectiveType> type;  // nothing: rank 0 sends to rank 1
  bool reduces = false;
};
constexpr std::array kKinds{
    KindEntry{"all-reduce", CollectiveType::kAllReduce, true},
    KindEntry{"all-gather", CollectiveType::kAllGather},
    KindEntry{"reduce-scatter", CollectiveType::kReduceScatter, true},
    KindEntry{"broadcast", CollectiveType::kBroadcast},
    KindEntry{"all-to-all", CollectiveType::kAllToAll},
    KindEntry{"send-receive", std::nullopt},
};
constexpr std::array<std::string_view, 5> kReductions{"sum", "avg", "min", "max", "prod"};
constexpr std::uint32_t kAllRanks = 0;  // the process group

std::vector<std::string_view> names_of_kinds(bool only_reducing) {
  std::vector<std::string_view> names;
  for (const KindEntry& entry : kKinds)
    if (entry.reduces || !only_reducing) names.push_back(entry.name);
  return names;
}

struct Collective {
  KindEntry kind;
  std::string_view reduction;  // "" where nothing is reduced
  Bytes size;
  std::int64_t ranks = 0;
};

Collective resolve_collective(const Flags& flags) {
  Collective collective;
  const std::string& name = flags.positional();
  const auto kind = std::ranges::find(kKinds, name, &KindEntry::name);
  if (kind == kKinds.end())
    throw usage_error(format("unknown collective '{}'", name), did_you_mean(name, names_of_kinds(false)));
  collective.kind = *kind;
  if (flags.given("--op") && !kind->reduces)
    throw usage_error(format("--op makes no sense with {}, which reduces nothing", name),
                      format("it goes with {}", join(names_of_kinds(true), ", ")));
  if (kind->reduces) collective.reduction = kReductions[flags.choice("--op").value_or(0)];
  const auto size = flags.bytes("--bytes");
  if (!size) throw usage_error("--bytes is missing", "--bytes 1MB is a message of 1,000,000 bytes");
  collective.size = *size;
  const auto ranks = flags.integer("--ranks", 2);
  if (!ranks) throw usage_error("--ranks is missing", "--ranks 8 are ranks 0 to 7");
  check_file_count(*ranks, "--ranks 8 writes 8 files");
  collective.ranks = *ranks;
  return collective;
}

// What this rank does; false when it does nothing.
bool fill_node(const Collective& collective, std::int64_t rank, TraceNode& node) {
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

struct Written {
  std::int64_t nodes = 0;
  Bytes bytes;
};

// All files or none.
Written write_collective(const Collective& collective, const TraceOutput& output, Console& console) {
  Written written;
  GlobalMetadata metadata;
  metadata.attributes.add_text("nadi_version", version());
  if (output.overwrite == Overwrite::kRefuse)
    for (std::int64_t rank = 0; rank < collective.ranks; ++rank) {
      console.check_interrupted();
      refuse_existing(output.file_of(rank));
    }
  ProgressLine progress(console, "ranks", steady_clock());
  std::vector<AtomicFile> files;
  TraceNode node;
  for (std::int64_t rank = 0; rank < collective.ranks; ++rank) {
    AtomicFile& file = files.emplace_back(output.file_of(rank), output.overwrite, files.size());
    ChakraWriter writer([&](std::string_view bytes) { file.write(bytes); }, metadata);
    if (fill_node(collective, rank, node)) {
      writer.write(node);
      ++written.nodes;
    }
    writer.finish();
    written.bytes += file.size();
    file.close(Durability::kLater);
    progress.update(rank + 1, collective.ranks);
  }
  const std::filesystem::path parent = output.file_of(0).parent_path();
  const std::filesystem::path folder = parent.empty() ? "." : parent;
  sync_file_system(folder);
  console.check_interrupted();
  for (AtomicFile& file : files) file.commit();
  sync_folder(folder);
  return written;
}

Json collective_json(const Collective& collective, const TraceOutput& output, const Written& written) {
  const std::string_view reduction = collective.reduction;
  return {{"nadi_version", version()},
          {"collective",
           {{"kind", collective.kind.name},
            {"op", reduction.empty() ? Json(nullptr) : Json(reduction)},
            {"bytes", collective.size.count()},
            {"ranks", collective.ranks}}},
          {"prefix", output.prefix},
          {"files", collective.ranks},
          {"nodes", written.nodes},
          {"bytes", written.bytes.count()}};
}

class TraceCollectiveCommand : public Command {
 public:
  void add_flags(Flags& flags) const override {
    flags.set_positional({.name = "KIND",
                          .help = format("{}; broadcast is from rank 0, send-receive from rank 0 to rank 1",
                                         join(names_of_kinds(false), ", ")),
                          .choices = names_of_kinds(false)});
    flags.add({.names = {"--bytes"},
               .value = "SIZE",
               .help = "what each rank puts in: bytes, or with a unit: 1MB, 1MiB, 64k",
               .fallback = "required"});
    flags.add({.names = {"--ranks"}, .value = "N", .help = "how many ranks", .fallback = "required"});
    flags.add({.names = {"--op"},
               .value = "OP",
               .help = format("how values are put together; {}", join(names_of_kinds(true), ", ")),
               .fallback = std::string(kReductions[0]),
               .choices = {kReductions.begin(), kReductions.end()}});
    add_trace_output_flags(flags);
  }

  void run(const Flags& flags, Console& console) const override {
    const Collective collective = resolve_collective(flags);
    const TraceOutput output = resolve_trace_output(flags);
    const Written written = write_collective(collective, output, console);
    if (flags.given("--json"))
      console.out << dump_json(collective_json(collective, output, written));
    else
      console.out << format("{}.*.et: {} files, {} nodes, {}\n", output.prefix,
                            with_thousands(collective.ranks), with_thousands(written.nodes),
                            to_string(written.bytes));
  }
};

}  // namespace

std::unique_ptr<Command> make_trace_collective_command() {
  return std::make_unique<TraceCollectiveCommand>();
}

}  // namespace nadi
