#include "nadi/job_report/job_report.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"

namespace nadi::inline jobs {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  if (!read_number(text, value)) return std::nullopt;
  return value;
}

const SettingRow* find_row(const std::vector<SettingRow>& rows, std::string_view name) {
  const auto row = std::ranges::find(rows, name, &SettingRow::name);
  return row == rows.end() ? nullptr : &*row;
}

std::optional<std::int64_t> positive_setting(const std::vector<SettingRow>& rows, std::string_view name) {
  const SettingRow* const row = find_row(rows, name);
  if (row == nullptr) return std::nullopt;
  const std::optional<std::int64_t> value = whole_number(value_in_effect(*row));
  return value && *value >= 1 ? value : std::nullopt;
}

// What follows from the rest. Ranks whose degrees nobody said may be split in any way.
void derive_data_and_micro_batches(JobSplit& split) {
  if (!split.data && split.world_size && split.tensor && split.pipeline) {
    const std::int64_t model_ranks = *split.tensor * split.context.value_or(1) * *split.pipeline;
    if (*split.world_size % model_ranks == 0) split.data = *split.world_size / model_ranks;
  }
  if (!split.global_batch || !split.data || !split.micro_batch) return;
  const std::int64_t together = *split.data * *split.micro_batch;
  if (*split.global_batch % together == 0) split.micro_batches = *split.global_batch / together;
}

JobSplit split_of(const std::vector<SettingRow>& rows, const std::vector<IterationPoint>& points) {
  const auto setting = [&](std::string_view name) { return positive_setting(rows, name); };
  JobSplit split{.world_size = setting("WORLD_SIZE"),
                 .nodes = setting("NNODES"),
                 .tensor = setting("TENSOR_MP_SIZE"),
                 .pipeline = setting("PIPELINE_MP_SIZE"),
                 .data = setting("DP_SIZE"),
                 .context = setting("CP_SIZE"),
                 .virtual_stages = setting("VIRTUAL_PIPELINE_MP_SIZE"),
                 .micro_batch = setting("MICRO_BATCH_SIZE"),
                 .global_batch = setting("GLOBAL_BATCH_SIZE"),
                 .seq_length = setting("SEQ_LENGTH")};
  if (const SettingRow* const model = find_row(rows, "MODEL")) split.model = value_in_effect(*model);
  // What the lines say counts: a script may print one batch and the program take another.
  if (!points.empty() && points.back().global_batch > 0) split.global_batch = points.back().global_batch;
  if (!split.world_size && split.nodes)
    if (const auto ranks = setting("NPROC_PER_NODE")) split.world_size = *split.nodes * *ranks;
  derive_data_and_micro_batches(split);
  return split;
}

// nadi train prints none of it: what the log does not say, the plan does that the job follows, if that has as
// many ranks.
void complete_split(JobReport& report) {
  if (!report.prediction) return;
  const JobPrediction& plan = *report.prediction;
  JobSplit& split = report.split;
  if (split.world_size != plan.ranks()) return;
  bool taken = false;
  const auto take = [&](std::optional<std::int64_t>& place, std::int64_t value) {
    taken = taken || !place;
    place = place.value_or(value);
  };
  take(split.tensor, plan.tensor);
  if (plan.context > 1) take(split.context, plan.context);
  take(split.data, plan.data);
  take(split.pipeline, plan.pipeline);
  take(split.micro_batch, plan.micro_batch);
  take(split.global_batch, plan.global_batch);
  take(split.seq_length, plan.seq_length);
  if (split.model.empty()) {
    split.model = std::filesystem::path(plan.model).stem().string();
    taken = true;
  }
  derive_data_and_micro_batches(split);
  if (taken)
    report.notes.emplace_back("what the log does not say of degrees, batches and model is that of the plan");
}

void add_node(JobReport& report, const JobLog& log, const NodeLog& node) {
  ReportedNode made{
      .name = node.name,
      .folder = log.folders[node.folder].filename().string(),
      .starts = static_cast<std::int64_t>(node.starts.size()),
      .errors = node.errors_left_out,
      .warnings = node.warnings,
      .damaged_lines = node.out.damaged_lines + node.err.damaged_lines + node.gpu.damaged_lines};
  for (const ErrorGroup& group : node.errors) made.errors += group.count;
  if (const PrintedSetting* const rank = node.find_setting("NODE_RANK"))
    made.node_rank = whole_number(rank->value);
  if (const auto ranks = report.split.ranks_per_node(); ranks && made.node_rank)
    made.first_rank = *made.node_rank * *ranks;
  const auto look = [&](const LogFile& file, std::string_view ending) {
    if (file.path.empty()) made.missing.emplace_back(ending);
    if (!file.problem.empty()) made.problems.push_back(format("{}: {}", ending, file.problem));
    made.size += file.size;
  };
  look(node.out, ".out");
  look(node.err, ".err");
  look(node.gpu, ".gpu");
  report.nodes.push_back(std::move(made));
}

// Figures of a node's devices, from the grid.
void add_devices(JobReport& report) {
  struct Sum {
    double utilisation = 0;
    std::int64_t measured = 0;
    std::vector<std::pair<std::string, std::int64_t>> names;
  };
  std::vector<Sum> sums(report.nodes.size());
  for (const GridDevice& device : report.devices.devices) {
    ReportedNode& node = report.nodes[device.node];
    Sum& sum = sums[device.node];
    const auto known =
        std::ranges::find(sum.names, device.name, &std::pair<std::string, std::int64_t>::first);
    if (known == sum.names.end())
      sum.names.emplace_back(device.name, 1);
    else
      ++known->second;
    if (!device.is_gpu) continue;
    if (device.mean_utilisation) {
      sum.utilisation += *device.mean_utilisation;
      ++sum.measured;
    }
    if (device.most_temperature)
      node.most_temperature = std::max(node.most_temperature.value_or(-1e9), *device.most_temperature);
    if (device.most_memory)
      node.most_memory = std::max(node.most_memory.value_or(Bytes{}), *device.most_memory);
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].measured > 0)
      report.nodes[i].mean_utilisation = sums[i].utilisation / static_cast<double>(sums[i].measured);
    for (const auto& [name, count] : sums[i].names) {
      std::string& devices = report.nodes[i].devices;
      if (!devices.empty()) devices += ", ";
      devices += count == 1 ? name : format("{} x {}", count, name);
    }
  }
}

// Where the node of a rank is known, the memory of the rank's device, too.
void add_memory(JobReport& report, const JobLog& log) {
  const std::optional<std::int64_t> ranks = report.split.ranks_per_node();
  for (std::size_t place = 0; place < log.nodes.size(); ++place)
    for (const LoggedMemory& line : log.nodes[place].memory) {
      ReportedMemory made{.line = line, .node = log.nodes[place].name};
      for (const GridDevice& device : report.devices.devices)
        if (ranks && device.node == place && device.is_gpu && device.index == line.rank % *ranks)
          made.capacity = device.memory_total;
      report.memory.push_back(std::move(made));
    }
  std::ranges::stable_sort(report.memory, {}, [](const ReportedMemory& memory) { return memory.line.rank; });
}

void find_missing_nodes(JobReport& report) {
  if (!report.split.nodes) return;
  constexpr std::int64_t kMostNodes = 1 << 20;  // a damaged number is no reason for a list of millions
  std::set<std::int64_t> seen;
  for (const ReportedNode& node : report.nodes)
    if (node.node_rank) seen.insert(*node.node_rank);
  // Without NODE_RANK nobody can say which one is missing.
  if (seen.size() != report.nodes.size() || *report.split.nodes > kMostNodes) return;
  for (std::int64_t rank = 0; rank < *report.split.nodes; ++rank)
    if (!seen.contains(rank)) report.missing_node_ranks.push_back(rank);
}

void add_throughput(JobReport& report) {
  if (report.steady.lines == 0 || report.steady.mean.count() <= 0) {
    for (auto point = report.points.rbegin(); point != report.points.rend(); ++point)
      if (point->tokens_per_second) {
        report.tokens_per_second = point->tokens_per_second;
        break;
      }
    return;
  }
  const double seconds = static_cast<double>(report.steady.mean.count()) / 1e9;
  double tflops = 0, tokens = 0, tflops_lines = 0, tokens_lines = 0;
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    const IterationPoint& point = report.points[i];
    if (!report.steady.counts(i) || point.timed_lines == 0) continue;
    if (point.tflops_per_rank) {
      tflops += *point.tflops_per_rank * static_cast<double>(point.lines);
      tflops_lines += static_cast<double>(point.lines);
    }
    if (point.tokens_per_second) {
      tokens += *point.tokens_per_second * static_cast<double>(point.lines);
      tokens_lines += static_cast<double>(point.lines);
    }
  }
  if (tflops_lines > 0) report.tflops_per_rank = tflops / tflops_lines;
  if (report.split.global_batch) {
    report.samples_per_second = static_cast<double>(*report.split.global_batch) / seconds;
    if (report.split.seq_length)
      report.tokens_per_second = *report.samples_per_second * static_cast<double>(*report.split.seq_length);
  }
  if (tokens_lines > 0) report.tokens_per_second = tokens / tokens_lines;
}

// The newest steady line that has timers; a line of the warm-up where no other has.
void add_timers(JobReport& report, const JobLog& log) {
  constexpr int kMostLooks = 8;
  const NodeLog* const node = iteration_node(log);
  if (node == nullptr) return;
  std::int64_t damaged = 0;
  int looks = 0;
  for (auto point = node->points.rbegin(); point != node->points.rend() && looks < kMostLooks;
       ++point, ++looks) {
    LoggedIteration iteration;
    try {
      iteration = read_timers(*node, *point, &damaged);
    } catch (const Error& error) {
      report.notes.push_back(format("timers of iteration {} were not read: {}", point->last, error.what()));
      break;
    }
    // The last block of a log may be cut: one with more timers may stand before it.
    if (iteration.timers.size() <= report.timed_iteration.timers.size()) {
      if (!report.timed_iteration.timers.empty()) break;
      continue;
    }
    report.timed_iteration = std::move(iteration);
  }
  report.timers =
      timer_table(report.timed_iteration, [&](std::int64_t rank) { return report.split.stage_of(rank); });
  if (damaged > 0)
    report.notes.push_back(format("{} damaged line{} among the timers that were read",
                                  with_thousands(damaged), damaged == 1 ? "" : "s"));
}

void add_notes(JobReport& report, const JobLog& log) {
  std::int64_t damaged = 0, long_lines = 0, errors_left_out = 0, settings_left_out = 0;
  for (const NodeLog& node : log.nodes) {
    for (const LogFile* file : {&node.out, &node.err, &node.gpu}) {
      damaged += file->damaged_lines;
      long_lines += file->long_lines;
      if (!file->problem.empty())
        report.notes.push_back(format("{} could not be read: {}", file->path.string(), file->problem));
    }
    errors_left_out += node.errors_left_out;
    settings_left_out += node.settings_left_out;
  }
  const auto note = [&](std::int64_t count, std::string_view one, std::string_view many) {
    if (count > 0) report.notes.push_back(format("{} {}", with_thousands(count), count == 1 ? one : many));
  };
  note(damaged, "line was cut or damaged: what stood behind the cut is not here",
       "lines were cut or damaged: what stood behind the cuts is not here");
  note(long_lines, "line was longer than 64 KiB: only its beginning was read",
       "lines were longer than 64 KiB: only their beginnings were read");
  note(errors_left_out, "line of an error fits none of the first 256 groups of its node",
       "lines of errors fit none of the first 256 groups of their nodes");
  note(settings_left_out, "setting beyond the first 1,024 of its node was left out",
       "settings beyond the first 1,024 of their nodes were left out");
  if (report.points.empty())
    report.notes.emplace_back(
        "no node printed an iteration: the last rank does, and its file may be missing");
  if (report.steady.unsure)
    report.notes.emplace_back("one line has a time: whether it is warm-up cannot be told");
  if (report.steady.merged)
    report.notes.emplace_back(
        "the log has more lines of iterations than are kept: neighbours are merged, sums and extremes are "
        "exact");
  if (report.devices.merged)
    report.notes.emplace_back(
        "samples of devices are merged: use and power are means, temperature and memory the greatest values");
}

std::string ids_of(const std::vector<std::filesystem::path>& folders) {
  std::string ids;
  for (const std::filesystem::path& folder : folders) {
    std::filesystem::path named = folder.lexically_normal();
    if (!named.has_filename()) named = named.parent_path();
    ids += (ids.empty() ? "" : " + ") + named.filename().string();
  }
  return ids;
}

std::string title_of(const JobReport& report) {
  const std::int64_t nodes = report.split.nodes.value_or(static_cast<std::int64_t>(report.nodes.size()));
  std::string title = report.split.model.empty() ? format("job {}", report.id) : report.split.model;
  title += format(" on {} node{}", nodes, nodes == 1 ? "" : "s");
  return title;
}

}  // namespace

std::optional<std::int64_t> JobSplit::ranks_per_node() const {
  if (!world_size || !nodes || *nodes == 0 || *world_size % *nodes != 0) return std::nullopt;
  return *world_size / *nodes;
}

std::optional<std::int64_t> JobSplit::stage_of(std::int64_t rank) const {
  if (!world_size || !pipeline || *world_size % *pipeline != 0 || rank < 0 || rank >= *world_size)
    return std::nullopt;
  return rank / (*world_size / *pipeline);
}

JobReport make_job_report(const JobReportInputs& inputs) {
  check(inputs.log != nullptr, "a report without a log");
  const JobLog& log = *inputs.log;
  JobReport report{.id = ids_of(log.folders),
                   .folders = log.folders,
                   .settings = compare_settings(log, inputs.asked),
                   .points = iterations_of(log),
                   .devices = device_grid(log),
                   .errors = log.errors,
                   .scheduler = inputs.scheduler};
  report.split = split_of(report.settings, report.points);
  if (inputs.plan) report.prediction = predict_job(*inputs.plan);
  complete_split(report);
  report.steady = steady_time(report.points);
  for (const NodeLog& node : log.nodes) {
    add_node(report, log, node);
    report.warnings += node.warnings;
    if (report.validations.size() < node.validations.size()) report.validations = node.validations;
  }
  report.title = title_of(report);
  for (auto point = report.points.rbegin(); point != report.points.rend() && !report.last_loss; ++point)
    report.last_loss = point->loss;
  add_devices(report);
  add_memory(report, log);
  find_missing_nodes(report);
  add_throughput(report);
  add_timers(report, log);
  add_notes(report, log);
  return report;
}

bool is_of_program(const SettingRow::Value& value) {
  return std::ranges::any_of(value.printed_as, [](char c) { return c >= 'a' && c <= 'z'; });
}

bool is_own_to_node(const SettingRow& row) {
  // Nothing can be compared with one node alone.
  if (row.name == "NODE_RANK") return true;
  return row.in_effect.size() > 1 && !row.differs &&
         std::ranges::any_of(row.in_effect, [&](const SettingRow::Value& value) {
           return !same_setting(value.text, row.in_effect.front().text);
         });
}

std::string value_in_effect(const SettingRow& row) {
  const SettingRow::Value* best = nullptr;
  for (const SettingRow::Value& value : row.in_effect) {
    if (is_of_program(value)) return value.text;
    if (best == nullptr || value.nodes.size() > best->nodes.size()) best = &value;
  }
  return best != nullptr ? best->text : row.asked.value_or("");
}

std::vector<std::pair<std::string, std::string>> settings_in_effect(const JobReport& report) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const SettingRow& row : report.settings)
    if (!is_own_to_node(row)) settings.emplace_back(row.name, value_in_effect(row));
  return settings;
}

std::vector<std::string> plan_differences(const JobReport& report) {
  std::vector<std::string> differences;
  if (!report.prediction) return differences;
  const JobPrediction& plan = *report.prediction;
  const auto look = [&](std::string_view name, std::int64_t planned,
                        const std::optional<std::int64_t>& found) {
    if (found && *found != planned)
      differences.push_back(format("{}: {} in the plan, {} in the job", name, planned, *found));
  };
  look("ranks", plan.ranks(), report.split.world_size);
  look("tensor parallelism", plan.tensor, report.split.tensor);
  look("context parallelism", plan.context, report.split.context);
  look("data parallelism", plan.data, report.split.data);
  look("pipeline stages", plan.pipeline, report.split.pipeline);
  look("micro-batch", plan.micro_batch, report.split.micro_batch);
  look("global batch", plan.global_batch, report.split.global_batch);
  look("sequence length", plan.seq_length, report.split.seq_length);
  return differences;
}

}  // namespace nadi::inline jobs
