#include "nadi/convert/convert_files.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/version.h"
#include "nadi/chakra/trace_files.h"
#include "nadi/convert/converted_trace.h"
#include "nadi/input/read_progress.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/rank_files.h"

namespace nadi::inline traces {
namespace {

namespace fs = std::filesystem;

bool is_kept_for_simulators(std::string_view name) {
  namespace names = attribute_name;
  constexpr std::array kKept{
      names::kIsCpuOp,      names::kNumOps,       names::kTensorSize,        names::kCommType,
      names::kCommSize,     names::kCommSrc,      names::kCommDst,           names::kCommTag,
      names::kCommPriority, names::kProcessGroup, names::kInvolvedDimensions};
  return std::ranges::find(kKept, name) != kKept.end() || name == "category" || name == "stream" ||
         name == "device";
}

std::vector<fs::path> files_of(const ConvertInput& input) {
  std::vector<fs::path> files;
  for (const auto* some : {&input.chakra, &input.devices, &input.hosts})
    files.insert(files.end(), some->begin(), some->end());
  return files;
}

class Conversion {
 public:
  Conversion(const ConvertInput& input, const ConvertOutput& output, const ConvertOptions& options)
      : input_(input),
        output_(output),
        options_(options),
        nodes_{.simulate_only = options.simulate_only, .num_ops = options.num_ops},
        files_(output),
        progress_(files_of(input), options.progress) {
    if (output.overwrite == Overwrite::kRefuse && output.is_file) refuse_existing(output.file_of(0));
  }

  ConvertSummary run() {
    summary_.format = output_.format;
    for (std::size_t i = 0; i < input_.chakra.size(); ++i) convert_chakra(i);
    if (!input_.workload.empty()) convert_workload();
    for (std::size_t i = 0; i < input_.devices.size(); ++i) convert_profile(i);
    if (input_.devices.empty())
      for (std::size_t i = 0; i < input_.hosts.size(); ++i) convert_host(i);
    const bool has_groups = !groups_.empty();
    if (has_groups) summary_.groups_file = output_.groups_file();
    files_.publish(has_groups ? groups_.to_json() : "");
    std::ranges::stable_sort(summary_.files, {}, &ConvertedFile::rank);
    return std::move(summary_);
  }

 private:
  void convert_chakra(std::size_t i) {
    const fs::path& path = input_.chakra[i];
    progress_.begin(path);
    ChakraReadOptions reading{.memory = options_.memory};
    reading.progress = progress_.within_file();
    if (options_.lenient) reading.damaged_records = DamagedRecords::kSkip;
    if (!options_.strict) reading.missing_parents = MissingParents::kDrop;
    TraceFileReport read;
    Trace trace = read_any_trace(path, reading, &read);
    const std::int64_t rank =
        rank_of(nadi::rank_of(trace.metadata), parse_rank_file_name(path).rank, i, path);
    ConvertedFile& file = summary_.files.emplace_back();
    file.nodes = trace.size();
    for (std::size_t row = 0; row < trace.size(); ++row)
      file.edges += trace.ctrl_deps(row).size() + trace.data_deps(row).size();
    file.dropped_dependencies = read.stats.dropped_dependencies;
    const JsonRecordCounts damage{.records = read.stats.nodes,
                                  .bytes = read.stats.bytes,
                                  .dropped_records = read.stats.dropped_records,
                                  .replaced_characters = read.stats.replaced_characters,
                                  .cut_short = read.stats.cut_short,
                                  .first_dropped_byte = read.stats.first_dropped_byte,
                                  .first_dropped_reason = read.stats.first_dropped_reason};
    if (damage.damaged() && trace.size() == 0)
      throw input_error({.file = path.string()}, "the file has no node of a trace",
                        "PyTorch's traces are JSON; Chakra's are .et, or JSON with nodes");
    if (damage.damaged()) file.damage.emplace_back(path.string(), damage);
    // Simulators do not get `inclusive_ns`: the metadata says what the durations of host nodes mean.
    if (options_.simulate_only && trace.text_number("inclusive_ns") &&
        trace.metadata.attributes.find("host_durations") == nullptr)
      trace.metadata.attributes.add_text("host_durations", "exclusive");
    TraceNode whole;
    const auto get = [&](std::size_t row, TraceNode& node) {
      if (!options_.simulate_only) {
        trace.get(row, node);
        return;
      }
      trace.get(row, whole);
      keep_for_simulators(whole, node);
    };
    write(file, rank, trace.metadata, {.size = trace.size(), .get = get});
  }

  void convert_workload() {
    const LayerWorkload workload = read_layer_workload(input_.workload);
    const LayerWorkloadTrace trace(workload, options_.workload);
    if (output_.is_file && trace.ranks() > 1)
      throw usage_error(format("{} is of {} ranks", workload.file, trace.ranks()),
                        "name the start of the output files, without the rank and the extension");
    if (trace.size() == 0)
      throw input_error({.file = workload.file}, format("nothing of this workload takes time on {} rank{}",
                                                        trace.ranks(), trace.ranks() == 1 ? "" : "s"));
    if (workload.stages > 1)
      note(format("{} has the layers of one of {} stages, without the messages between them", workload.file,
                  workload.stages));
    if (workload.ignored_words > 0)
      note(format("{} has {} values behind the last one of a layer, which are left out", workload.file,
                  workload.ignored_words));
    GlobalMetadata metadata;
    metadata.attributes.add_text("nadi_version", version());
    metadata.attributes.add_text("workload", to_string(workload.kind));
    for (std::int64_t rank = 0; rank < trace.ranks(); ++rank) {
      ConvertedFile& file = summary_.files.emplace_back();
      file.nodes = trace.size();
      file.edges = trace.dependencies();
      const LayerWorkloadTrace::Groups groups = trace.group_numbers(rank, groups_);
      write(file, rank, metadata, {.size = trace.size(), .get = [&](std::size_t row, TraceNode& node) {
                                     trace.get(row, groups, node);
                                   }});
    }
  }

  static void keep_for_simulators(const TraceNode& whole, TraceNode& node) {
    node.clear();
    node.id = whole.id;
    node.name = whole.name;
    node.type = whole.type;
    node.ctrl_deps = whole.ctrl_deps;
    node.data_deps = whole.data_deps;
    node.start = whole.start;
    node.duration = whole.duration;
    for (const TraceAttribute& attribute : whole.attributes)
      if (is_kept_for_simulators(attribute.name)) node.attributes.add_borrowed(attribute);
  }

  void convert_profile(std::size_t i) {
    const fs::path& path = input_.devices[i];
    progress_.begin(path);
    const auto kineto =
        std::make_shared<const KinetoTrace>(read_kineto(path, {.damage = damage(),
                                                               .time_unit = options_.time_unit,
                                                               .memory = options_.memory,
                                                               .attributes = true,
                                                               .progress = progress_.within_file()}));
    std::shared_ptr<const HostTrace> host;
    if (!input_.hosts.empty()) host = read_host(i);
    const std::vector<ProfiledRank> ranks = profiled_ranks(*kineto);
    if (ranks.size() > 1) {
      if (host != nullptr)
        throw usage_error(format("{} holds {} processes, and {} one", path.string(), ranks.size(),
                                 input_.hosts[i].string()));
      if (output_.is_file || options_.rank)
        throw usage_error(format("{} holds {} ranks", path.string(), ranks.size()),
                          "name the start of the output files, without the rank and the extension");
    }
    for (std::size_t k = 0; k < ranks.size(); ++k) {
      const std::size_t place = ranks.size() > 1 ? k : i;
      const auto by_name = output_.is_file ? parse_rank_file_name(output_.name).rank : std::nullopt;
      const std::int64_t rank = rank_of(ranks[k].rank, by_name, place, path);
      convert_rank({.kineto = kineto, .host = host, .process = ranks[k].process, .rank = rank});
    }
  }

  void convert_host(std::size_t i) {
    const fs::path& path = input_.hosts[i];
    const std::shared_ptr<const HostTrace> host = read_host(i);
    const auto by_output = output_.is_file ? parse_rank_file_name(output_.name).rank : std::nullopt;
    convert_rank({.host = host, .rank = rank_of(by_output, parse_rank_file_name(path).rank, i, path)});
  }

  std::shared_ptr<const HostTrace> read_host(std::size_t i) {
    progress_.begin(input_.hosts[i]);
    return std::make_shared<const HostTrace>(read_host_trace(
        input_.hosts[i], {.damage = damage(),
                          .memory = options_.memory,
                          .attributes = !options_.simulate_only || options_.num_ops,  // shapes are among them
                          .progress = progress_.within_file()}));
  }

  JsonDamage damage() const { return options_.lenient ? JsonDamage::kSkip : JsonDamage::kRefuse; }

  void convert_rank(const ConversionSource& source) {
    const ConvertedTrace trace(source, groups_, nodes_);
    const ConversionReport& report = trace.report();
    if (source.kineto != nullptr && source.host != nullptr) check_pair(source, report);
    if (trace.size() == 0)
      throw input_error(
          {.file = source.kineto != nullptr ? source.kineto->file : source.host->file},
          source.kineto != nullptr ? "no event of this profile becomes a node" : "this trace has no nodes");
    ConvertedFile& file = summary_.files.emplace_back();
    file.nodes = report.nodes;
    file.edges = report.control_edges + report.data_edges;
    file.report = report;
    file.has_host = source.host != nullptr;
    file.has_profile = source.kineto != nullptr;
    file.host_left_open = source.host != nullptr && source.host->damage.left_open;
    file.own_run = trace.is_own_run();
    if (source.kineto != nullptr) {
      file.without_duration = source.kineto->counts.without_duration;
      file.unfinished = source.kineto->counts.unfinished;
      if (source.kineto->counts.damage.damaged())
        file.damage.emplace_back(source.kineto->file, source.kineto->counts.damage);
    }
    if (source.host != nullptr && source.host->damage.damaged())
      file.damage.emplace_back(source.host->file, source.host->damage);
    GlobalMetadata metadata = trace.metadata();
    metadata.attributes.add_text("nadi_version", version());
    write(file, source.rank, metadata,
          {.size = trace.size(), .get = [&](std::size_t row, TraceNode& node) { trace.get(row, node); }});
  }

  void note(const std::string& text) const {
    if (options_.note) options_.note(text);
  }

  void check_pair(const ConversionSource& source, const ConversionReport& report) const {
    // A profile that began late may have no ops.
    if (report.matched == 0 && report.places > 1)
      throw input_error(
          {.file = source.host->file},
          format("the ops of this trace lie in {} places of {}, and neither file says which is meant",
                 report.places, source.kineto->file),
          "record both files over the same steps, or with PyTorch 2.2 or later, which numbers ops in both");
    if (report.matched == 0 && report.host_nodes > 0 && report.unmatched_events > 0)
      throw input_error({.file = source.host->file},
                        format("no node of this trace is an op of {}", source.kineto->file),
                        "both files must be of the same rank and run, recorded at the same time");
    const auto is_thread = [](const KinetoLane& lane) { return !lane.device; };
    const auto of_host = [&](const KinetoLane& lane) { return lane.process == source.host->process; };
    if (source.host->process != 0 && std::ranges::any_of(source.kineto->lanes, is_thread) &&
        std::ranges::none_of(source.kineto->lanes, of_host))
      note(format("{} is of process {}, and {} of another", source.host->file, source.host->process,
                  source.kineto->file));
  }

  // The rank that was asked for; else what the file says; else the number in the file's or the output's name;
  // else the file's place in the list.
  std::int64_t rank_of(const std::optional<std::int64_t>& said, const std::optional<std::int64_t>& by_name,
                       std::size_t place, const fs::path& path) {
    const std::int64_t rank =
        options_.rank.value_or(said.value_or(by_name.value_or(static_cast<std::int64_t>(place))));
    const auto [other, is_new] = ranks_.emplace(rank, path);
    if (!is_new)
      throw usage_error(format("{} and {} are both of rank {}", other->second.string(), path.string(), rank),
                        "give the traces of one run, one for each rank");
    return rank;
  }

  void write(ConvertedFile& file, std::int64_t rank, const GlobalMetadata& metadata,
             const NodeSource& nodes) {
    file.rank = rank;
    file.file = output_.file_of(rank);
    file.bytes = files_.write(rank, metadata, nodes, [&] { progress_.tick(); });
  }

  const ConvertInput& input_;
  const ConvertOutput& output_;
  const ConvertOptions& options_;
  const ConversionOptions nodes_;
  GroupNumbers groups_;
  std::map<std::int64_t, fs::path> ranks_;  // that were converted
  ConvertSummary summary_;
  ConvertFiles files_;
  ReadProgress progress_;
};

}  // namespace

ConvertSummary convert_files(const ConvertInput& input, const ConvertOutput& output,
                             const ConvertOptions& options) {
  return Conversion(input, output, options).run();
}

}  // namespace nadi::inline traces
