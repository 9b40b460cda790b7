#include "nadi/check/check_traces.h"

#include <algorithm>
#include <map>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/check/rank_check.h"
#include "nadi/check/rank_communication.h"
#include "nadi/check/rules.h"
#include "nadi/check/structure_check.h"
#include "nadi/trace/escape.h"
#include "nadi/trace/rank_files.h"

namespace nadi {
namespace {

struct RunFiles {
  std::vector<RankCommunication> ranks;
  std::filesystem::path groups_file;
  std::optional<GroupMembers> groups;
  std::size_t files = 0;  // all of the run, also those without a rank
};

class TracesCheck {
 public:
  TracesCheck(std::span<const std::filesystem::path> files, const CheckOptions& options)
      : paths_(files), options_(options), report_{.files = {}, .findings = Findings(options.kept_per_rule)} {
    std::vector<std::string_view> known;
    for (const Simulator& simulator : simulators()) known.push_back(simulator.name);
    for (const std::string& name : options.simulators)
      if (std::ranges::find(known, name) == known.end())
        throw usage_error(format("unknown simulator '{}'", name), did_you_mean(name, known));
  }

  CheckReport run() {
    for (const std::filesystem::path& path : paths_) {
      const RankFileName name = parse_rank_file_name(path);
      RunFiles& run = run_of(name);
      ++run.files;
      CheckedFile& file = report_.files.emplace_back();
      file.path = path;
      check_file(file, name, run);
    }
    for (auto& [name, run] : runs_) check_run(run);
    return std::move(report_);
  }

 private:
  Findings& findings() { return report_.findings; }

  RunFiles& run_of(const RankFileName& name) {
    const auto [entry, is_new] = runs_.try_emplace(name.run);
    RunFiles& run = entry->second;
    if (!is_new) return run;
    run.groups_file = name.groups_file;
    if (!std::filesystem::exists(run.groups_file)) return run;
    try {
      run.groups = read_group_members(run.groups_file);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInput) throw;
      add(rule::kGroupsFile, run.groups_file.string(), error);
    }
    return run;
  }

  void add(const Rule& rule, std::string file, const Error& error) {
    if (!findings().count(rule)) return;
    Finding finding{.rule = &rule, .file = std::move(file)};
    Place place = error.place();
    place.file.clear();
    const std::string where = place.to_string();
    finding.message = where.empty() ? error.message() : format("{}: {}", where, error.message());
    findings().keep(std::move(finding));
  }

  std::optional<Trace> read(CheckedFile& file) {
    ChakraReadOptions options;
    options.damaged_records = options_.damaged_records;
    options.checked = false;
    const std::size_t number = report_.files.size() - 1;
    if (options_.progress) options.progress = [&](std::uint64_t bytes) { options_.progress(number, bytes); };
    TraceFileReport read;
    try {
      Trace trace = read_any_trace(file.path, options, &read);
      file.kind = read.kind;
      file.stats = std::move(read.stats);
      return trace;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInput) throw;
      add(rule::kUnreadable, file.path.string(), error);
      file.readable = false;
      return std::nullopt;
    }
  }

  void check_file(CheckedFile& file, const RankFileName& name, RunFiles& run) {
    const std::optional<Trace> trace = read(file);
    if (!trace) return;
    const std::optional<std::int64_t> rank = rank_of(trace->metadata);
    file.rank = rank ? rank : name.rank;
    const CheckedTrace checked{.trace = &*trace, .file = file.path.string(), .rank = file.rank};
    if (rank && name.rank && *rank != *name.rank && findings().count(rule::kWrongRank))
      findings().keep(
          finding_about(checked, rule::kWrongRank,
                        format("the metadata says rank {}, the file's name {}", *rank, *name.rank)));
    check_damage(checked, file.stats);
    const StructureFacts structure = check_structure(checked, findings());
    file.edges = structure.edges;
    file.verdicts = ask_simulators({.checked = checked,
                                    .structure = structure,
                                    .kind = file.kind,
                                    .schema = file.stats.schema,
                                    .compressed = is_compressed(file.path),
                                    .damaged = is_damaged(file.stats),
                                    .groups = run.groups ? &*run.groups : nullptr});
    refuse_for_simulators(checked, file.verdicts);
    add_to_run(checked, run);
  }

  static bool is_compressed(const std::filesystem::path& path) {
    const std::string ending = path.extension().string();
    return ending == ".gz" || ending == ".zst";
  }

  static bool is_damaged(const ChakraReadStats& stats) {
    return stats.dropped_records > 0 || stats.replaced_characters > 0 || stats.cut_short;
  }

  void check_damage(const CheckedTrace& checked, const ChakraReadStats& stats) {
    const UnknownFields& unknown = stats.unknown_fields;
    if (unknown.count > 0 && findings().count(rule::kUnknownFields)) {
      const std::string first = unknown.first_name.empty() ? format("number {}", unknown.first_field)
                                                           : quote_for_message(unknown.first_name);
      Finding finding =
          finding_about(checked, rule::kUnknownFields,
                        format("{} field{} that the schema does not have; the first, {}, at byte {}",
                               unknown.count, unknown.count == 1 ? "" : "s", first, unknown.first_byte));
      finding.count = unknown.count;
      findings().keep(std::move(finding));
    }
    if (!is_damaged(stats) || !findings().count(rule::kDamaged)) return;
    std::string message =
        format("{} record{} left out", stats.dropped_records, stats.dropped_records == 1 ? "" : "s");
    if (stats.cut_short) message += ", the file is cut short";
    if (stats.replaced_characters > 0)
      message += format(", {} control characters taken as spaces", stats.replaced_characters);
    if (stats.first_dropped_byte)
      message += format("; the first at byte {}: {}", *stats.first_dropped_byte, stats.first_dropped_reason);
    findings().keep(finding_about(checked, rule::kDamaged, std::move(message)));
  }

  void refuse_for_simulators(const CheckedTrace& checked, std::span<const SimulatorVerdict> verdicts) {
    for (const SimulatorVerdict& verdict : verdicts) {
      if (std::ranges::find(options_.simulators, verdict.simulator) == options_.simulators.end()) continue;
      for (const SimulatorPoint& point : verdict.refusals) {
        const std::uint64_t times = std::max<std::uint64_t>(point.nodes, 1);
        if (!findings().count(rule::kRefused)) continue;
        std::string message = format("{} would refuse it: {}", verdict.simulator, point.what);
        if (point.nodes > 1) message += format(" ({} nodes, the first is this one)", point.nodes);
        Finding finding = finding_about(checked, rule::kRefused, std::move(message));
        finding.node = point.first;
        finding.node_name = point.first_name;
        finding.count = times;
        findings().keep(std::move(finding));
      }
    }
  }

  void add_to_run(const CheckedTrace& checked, RunFiles& run) {
    if (!checked.rank) return;
    const auto same = std::ranges::find(run.ranks, *checked.rank, &RankCommunication::rank);
    if (same == run.ranks.end()) {
      run.ranks.push_back(communication_of(checked, findings()));
    } else if (findings().count(rule::kDuplicateRank)) {
      findings().keep(finding_about(checked, rule::kDuplicateRank,
                                    format("is of rank {}, as {} is", *checked.rank, same->file)));
    }
  }

  void check_run(RunFiles& run) {
    if (run.ranks.empty()) return;
    std::ranges::sort(run.ranks, {}, &RankCommunication::rank);
    if (run.ranks.size() > 1) ++report_.runs;
    check_ranks(
        {.ranks = run.ranks, .groups = run.groups ? &*run.groups : nullptr, .groups_file = run.groups_file},
        findings());
  }

  std::span<const std::filesystem::path> paths_;
  const CheckOptions& options_;
  CheckReport report_;
  std::map<std::string, RunFiles> runs_;
};

}  // namespace

CheckReport check_traces(std::span<const std::filesystem::path> files, const CheckOptions& options) {
  return TracesCheck(files, options).run();
}

}  // namespace nadi
