#include "nadi/analysis/run_reading.h"

#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/chakra/trace_files.h"
#include "nadi/check/group_members.h"
#include "nadi/convert/converted_trace.h"
#include "nadi/input/content_kind.h"
#include "nadi/pytorch/kineto_reader.h"
#include "nadi/trace/rank_files.h"

namespace nadi::inline traces {
namespace {

namespace fs = std::filesystem;

GroupSizes sizes_beside(const fs::path& trace) {
  const fs::path file = parse_rank_file_name(trace).groups_file;
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return {};
  GroupSizes sizes;
  for (const auto& [group, members] : read_group_members(file))
    sizes.emplace(group, static_cast<std::int64_t>(members.size()));
  return sizes;
}

// The files by kind.
struct RunInput {
  std::vector<fs::path> chakra = {}, profiles = {}, hosts = {};
};

RunInput sort_files(const std::vector<fs::path>& files) {
  RunInput input;
  for (const fs::path& file : files) {
    std::error_code ignored;
    const FileKind kind = fs::exists(file, ignored) ? content_kind(file) : FileKind::kUnknown;
    const bool is_profile = kind == FileKind::kKineto || kind == FileKind::kSqlite;
    (is_profile                       ? input.profiles
     : kind == FileKind::kPytorchHost ? input.hosts
                                      : input.chakra)
        .push_back(file);
  }
  if (!input.chakra.empty() && input.chakra.size() < files.size())
    throw usage_error(
        format("{} is a Chakra trace, and other files are of PyTorch", input.chakra[0].string()),
        "give them on their own, or convert all of them to Chakra traces first");
  if (!input.profiles.empty() && !input.hosts.empty() && input.hosts.size() != input.profiles.size())
    throw usage_error(
        format("{} traces of the host and {} profiles", input.hosts.size(), input.profiles.size()),
        "they are taken in pairs, in the order of their names");
  return input;
}

class RunReading {
 public:
  RunReading(const std::vector<fs::path>& files, const RunReadingOptions& options,
             const std::function<void(const ReadRank&)>& take)
      : reading_(options), take_(take), progress_(files, options.progress) {}

  void run(const std::vector<fs::path>& files) {
    const RunInput input = sort_files(files);
    group_sizes_ = sizes_beside(files.front());
    if (files.size() > 1) group_sizes_.try_emplace("0", static_cast<std::int64_t>(files.size()));
    const bool hosts_alone = input.profiles.empty();
    for (std::size_t i = 0; i < input.chakra.size(); ++i) {
      const Trace trace = read_trace(input.chakra[i]);
      add(trace, input.chakra[i], nadi::rank_of(trace.metadata), i);
    }
    for (std::size_t i = 0; i < input.profiles.size(); ++i)
      add_profile(input.profiles[i], input.hosts.empty() ? nullptr : &input.hosts[i], i);
    for (std::size_t i = 0; hosts_alone && i < input.hosts.size(); ++i) {
      const std::int64_t rank = number_of(std::nullopt, input.hosts[i], i);
      const ConvertedTrace converted({.host = read_host(input.hosts[i]), .rank = rank}, groups_);
      add(to_trace(converted), input.hosts[i], rank, i);
    }
  }

 private:
  JsonDamage damage() const { return reading_.lenient ? JsonDamage::kSkip : JsonDamage::kRefuse; }

  // Bytes that are read from here on are of this file.
  std::function<void(std::uint64_t)> watch(const fs::path& file) {
    progress_.begin(file);
    return progress_.within_file();
  }

  void note(const fs::path& file, std::string_view text) const {
    if (reading_.note) reading_.note(format("{}{}", file.string(), text));
  }
  void note(const fs::path& file, std::uint64_t count, std::string_view what) const {
    if (count > 0) note(file, format(": {} {}", with_thousands(static_cast<std::int64_t>(count)), what));
  }
  void note_damage(const fs::path& file, std::uint64_t records, std::uint64_t characters,
                   bool cut_short) const {
    note(file, records, "damaged records dropped");
    note(file, characters, "control characters taken as spaces");
    if (cut_short) note(file, " is cut short");
  }
  void note_damage(const fs::path& file, const JsonRecordCounts& damage) const {
    note_damage(file, damage.dropped_records, damage.replaced_characters, damage.cut_short);
  }

  Trace read_trace(const fs::path& file) {
    ChakraReadOptions options{.memory = reading_.memory, .progress = watch(file)};
    if (reading_.lenient) options.damaged_records = DamagedRecords::kSkip;
    if (!reading_.strict) options.missing_parents = MissingParents::kDrop;
    TraceFileReport report;
    Trace trace = read_any_trace(file, options, &report);
    note(file, report.stats.dropped_dependencies, "dependencies on nodes that are not there dropped");
    note_damage(file, report.stats.dropped_records, report.stats.replaced_characters, report.stats.cut_short);
    return trace;
  }

  std::shared_ptr<const HostTrace> read_host(const fs::path& file) {
    auto host = std::make_shared<const HostTrace>(read_host_trace(
        file, {.damage = damage(), .memory = reading_.memory, .attributes = true, .progress = watch(file)}));
    note_damage(file, host->damage);
    return host;
  }

  void add_profile(const fs::path& file, const fs::path* host_file, std::size_t place) {
    const auto kineto = std::make_shared<const KinetoTrace>(read_kineto(
        file, {.damage = damage(), .memory = reading_.memory, .attributes = true, .progress = watch(file)}));
    note_damage(file, kineto->counts.damage);
    note(file, kineto->counts.without_duration, "events without a duration dropped");
    const std::shared_ptr<const HostTrace> host = host_file != nullptr ? read_host(*host_file) : nullptr;
    const std::vector<ProfiledRank> ranks = profiled_ranks(*kineto);
    if (ranks.size() > 1 && host != nullptr)
      throw usage_error(
          format("{} holds {} processes, and {} one", file.string(), ranks.size(), host_file->string()));
    if (ranks.size() > 1) group_sizes_.insert_or_assign("0", static_cast<std::int64_t>(ranks.size()));
    if (kineto->world_size) group_sizes_.insert_or_assign("0", *kineto->world_size);
    for (std::size_t k = 0; k < ranks.size(); ++k) {
      const std::size_t position = ranks.size() > 1 ? k : place;
      const std::int64_t rank = number_of(ranks[k].rank, file, position);
      const ConvertedTrace converted(
          {.kineto = kineto, .host = host, .process = ranks[k].process, .rank = rank}, groups_);
      if (converted.size() == 0)
        throw input_error({.file = file.string()}, "no event of this profile becomes a node");
      for (const auto& [group, members] : groups_.members())
        if (!members.empty())
          group_sizes_.insert_or_assign(format("{}", group), static_cast<std::int64_t>(members.size()));
      add(to_trace(converted), file, rank, position);
    }
  }

  void add(const Trace& trace, const fs::path& file, const std::optional<std::int64_t>& said,
           std::size_t place) {
    const std::int64_t rank = number_of(said, file, place);
    const auto [other, is_new] = ranks_.emplace(rank, file);
    if (!is_new)
      throw usage_error(format("{} and {} are both of rank {}", other->second.string(), file.string(), rank),
                        "give the traces of one run, one for each rank");
    take_({.trace = trace, .file = file.string(), .rank = rank, .groups = group_sizes_});
  }

  static std::int64_t number_of(const std::optional<std::int64_t>& said, const fs::path& file,
                                std::size_t place) {
    if (said) return *said;
    return parse_rank_file_name(file).rank.value_or(static_cast<std::int64_t>(place));
  }

  const RunReadingOptions& reading_;
  const std::function<void(const ReadRank&)>& take_;
  GroupSizes group_sizes_;  // that files name
  ReadProgress progress_;
  GroupNumbers groups_;
  std::map<std::int64_t, fs::path> ranks_;
};

}  // namespace

void read_run(const std::vector<fs::path>& files, const RunReadingOptions& options,
              const std::function<void(const ReadRank&)>& take) {
  RunReading(files, options, take).run(files);
}

std::optional<Nanoseconds> base_time_of(const Trace& trace) {
  const TraceAttribute* base = trace.metadata.attributes.find("base_time_ns");
  const std::optional<std::int64_t> said = base != nullptr ? base->integer() : std::nullopt;
  return said ? std::optional(Nanoseconds{*said}) : std::nullopt;
}

}  // namespace nadi::inline traces
