#include "nadi/check/check_traces.h"

#include <algorithm>
#include <map>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/base/nearest.h"
#include "nadi/check/rank_check.h"
#include "nadi/check/rank_communication.h"
#include "nadi/check/rules.h"
#include "nadi/check/run_deadlock.h"
#include "nadi/check/structure_check.h"
#include "nadi/trace/rank_files.h"

namespace nadi::inline traces {
namespace {

struct RunFiles {
  std::vector<RankCommunication> ranks;
  std::filesystem::path groups_file;
  std::optional<GroupMembers> groups;
  std::size_t files = 0;  // all of the run, also those without a rank
  std::vector<PlayedTrace> played;
  std::uint64_t played_nodes = 0;
};

// Nodes of a run, in all: they take half a gigabyte. Larger runs are not played.
constexpr std::uint64_t kMostPlayedNodes = 10'000'000;

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
    ChakraReadOptions options{.memory = options_.memory};
    options.damaged_records = options_.damaged_records;
    options.checked = false;
    const std::size_t number = report_.files.size() - 1;
    if (options_.progress) {
      options_.progress(number, 0);
      options.progress = [&](std::uint64_t bytes) { options_.progress(number, bytes); };
    }
    TraceFileReport read;
    try {
      Trace trace = read_any_trace(file.path, options, &read);
      file.kind = read.kind;
      file.stats = std::move(read.stats);
      return trace;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInput) throw;
      add(rule::kUnreadable, file.path.string(), error);
      if (const auto* wrong = dynamic_cast<const WrongFileKind*>(&error)) file.other_kind = wrong->found();
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
    const StructureFacts structure = check_structure(checked, findings(), options_.strict);
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
    const bool can_be_played = structure.missing_control + structure.missing_data == 0 && !structure.cycle &&
                               !structure.duplicate && trace->size() > 0;
    run.played_nodes += trace->size();
    if (!can_be_played || run.played_nodes > kMostPlayedNodes) return;
    run.played.push_back(played_trace({.checked = checked, .structure = structure}));
    run.played.back().file = report_.files.size() - 1;
  }

  // Whether all ranks of the run would finish, in the simulators that are known so well.
  void play_run(RunFiles& run) {
    std::ranges::sort(run.played, {}, &PlayedTrace::rank);
    std::size_t whole = 0;
    while (whole < run.played.size() && run.played[whole].rank == static_cast<std::int64_t>(whole)) ++whole;
    const bool talks = std::ranges::any_of(
        run.played, [](const PlayedTrace& trace) { return !trace.communication.empty(); });
    const bool is_alone = run.files == 1 && !talks;
    if (run.played.empty()) return;
    const auto remark = [&](std::size_t simulator, std::string what) {
      report_.files[run.played.front().file].verdicts[simulator].remarks.push_back({.what = std::move(what)});
    };
    const bool complete = whole == run.files && !missing_members(run) && (talks ? run.files > 1 : true);
    const bool times_decide = !std::ranges::all_of(run.played, &PlayedTrace::in_order) ||
                              std::ranges::any_of(run.played, &PlayedTrace::any_passed_over_with_roofline);
    std::optional<std::vector<PlayStop>> stops;
    for (std::size_t i = 0; i < simulators().size(); ++i) {
      const Simulator& simulator = simulators()[i];
      if (!simulator.played) continue;
      if (is_alone)
        remark(i,
               "its networks have two ranks at least: this trace has to be given twice, for ranks 0 and 1");
      if (!complete && !is_alone) {
        remark(i, run.played_nodes > kMostPlayedNodes
                      ? format("more than {} nodes: whether ranks wait for each other was not tried",
                               kMostPlayedNodes)
                      : "whether ranks wait for each other can be told only with the traces of all ranks");
        continue;
      }
      const bool refused = std::ranges::any_of(run.played, [&](const PlayedTrace& trace) {
        return !report_.files[trace.file].verdicts[i].takes();
      });
      if (refused) continue;
      if (!stops || times_decide)
        stops = play({.ranks = run.played, .groups = run.groups ? &*run.groups : nullptr}, *simulator.played);
      for (const PlayStop& stop : *stops) add_stop(run.played[stop.rank].file, i, stop);
    }
  }

  // Whether groups have ranks that are not in the run.
  static bool missing_members(const RunFiles& run) {
    if (!run.groups) return false;
    for (const auto& [group, members] : *run.groups)
      for (const std::int64_t member : members)
        if (member < 0 || member >= static_cast<std::int64_t>(run.files)) return true;
    return false;
  }

  void add_stop(std::size_t file_number, std::size_t simulator, const PlayStop& stop) {
    CheckedFile& file = report_.files[file_number];
    SimulatorVerdict& verdict = file.verdicts[simulator];
    verdict.refusals.push_back({.what = "the rank does not finish: " + stop.why,
                                .nodes = stop.node ? 1U : 0U,
                                .first = stop.node,
                                .first_name = stop.node_name});
    if (std::ranges::find(options_.simulators, verdict.simulator) == options_.simulators.end()) return;
    if (!findings().count(rule::kRefused)) return;
    Finding finding{.rule = &rule::kRefused, .file = file.path.string(), .rank = file.rank};
    finding.node = stop.node;
    finding.node_name = stop.node_name;
    finding.message = format("{} does not finish: {}", verdict.simulator, stop.why);
    findings().keep(std::move(finding));
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
    play_run(run);
    if (run.ranks.empty()) return;
    std::ranges::sort(run.ranks, {}, &RankCommunication::rank);
    if (run.ranks.size() > 1) ++report_.runs;
    const std::uint64_t errors = findings().total(Severity::kError);
    check_ranks(
        {.ranks = run.ranks, .groups = run.groups ? &*run.groups : nullptr, .groups_file = run.groups_file},
        findings());
    if (findings().total(Severity::kError) == errors) find_deadlock(run);
  }

  // For a run that is whole, whose collectives and messages have their partners.
  void find_deadlock(RunFiles& run) {
    if (run.files < 2 || run.played.size() != run.files || run.ranks.size() != run.files ||
        missing_members(run) || unknown_groups(run))
      return;
    const auto deadlock = find_run_deadlock(run.played, run.ranks);
    if (!deadlock || !findings().count(rule::kDeadlock)) return;
    const CheckedFile& file = report_.files[run.played[deadlock->rank].file];
    Finding finding{.rule = &rule::kDeadlock, .file = file.path.string(), .rank = file.rank};
    finding.node = deadlock->node;
    finding.node_name = deadlock->node_name;
    finding.message = deadlock->message;
    findings().keep(std::move(finding));
  }

  static bool unknown_groups(const RunFiles& run) {
    for (const PlayedTrace& trace : run.played)
      for (const PlayedCommunication& what : trace.communication)
        if (const std::string_view group = trace.texts.text(what.group);
            !group.empty() && (!run.groups || !run.groups->contains(group)))
          return true;
    return false;
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

}  // namespace nadi::inline traces
