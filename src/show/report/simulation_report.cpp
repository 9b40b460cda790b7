#include "nadi/report/simulation_report.h"

#include <algorithm>
#include <ostream>

#include "nadi/base/format.h"
#include "nadi/base/version.h"
#include "nadi/model/compute_dtypes.h"
#include "nadi/report/assumptions_report.h"
#include "nadi/report/simulation_tables.h"
#include "nadi/step/step_settings.h"
#include "nadi/tables/report_facts.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kFigureColumn = 14;
constexpr std::size_t kShownClasses = 16;
constexpr std::size_t kShownParts = 5;

// With so many digits that a figure of a thousandth of a cent is no zero.
std::string dollars(double amount) {
  return amount >= 100 ? format("{} $", with_thousands(static_cast<std::int64_t>(amount + 0.5)))
                       : format("{:.3g} $", amount);
}

std::string energy(double joules) {
  return joules >= 1e6   ? format("{:.3g} MJ", joules / 1e6)
         : joules >= 1e3 ? format("{:.3g} kJ", joules / 1e3)
                         : format("{:.3g} J", joules);
}

// The class whose memory is fullest, as a share of its device.
const SimulatedClass* fullest(const SimulationView& view) {
  const SimulatedClass* found = nullptr;
  const auto share = [](const SimulatedClass& ranks) {
    const double capacity = static_cast<double>(ranks.memory.capacity.count());
    return static_cast<double>(ranks.memory.peak.count()) / (capacity > 0 ? capacity : 1e18);
  };
  for (const SimulatedClass& ranks : view.result.classes)
    if (ranks.memory.peak.count() > 0 && (found == nullptr || share(ranks) > share(*found))) found = &ranks;
  return found;
}

std::vector<std::string> throughput_words(const SimulationFigures& figures) {
  if (!figures.samples_per_second) return {};
  return {speed_text(*figures.samples_per_second) + " samples/s,",
          speed_text(*figures.tokens_per_second) + " tokens/s"};
}

std::vector<std::string> memory_words(const SimulationView& view) {
  const SimulatedClass* ranks = fullest(view);
  if (ranks == nullptr) return {};
  const SimulatedMemory& memory = ranks->memory;
  std::vector<std::string> words{to_string(memory.peak)};
  if (memory.capacity.count() > 0) words.push_back(format("of {}", to_string(memory.capacity)));
  words.push_back(format("at most, on rank {}", to_number(ranks->ranks[0])));
  return words;
}

std::vector<std::string> cost_words(const SimulationFigures& figures) {
  if (!figures.dollars_per_step) return {};
  std::vector<std::string> words{dollars(*figures.dollars_per_step) + " per step,"};
  if (figures.dollars_per_million_tokens)
    words.push_back(dollars(*figures.dollars_per_million_tokens) + " per million tokens,");
  words.push_back(dollars(*figures.dollars_per_hour) + " per hour");
  return words;
}

Nanoseconds exposed_of(const SimulatedClass& ranks, std::string_view group) {
  Nanoseconds sum{};
  for (const CommunicationShare& share : ranks.breakdown.communication)
    if (share.group == group) sum += share.exposed;
  return sum;
}

// What follows a pipeline, on the rank that has most of it; the rest of the iteration is the pipeline.
std::vector<std::string> pipeline_words(const SimulationView& view) {
  if (view.step == nullptr || view.step->plan.pp < 2) return {};
  const auto reductions = [](const SimulatedClass& ranks) {
    return exposed_of(ranks, "dp") + exposed_of(ranks, "embedding");
  };
  const auto most = std::ranges::max_element(view.result.classes, {}, reductions);
  if (most == view.result.classes.end() || reductions(*most).count() == 0) return {};
  const Nanoseconds optimizer = most->breakdown.compute[static_cast<std::size_t>(Phase::kOptimizer)];
  const Nanoseconds messages = exposed_of(*most, "pp");
  return {format("pipeline {},",
                 to_string(view.result.iteration_time - messages - reductions(*most) - optimizer)),
          format("messages between stages {},", to_string(messages)),
          format("data-parallel reductions {},", to_string(exposed_of(*most, "dp"))),
          format("shared embedding {},", to_string(exposed_of(*most, "embedding"))),
          format("optimizer {}", to_string(optimizer)),
          format("(rank {})", to_number(most->ranks[0]))};
}

std::vector<std::string> dtype_words(const SimulationView& view) {
  if (view.step == nullptr) return {};
  std::vector<std::string> words{std::string(name_of(view.step->request.dtype))};
  if (view.assumed.overlap.gradient_dtype)
    words.push_back(format("with gradients reduced in {}", name_of(*view.assumed.overlap.gradient_dtype)));
  return words;
}

std::vector<std::string> measured_words(const SimulationView& view) {
  if (!view.measured || view.measured->count() == 0) return {};
  const double ratio =
      static_cast<double>(view.result.iteration_time.count()) / static_cast<double>(view.measured->count());
  std::vector<std::string> words{
      to_string(*view.measured) + ":",
      format("predicted is {:.1f}% {}", std::abs(ratio - 1) * 100, ratio >= 1 ? "longer" : "shorter")};
  // Layer times alone, without what the step does besides: when they say more than the whole took, they are
  // not those of this run.
  if (!view.assumed.layer_times.empty() && ratio > 1.03)
    words.push_back(format("(so these layer times are too long by about {:.0f}%)", (ratio - 1) * 100));
  return words;
}

std::vector<ReportFact> figure_facts(const SimulationView& view) {
  const SimulationFigures& figures = view.figures;
  std::vector<ReportFact> facts;
  const auto add = [&](std::string title, std::vector<std::string> words) {
    if (!words.empty())
      facts.push_back({.name = {"", std::move(title), CellKind::kText}, .words = std::move(words)});
  };
  add("iteration", {to_string(view.result.iteration_time)});
  add("of that", pipeline_words(view));
  add("measured", measured_words(view));
  add("computed in", dtype_words(view));
  for (ReportFact& fact : assumption_facts(view.assumed)) facts.push_back(std::move(fact));
  add("throughput", throughput_words(figures));
  if (figures.model_flops_utilization)
    add("MFU",
        {format("{:.1f}%", *figures.model_flops_utilization * 100), "of the peak of all devices in use"});
  add("memory", memory_words(view));
  add("cost", cost_words(figures));
  if (figures.joules_per_step) add("energy", {energy(*figures.joules_per_step), "per step at full power"});
  return facts;
}

std::string sources_text(const TimeSourceCounts& sources) {
  std::string text;
  const auto add = [&](std::int64_t count, std::string_view what) {
    if (count > 0) text += format("{}{} {}", text.empty() ? "" : ", ", with_thousands(count), what);
  };
  add(sources.model, "by the model");
  add(sources.measured, "measured");
  add(sources.interpolated, "between measurements");
  add(sources.given, "from layer times");
  add(sources.recorded, "recorded");
  add(sources.scaled, "recorded and scaled by the devices' ratio");
  add(sources.unknown, "of unknown duration, taken as 0");
  return text;
}

// Devices in use whose times the model gave, each once, with where its constants come from.
std::vector<std::pair<std::string, std::string>> curve_sources(const SimulationView& view) {
  std::vector<std::pair<std::string, std::string>> list;
  if (view.result.sources.model == 0) return list;
  for (const SimulatedClass& ranks : view.result.classes) {
    const DeviceSpec& device = view.cluster.device(ranks.device);
    const auto known = std::ranges::find(list, device.name, &std::pair<std::string, std::string>::first);
    if (known != list.end()) continue;
    const auto source = std::ranges::find(device.sources, "curve", &FigureSource::figure);
    list.emplace_back(device.name, source == device.sources.end() ? "not said" : source->source);
  }
  return list;
}

Json sources_counts_json(const TimeSourceCounts& sources) {
  return {{"model", sources.model},    {"measured", sources.measured}, {"interpolated", sources.interpolated},
          {"given", sources.given},    {"recorded", sources.recorded}, {"scaled", sources.scaled},
          {"unknown", sources.unknown}};
}

template <typename Value>
Json value_or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

Json parts_json(const SimulatedMemory& memory) {
  Json parts = Json::array();
  for (const MemoryPart& part : memory.at_peak)
    parts.push_back({{"what", part.what}, {"bytes", part.size.count()}});
  return parts;
}

Json memory_peak_json(const SimulationView& view) {
  const SimulatedClass* ranks = fullest(view);
  if (ranks == nullptr) return nullptr;
  return {{"rank", to_number(ranks->ranks[0])},
          {"peak_bytes", ranks->memory.peak.count()},
          {"capacity_bytes", ranks->memory.capacity.count()},
          {"fits", !ranks->memory.exceeded_at.has_value()},
          {"at_peak", parts_json(ranks->memory)}};
}

}  // namespace

std::string out_of_memory_text(const SimulationView& view) {
  for (const SimulatedClass& ranks : view.result.classes) {
    const SimulatedMemory& memory = ranks.memory;
    if (!memory.exceeded_at) continue;
    std::string text =
        format("out of memory: rank {} needs {}, and {} has {}; first at {}", to_number(ranks.ranks[0]),
               to_string(memory.peak), view.cluster.device(ranks.device).name, to_string(memory.capacity),
               to_string(*memory.exceeded_at));
    for (std::size_t i = 0; i < std::min(memory.at_peak.size(), kShownParts); ++i)
      text += format("{}{} {}", i == 0 ? "; at the peak " : ", ", memory.at_peak[i].what,
                     to_string(memory.at_peak[i].size));
    return text;
  }
  return "";
}

std::string few_micro_batches_text(const SimulationView& view) {
  if (view.step == nullptr || view.assumed.framework == nullptr) return "";
  const std::int64_t stages = view.step->plan.pp, micro_batches = view.step->plan.micro_batches;
  if (micro_batches >= stages || stages < 2) return "";
  double idle = 0;
  for (const SimulatedClass& ranks : view.result.classes)
    idle += to_seconds(ranks.breakdown.bubble) * static_cast<double>(ranks.ranks.size());
  const double all = to_seconds(view.result.iteration_time) * static_cast<double>(view.result.ranks);
  return format(
      "{} micro-batch{} for {} stages: ranks wait for each other {:.0f}% of the time; a smaller "
      "--micro-batch-size or a larger batch gives at least {} micro-batches",
      micro_batches, micro_batches == 1 ? "" : "es", stages, all > 0 ? 100 * idle / all : 0, stages);
}

SimulationView view_of(const SimulationAnswer& answer) {
  return {.subject = answer.asked.step.config.name,
          .cluster = answer.asked.cluster,
          .result = answer.result,
          .assumed = answer.asked.assumed,
          .step = &answer.asked.step,
          .figures = answer.figures,
          .what_if = answer.what_if};
}

SimulationView view_of(const TraceSimulationAnswer& answer) {
  return {.subject = answer.subject,
          .cluster = answer.cluster,
          .result = answer.result,
          .assumed = answer.assumed,
          .figures = answer.figures,
          .what_if = answer.what_if};
}

Json simulation_json(const SimulationView& view) {
  const SimulationFigures& figures = view.figures;
  Json root{{"iteration_time_s", figures.iteration_seconds}, {"nadi_version", version()}};
  root["subject"] = view.subject;
  root["cluster"] = {{"name", view.cluster.name},
                     {"nodes", view.cluster.nodes.size()},
                     {"devices", view.cluster.device_count()}};
  if (view.step) {
    const Json resolved = resolved_json(*view.step);
    for (const char* part : {"model", "step", "plan"}) root[part] = resolved.at(part);
  }
  root["world_size"] = view.result.ranks;
  root["gradient_reduction_dtype"] =
      view.assumed.overlap.gradient_dtype ? Json(name_of(*view.assumed.overlap.gradient_dtype)) : Json();
  root["framework"] = view.assumed.framework != nullptr ? Json(view.assumed.framework->name) : Json();
  root["assumed"] = assumptions_json(view.assumed);
  root["samples_per_s"] = value_or_null(figures.samples_per_second);
  root["tokens_per_s"] = value_or_null(figures.tokens_per_second);
  root["model_flops_utilization"] = value_or_null(figures.model_flops_utilization);
  root["cost"] = {{"dollars_per_hour", value_or_null(figures.dollars_per_hour)},
                  {"dollars_per_step", value_or_null(figures.dollars_per_step)},
                  {"dollars_per_million_tokens", value_or_null(figures.dollars_per_million_tokens)}};
  root["energy"] = {{"watts", value_or_null(figures.watts)},
                    {"joules_per_step", value_or_null(figures.joules_per_step)}};
  root["fullest_memory"] = memory_peak_json(view);
  root["ranks"] = table_json(simulated_ranks_table(view));
  root["communication"] = table_json(simulated_communication_table(view));
  root["memory"] = table_json(simulated_memory_table(view));
  for (std::size_t i = 0; i < view.result.classes.size(); ++i)
    root["memory"][i]["at_peak"] = parts_json(view.result.classes[i].memory);
  root["traffic"] = table_json(simulated_traffic_table(view));
  root["links"] = table_json(simulated_links_table(view));
  root["what_if"] = table_json(what_if_table(view));
  root["measured"] = view.measured
                         ? Json{{"iteration_time_s", to_seconds(*view.measured)},
                                {"error", figures.iteration_seconds / to_seconds(*view.measured) - 1}}
                         : Json();
  root["nodes"] = {{"all", view.result.nodes}, {"simulated", view.result.simulated_nodes}};
  root["time_sources"] = sources_counts_json(view.result.sources);
  root["model_constants"] = Json::array();
  for (const auto& [device, source] : curve_sources(view))
    root["model_constants"].push_back({{"device", device}, {"source", source}});
  return root;
}

void print_simulation(const SimulationView& view, std::ostream& out, const ReportStyle& style) {
  out << style.heading(format("{} on {}", view.subject, view.cluster.name)) << "  "
      << format("{} rank{}, {} class{}\n", with_thousands(view.result.ranks),
                view.result.ranks == 1 ? "" : "s", view.result.classes.size(),
                view.result.classes.size() == 1 ? "" : "es");
  out << facts_text(figure_facts(view), kFigureColumn, style.width);
  const auto print = [&](const ReportTable& table) {
    if (table.rows.empty()) return;
    out << "\n"
        << style.heading(table.title) << (table.note.empty() ? "" : "  " + table.note) << "\n"
        << table_text(table, {.rows = kShownClasses,
                              .bold_titles = style.colour,
                              .width = style.table_width,
                              .more = ", in --json"});
  };
  print(simulated_ranks_table(view, RankRows::kByFigures));
  print(simulated_communication_table(view));
  const bool has_memory = std::ranges::any_of(
      view.result.classes, [](const SimulatedClass& ranks) { return ranks.memory.peak.count() > 0; });
  if (has_memory) print(simulated_memory_table(view, RankRows::kByFigures));
  print(simulated_traffic_table(view));
  print(what_if_table(view));
  if (const std::string sources = sources_text(view.result.sources); !sources.empty())
    out << "\ntimes of computation: " << sources << "\n";
  for (const auto& [device, source] : curve_sources(view))
    out << format("constants of {}: {}\n", device, source);
}

}  // namespace nadi::inline show
