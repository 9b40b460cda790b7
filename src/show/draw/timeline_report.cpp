#include "nadi/draw/timeline_report.h"

#include <algorithm>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/base/version.h"
#include "nadi/tables/text_table.h"
#include "nadi/terminal/output_width.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kShownRanks = 16;
constexpr std::size_t kShownStages = 32;

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  return format("{} {}", with_thousands(count), count == 1 ? one : many);
}

std::string share_text(Nanoseconds part, Nanoseconds whole) {
  if (whole.count() == 0) return "";
  return format("{:.1f}%", 100 * static_cast<double>(part.count()) / static_cast<double>(whole.count()));
}

}  // namespace

std::string timeline_subtitle(const TimelineSummary& summary) {
  return format("{}, {}, {}", counted(static_cast<std::int64_t>(summary.ranks.size()), "rank", "ranks"),
                to_string(summary.end - summary.start), counted(summary.events, "event", "events"));
}

Json timeline_json(const TimelineSummary& summary, const std::filesystem::path& file, Bytes size) {
  Json ranks = Json::array();
  for (const TimelineRankSummary& rank : summary.ranks)
    ranks.push_back({{"rank", rank.rank},
                     {"file", rank.file},
                     {"events", rank.events},
                     {"lanes", rank.lanes},
                     {"compute_ns", rank.compute.count()},
                     {"communication_ns", rank.communication.count()},
                     {"memory_ns", rank.memory.count()},
                     {"host_ns", rank.host.count()},
                     {"span_ns", rank.span.count()},
                     {"idle_ns", rank.idle.count()}});
  return {{"nadi_version", version()},
          {"file", file.string()},
          {"bytes", size.count()},
          {"events", summary.events},
          {"start_ns", summary.start.count()},
          {"end_ns", summary.end.count()},
          {"launches", summary.launches},
          {"messages", summary.messages},
          {"collectives", summary.collectives},
          {"dependencies", summary.dependencies},
          {"left_out", summary.left_out},
          {"without_times", summary.without_times},
          {"ranks", std::move(ranks)}};
}

void print_timeline(const TimelineSummary& summary, const std::filesystem::path& file, Bytes size,
                    std::ostream& out) {
  out << format("{}: {}, {}\n", file.string(), timeline_subtitle(summary), to_string(size));
  std::vector<std::string> links;
  const auto add = [&links](std::int64_t count, std::string_view one, std::string_view many) {
    if (count > 0) links.push_back(counted(count, one, many));
  };
  add(summary.launches, "launch", "launches");
  add(summary.messages, "message", "messages");
  add(summary.collectives, "collective across ranks", "collectives across ranks");
  add(summary.dependencies, "dependency", "dependencies");
  if (!links.empty()) out << format("linked: {}\n", fmt::join(links, ", "));
  if (summary.left_out > 0)
    out << format("left out by the selection: {}\n", with_thousands(summary.left_out));
  if (summary.without_times > 0)
    out << format("left out, since they have no times: {}\n", with_thousands(summary.without_times));
  out << "\n";
  TextTable table(
      {{"rank"}, {"events"}, {"span"}, {"compute"}, {"communication"}, {"memory"}, {"host"}, {"idle"}});
  std::size_t shown = 0;
  for (const TimelineRankSummary& rank : summary.ranks) {
    if (++shown > kShownRanks) break;
    table.add_row({format("{}", rank.rank), with_thousands(rank.events), to_string(rank.span),
                   to_string(rank.compute), to_string(rank.communication), to_string(rank.memory),
                   to_string(rank.host), share_text(rank.idle, rank.span)});
  }
  out << table.to_string({.width = table_width(out)});
  if (summary.ranks.size() > kShownRanks)
    out << format("{} more ranks: --json has all\n", summary.ranks.size() - kShownRanks);
}

std::string pipeline_subtitle(const PipelineSummary& summary) {
  return format("{}{}, {}, {}, bubble {:.1f}%{}",
                summary.pipelines > 1 ? counted(summary.pipelines, "pipeline", "pipelines") + " of " : "",
                counted(summary.stage_count, "stage", "stages"),
                counted(summary.micro_batches, "micro-batch", "micro-batches"),
                counted(summary.steps, "step", "steps"), 100 * summary.bubble_share(),
                summary.reconstructed ? ", reconstructed" : "");
}

Json pipeline_json(const PipelineSummary& summary, const std::filesystem::path& file, Bytes size) {
  Json stages = Json::array();
  for (const PipelineStageSummary& stage : summary.stages)
    stages.push_back(
        {{"pipeline", stage.pipeline},
         {"stage", stage.stage},
         {"rank", stage.rank},
         {"forwards", stage.forwards},
         {"backwards", stage.backwards},
         {"forward_ns", stage.forward.count()},
         {"backward_ns", stage.backward.count()},
         {"window_ns", stage.window.count()},
         {"bubble_ns", stage.bubble.count()},
         {"bubble_share", stage.bubble_share()},
         {"timed_bubble_share", stage.timed_bubble_share ? Json(*stage.timed_bubble_share) : Json(nullptr)}});
  return {{"nadi_version", version()},
          {"file", file.string()},
          {"bytes", size.count()},
          {"pipelines", summary.pipelines},
          {"stage_count", summary.stage_count},
          {"micro_batches", summary.micro_batches},
          {"steps", summary.steps},
          {"boxes", summary.boxes},
          {"reconstructed", summary.reconstructed},
          {"start_ns", summary.start.count()},
          {"end_ns", summary.end.count()},
          {"bubble_share", summary.bubble_share()},
          {"stages", std::move(stages)}};
}

void print_pipeline(const PipelineSummary& summary, const std::filesystem::path& file, Bytes size,
                    std::ostream& out) {
  out << format("{}: {}, {}\n", file.string(), pipeline_subtitle(summary), to_string(size));
  if (summary.reconstructed) out << "reconstructed from mean times: the log does not say when work ran\n";
  out << "\n";
  const bool several = summary.pipelines > 1;
  std::vector<TextTable::Column> columns;
  if (several) columns.push_back({"pipeline"});
  for (const char* title : {"stage", "rank", "forward", "backward", "window", "bubble", "share"})
    columns.push_back({title});
  const bool timed = std::ranges::any_of(
      summary.stages, [](const PipelineStageSummary& stage) { return stage.timed_bubble_share.has_value(); });
  if (timed) columns.push_back({"by timers"});
  TextTable table(std::move(columns));
  std::size_t shown = 0;
  for (const PipelineStageSummary& stage : summary.stages) {
    if (++shown > kShownStages) break;
    std::vector<std::string> cells;
    if (several) cells.push_back(format("{}", stage.pipeline));
    for (std::string cell : {format("{}", stage.stage), format("{}", stage.rank), to_string(stage.forward),
                             to_string(stage.backward), to_string(stage.window), to_string(stage.bubble),
                             format("{:.1f}%", 100 * stage.bubble_share())})
      cells.push_back(std::move(cell));
    if (timed)
      cells.push_back(stage.timed_bubble_share ? format("{:.1f}%", 100 * *stage.timed_bubble_share) : "");
    table.add_row(std::move(cells));
  }
  out << table.to_string({.width = table_width(out)});
  if (summary.stages.size() > kShownStages)
    out << format("{} more: --json has all\n", summary.stages.size() - kShownStages);
}

}  // namespace nadi::inline show
