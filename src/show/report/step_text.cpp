#include "nadi/report/step_text.h"
#include "nadi/report/models_table.h"

#include <algorithm>
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/graph/printer.h"
#include "nadi/model/dropout.h"
#include "nadi/parallel/expert_load.h"
#include "nadi/parallel/expert_room.h"
#include "nadi/parallel/model_parameters.h"
#include "nadi/parallel/rank_list.h"
#include "nadi/report/flag_settings.h"
#include "nadi/report/step_tables.h"
#include "nadi/step/step_answer.h"
#include "nadi/tables/report_table.h"
#include "nadi/tables/text_table.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_width.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kStepColumn = 12;

// A line of the header.
struct StepLine {
  std::string_view label;
  std::vector<std::string> words;
};
std::ostream& operator<<(std::ostream& out, const StepLine& line) {
  return out << labelled(line.label, kStepColumn, line.words, output_width(out));
}

std::string dropout_word(const ModelConfig& config) {
  if (!has_hidden_dropout(config)) return format("{} of attention", config.attention_dropout);
  if (config.embedding_dropout == config.attention_dropout &&
      config.attention_dropout == config.residual_dropout)
    return format("{}", config.embedding_dropout);
  return format("{} of embeddings, {} of attention, {} of the residual stream", config.embedding_dropout,
                config.attention_dropout, config.residual_dropout);
}

std::vector<std::string> parameter_words(const ModelConfig& config, std::int64_t parameters) {
  std::vector<std::string> words{with_thousands(parameters)};
  if (config.experts == 0) return words;
  words.back() += ",";
  words.push_back(
      format("{} of them active: those that a token meets", with_thousands(active_parameters(config))));
  return words;
}

// "all tokens are kept; a rank has room for 4 x the mean of rows"
std::vector<std::string> expert_words(const ResolvedStep& step) {
  const ExpertOptions& options = step.request.experts;
  std::vector<std::string> words;
  if (options.capacity_factor > 0)
    words.push_back(format("each takes at most {} x the mean of tokens{};", options.capacity_factor,
                           options.padded ? ", padded to that" : ""));
  else
    words.emplace_back("all tokens are kept;");
  if (step.plan.ep == 1) {
    words.emplace_back("every rank has all of them");
    return words;
  }
  constexpr std::int64_t kChoices = 1'000'000;
  const std::int64_t choices = kChoices * step.config.experts_per_token;
  const double room = static_cast<double>(rows_room(step.config, step.plan, options, {.choices = choices}));
  words.push_back(format("{} on a rank,", step.config.experts / step.plan.ep));
  if (const double busiest = busiest_rank(step.config, step.plan, options.load); busiest != 1)
    words.push_back(format("the busiest has {:.3g} x the mean of rows;", busiest));
  words.push_back(format("room for {:.3g} x the mean", room / static_cast<double>(choices)));
  return words;
}

std::string joined(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) text += format("{}{}", text.empty() ? "" : "-", number);
  return text;
}

std::string as_flag(const FlagSetting& setting) {
  const Json& value = setting.value;
  if (value.is_array()) return format("{} {}", setting.flag, joined(value.get<std::vector<std::int64_t>>()));
  if (value.is_boolean()) return setting.flag;
  if (value.is_string()) return format("{} {}", setting.flag, value.get<std::string>());
  if (value.is_number_float()) return format("{} {}", setting.flag, value.get<double>());
  return format("{} {}", setting.flag, value.get<std::int64_t>());
}

// As flags, so that they can be copied into the next command. A switch that is off is no flag.
std::vector<std::string> flags_that_are(bool given, const std::vector<FlagSetting>& settings) {
  std::vector<std::string> words;
  for (const FlagSetting& setting : settings) {
    const bool is_off = setting.value.is_boolean() && !setting.value.get<bool>();
    if (!setting.value.is_null() && !is_off && setting.given == given) words.push_back(as_flag(setting));
  }
  return words;
}

// "tp 8 x dp 4", or "tp 3, dp 1" for a place in it: axes with one rank are left out.
std::string along_axes(const Plan& plan, const Coordinates& numbers, std::string_view separator) {
  std::string text;
  const auto add = [&](std::string_view axis, std::int64_t degree, std::int64_t number) {
    if (degree > 1) text += format("{}{} {}", text.empty() ? "" : separator, axis, number);
  };
  add("tp", plan.tp, numbers.tp);
  add("cp", plan.cp, numbers.cp);
  add("dp", plan.dp, numbers.dp);
  add("pp", plan.pp, numbers.pp);
  return text;
}

std::string layers_word(const std::vector<std::int64_t>& layers) {
  std::string text;
  for (std::size_t first = 0, end = 0; first < layers.size(); first = end) {
    end = first + 1;
    while (end < layers.size() && layers[end] == layers[end - 1] + 1) ++end;
    text += text.empty() ? "" : ", ";
    text += end - first == 1 ? format("{}", layers[first]) : format("{}-{}", layers[first], layers[end - 1]);
  }
  if (text.empty()) return "no transformer layer";
  return format("layer{} {}", layers.size() == 1 ? "" : "s", text);
}

void print_plan(const StepAnswer& answer, Console& console) {
  const Plan& plan = answer.step.plan;
  std::vector<std::string> words{
      format("{} ranks:", with_thousands(plan.world_size())),
      along_axes(plan, {.tp = plan.tp, .cp = plan.cp, .dp = plan.dp, .pp = plan.pp}, " x ")};
  if (plan.pp > 1) {
    words.back() += format("; {},", to_string(plan.schedule));
    words.push_back(format("layers {}", joined(resolved_partition(answer.step.config, plan))));
  }
  const RankPlace& place = answer.place;
  console.out << StepLine{"plan", words}
              << StepLine{"rank",
                          {format("{} of 0 to {}:", to_number(place.rank), plan.world_size() - 1),
                           along_axes(plan, place.at, ", ") + ";", layers_word(place.layers) + ";",
                           format("{} parameters", with_thousands(answer.summary.parameters))}};
}

void print_header(const StepAnswer& answer, const std::vector<FlagSetting>& settings, Console& console) {
  const ResolvedStep& step = answer.step;
  const ModelConfig& config = step.config;
  const bool is_split = step.plan.world_size() > 1;
  const auto kind = std::ranges::find(step_kinds(), step.request.kind, &StepKindEntry::kind);
  const std::string micro_batches =
      step.plan.micro_batches > 1 ? format("; {} micro-batches", step.plan.micro_batches) : "";
  console.out << console.heading(config.name) << '\n'
              << StepLine{"type", {std::string(to_string(config.architecture))}}
              << StepLine{"shape", model_shape_words(config)}
              << StepLine{"parameters", parameter_words(config, answer.model_parameters)}
              << StepLine{"step", {format("{}: {}{}", kind->name, kind->summary, micro_batches)}};
  if (config.experts > 0) console.out << StepLine{"experts", expert_words(step)};
  if (const auto words = flags_that_are(true, settings); !words.empty())
    console.out << StepLine{"given", words};
  if (const auto words = flags_that_are(false, settings); !words.empty())
    console.out << StepLine{"by default", words};
  if (step.request.kind == StepKind::kTrain) console.out << StepLine{"dropout", {dropout_word(config)}};
  if (is_split) print_plan(answer, console);
}

// Tables are easier to read when nothing looks like nothing.
template <typename Unit>
std::string cell(Quantity<Unit> quantity) {
  return quantity.count() == 0 ? "-" : to_string(quantity);
}

void print_phases(const ProgramSummary& summary, Console& console) {
  console.out << '\n'
              << table_text(
                     phase_table(summary),
                     {.rows = 0, .bold_titles = console.colour_out, .width = table_width(console.out)});
}

bool same_work(const WorkSummary& a, const WorkSummary& b) {
  return a.ops == b.ops && a.linear == b.linear && a.head == b.head && a.attention == b.attention &&
         a.cost.matrix == b.cost.matrix && a.cost.vector == b.cost.vector && a.cost.read == b.cost.read &&
         a.cost.written == b.cost.written;
}

// "gradients.3" -> "gradients."; "" for a name without a number at its end.
std::string_view numbered_prefix(const LayerSummary& layer) {
  const std::size_t end = layer.name.find_last_not_of("0123456789") + 1;
  const bool numbered = layer.block < 0 && end > 0 && end < layer.name.size() && layer.name[end - 1] == '.';
  return numbered ? std::string_view(layer.name).substr(0, end) : std::string_view();
}

// Buckets of gradients: neighbours outside of blocks that only a number tells apart.
bool same_series(const LayerSummary& a, const LayerSummary& b) {
  return !numbered_prefix(a).empty() && numbered_prefix(a) == numbered_prefix(b);
}

bool same_cost(const LayerSummary& a, const LayerSummary& b) {
  return a.block >= 0 && b.block >= 0 && a.parameters == b.parameters &&
         std::ranges::equal(a.phases, b.phases, same_work);
}

class LayerTable {
 public:
  LayerTable(const ProgramSummary& summary, LayerRows rows) : summary_(summary), rows_(rows) {}

  TextTable make() const {
    std::vector<TextTable::Column> columns{{"layer", Align::kLeft}, {"parameters"}};
    for (std::size_t phase = 0; phase < kPhaseCount; ++phase)
      if (has_column(phase)) columns.push_back({std::string(to_string(static_cast<Phase>(phase)))});
    if (has_sum()) columns.push_back({"all FLOPs"});
    columns.push_back({"moved"});
    TextTable table(std::move(columns));
    const std::vector<LayerSummary>& layers = summary_.layers;
    for (std::size_t first = 0, end = 0; first < layers.size(); first = end) {
      end = end_of_row(first);
      if (end - first > 1 && same_series(layers[first], layers[first + 1]))
        table.add_row(series_cells(first, end));
      else
        table.add_row(cells(name_of(first, end), layers[first].parameters, layers[first].phases));
    }
    table.add_rule();
    table.add_row(cells("step", summary_.parameters, summary_.phases));
    return table;
  }

 private:
  // Updating parameters is little work everywhere: it is part of the sum without a column of its own.
  bool has_column(std::size_t phase) const {
    return summary_.phases[phase].ops > 0 && static_cast<Phase>(phase) != Phase::kOptimizer;
  }
  // A sum of one phase says nothing new, and next to three a line has no room for it.
  bool has_sum() const {
    return has_column(static_cast<std::size_t>(Phase::kBackward)) &&
           !has_column(static_cast<std::size_t>(Phase::kRecompute));
  }

  // Blocks that cost the same share a row with the figures of one; a series shares one with its sums.
  std::size_t end_of_row(std::size_t first) const {
    const std::vector<LayerSummary>& layers = summary_.layers;
    std::size_t end = first + 1;
    if (rows_ == LayerRows::kAll) return end;
    while (end < layers.size() &&
           (same_cost(layers[first], layers[end]) || same_series(layers[first], layers[end])))
      ++end;
    return end;
  }

  std::vector<std::string> series_cells(std::size_t first, std::size_t end) const {
    LayerSummary sum;
    for (std::size_t i = first; i < end; ++i) {
      sum.parameters += summary_.layers[i].parameters;
      for (std::size_t phase = 0; phase < kPhaseCount; ++phase)
        sum.phases[phase].cost += summary_.layers[i].phases[phase].cost;
    }
    const std::string& last = summary_.layers[end - 1].name;
    return cells(format("{}-{}", summary_.layers[first].name, last.substr(last.rfind('.') + 1)),
                 sum.parameters, sum.phases);
  }

  std::string name_of(std::size_t first, std::size_t end) const {
    const LayerSummary& layer = summary_.layers[first];
    if (layer.name.empty()) return "(no layer)";
    if (end - first == 1) return layer.name;
    return format("{}-{}  {} x", layer.name, summary_.layers[end - 1].block, end - first);
  }

  std::vector<std::string> cells(std::string name, std::int64_t parameters,
                                 const std::array<WorkSummary, kPhaseCount>& phases) const {
    std::vector<std::string> row{std::move(name), parameters == 0 ? "-" : with_thousands(parameters)};
    OpCost total;
    for (std::size_t phase = 0; phase < kPhaseCount; ++phase) {
      total += phases[phase].cost;
      if (has_column(phase)) row.push_back(cell(phases[phase].cost.flops()));
    }
    if (has_sum()) row.push_back(cell(total.flops()));
    row.push_back(cell(total.moved()));
    return row;
  }

  const ProgramSummary& summary_;
  LayerRows rows_;
};

void print_communication(const StepAnswer& answer, Console& console) {
  TextTable table({{"group", Align::kLeft}, {"size"}, {"ranks", Align::kLeft}, {"ops"}, {"sent"}});
  ProgramSummary::Communication total;
  for (const RankGroup& group : answer.place.groups) {
    if (group.members.size() < 2) continue;
    ProgramSummary::Communication own;
    const auto found = answer.summary.communication.find(std::string(to_string(group.kind)));
    if (found != answer.summary.communication.end()) own = found->second;
    total.ops += own.ops;
    total.sent += own.sent;
    table.add_row(
        {std::string(to_string(group.kind)), with_thousands(static_cast<std::int64_t>(group.members.size())),
         as_short_ranges(group.members), own.ops == 0 ? "-" : with_thousands(own.ops), cell(own.sent)});
  }
  table.add_rule();
  table.add_row({"step", "", "", with_thousands(total.ops), cell(total.sent)});
  console.out << '\n'
              << table.to_string({.bold_titles = console.colour_out, .width = table_width(console.out)});
}

void print_memory(const MemorySummary& memory, Console& console) {
  TextTable table({{"memory", Align::kLeft}, {"size"}});
  for (const MemoryShare& part : memory_parts(memory))
    if (part.size > 0_B) table.add_row({std::string(part.title), to_string(part.size)});
  table.add_rule();
  table.add_row({"total", to_string(memory.total())});
  console.out << '\n'
              << table.to_string({.bold_titles = console.colour_out, .width = table_width(console.out)});
  if (memory.slots > 1)
    console.out << format("activations are those of at most {} micro-batches under way at once\n",
                          memory.slots);
  if (memory.kept > 0_B)
    console.out << format("a micro-batch keeps {} for its backward pass, at most {} of it per block\n",
                          to_string(memory.kept), to_string(memory.kept_per_block));
  if (!memory.peak_op.empty())
    console.out << format("activations are at their peak in {}: {}\n", memory.peak_op,
                          to_string(memory.activations_live));
}

// What the engine of a device takes, with all that shapes do not show.
void print_device(const DeviceAnswer& device, Console& console) {
  TextTable table({{format("memory on {}", device.name), Align::kLeft}, {"size"}});
  for (const MemoryShare& part : memory_parts(device.memory))
    if (part.size > 0_B) table.add_row({std::string(part.title), to_string(part.size)});
  table.add_rule();
  table.add_row({"total", to_string(device.memory.total())});
  console.out << '\n'
              << table.to_string({.bold_titles = console.colour_out, .width = table_width(console.out)});
  console.out << format("a step is {} ops, computed by {} kernels\n", with_thousands(device.ops),
                        with_thousands(device.kernels));
}

}  // namespace

void print_step(const StepAnswer& answer, const std::vector<FlagSetting>& settings, LayerRows rows,
                Console& console) {
  print_header(answer, settings, console);
  print_phases(answer.summary, console);
  console.out << '\n'
              << LayerTable(answer.summary, rows)
                     .make()
                     .to_string({.bold_titles = console.colour_out, .width = table_width(console.out)});
  if (answer.step.plan.world_size() > 1) print_communication(answer, console);
  print_memory(answer.summary.memory, console);
  if (answer.device) print_device(*answer.device, console);
}

void print_sections(const Program& program, Console& console) {
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    const Graph& graph = program.graphs[g];
    // One line for each tensor that no op makes, then one for each op.
    const std::string text = print_graph(graph);
    const auto declarations = std::ranges::count(graph.tensors(), kNoOp, &Tensor::producer);
    std::size_t at = 0;
    const auto print_lines = [&](std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) {
        const std::size_t end = text.find('\n', at) + 1;
        check(end != 0, "print_graph() prints a line for each tensor that no op makes and for each op");
        console.out << std::string_view(text).substr(at, end - at);
        at = end;
      }
    };
    console.out << console.heading(format("# graph {} of {}", g + 1, program.graphs.size())) << '\n';
    print_lines(declarations);
    for (const Section& section : program.sections) {
      if (section.graph != g) continue;
      console.check_interrupted();
      console.out << console.heading(format("# section {}", section.name)) << '\n';
      print_lines(section.end_op - section.first_op);
    }
  }
}

}  // namespace nadi::inline show
