// What the folder of a job says, put together for people: the figures behind the page, the text and the JSON
// of a report (draw/job_page.h, report/job_report_text.h, job_report_json.h).
//
//   const JobLog log = read_job_log({"log2/10932251"});
//   const JobReport report = make_job_report({.log = &log});
//   report.steady.mean                         // 1.40 s, without the warm-up
//   report.split.world_size, report.split.data // found in the logs, not typed
//
// Nothing is guessed: what the logs do not say is nothing here, and `notes` say what was left out, merged or
// damaged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nadi/job_log/job_log.h"
#include "nadi/job_log/setting_comparison.h"
#include "nadi/job_log/steady_time.h"
#include "nadi/job_report/device_grid.h"
#include "nadi/job_report/job_prediction.h"
#include "nadi/job_report/timer_table.h"

namespace nadi::inline jobs {

// How the job is split, by what the logs print: scripts' variables, Megatron's arguments, else what follows
// from the others (data = world / (tensor * context * pipeline)).
struct JobSplit {
  std::optional<std::int64_t> world_size = {}, nodes = {}, tensor = {}, pipeline = {}, data = {},
                              context = {}, virtual_stages = {}, micro_batch = {}, global_batch = {},
                              micro_batches = {}, seq_length = {};
  std::string model = {};

  std::optional<std::int64_t> ranks_per_node() const;
  // The pipeline stage of a rank: tensor parallelism is fastest, then context and data, then pipeline.
  std::optional<std::int64_t> stage_of(std::int64_t rank) const;
};

struct ReportedNode {
  std::string name = {};
  std::string folder = {};  // the name of its folder
  std::optional<std::int64_t> node_rank = {};
  std::optional<std::int64_t> first_rank = {};
  std::string devices = {};  // "8 x NVIDIA A100"
  std::optional<double> mean_utilisation = {}, most_temperature = {};
  std::optional<Bytes> most_memory = {};  // of one of its devices
  std::int64_t starts = 0, errors = 0, warnings = 0, damaged_lines = 0;
  Bytes size = {};
  std::vector<std::string> missing = {};   // endings of files that are not there: ".gpu"
  std::vector<std::string> problems = {};  // why files could not be read
};

// Memory of a rank as Megatron prints it, and the device's.
struct ReportedMemory {
  LoggedMemory line = {};
  std::string node = {};
  std::optional<Bytes> capacity = {};
};

// A finding of the rules of health (job_health/), as a report shows it.
struct ReportedFinding {
  std::string rule = {};
  std::string severity = {};  // "problem", "warning", "note"
  std::string text = {};
  std::vector<std::string> evidence = {};
};

// What the scheduler said, where there was one to ask.
struct ReportedScheduler {
  std::string scheduler = {};                                   // "slurm", "local"
  std::vector<std::pair<std::string, std::string>> facts = {};  // "state": "COMPLETED", "restarts": "1"
  std::vector<std::string> tail = {};                           // last lines of slurm.txt
};

struct JobReport {
  std::string id = {};     // "10932251"; two ids: "10932251 + 10932252"
  std::string title = {};  // "gpt2xl on 2 nodes"
  std::vector<std::filesystem::path> folders = {};
  JobSplit split = {};
  std::vector<ReportedNode> nodes = {};
  std::vector<std::int64_t> missing_node_ranks = {};  // below NNODES, of which there are no files
  std::vector<SettingRow> settings = {};

  std::vector<IterationPoint> points = {};
  SteadyTime steady = {};
  std::vector<ValidationPoint> validations = {};
  // Over the steady iterations.
  std::optional<double> samples_per_second = {}, tokens_per_second = {}, tflops_per_rank = {};
  std::optional<double> last_loss = {};  // may be NaN

  std::vector<ReportedMemory> memory = {};
  DeviceGrid devices = {};
  TimerTable timers = {};
  std::vector<ErrorGroup> errors = {};
  std::int64_t warnings = 0;
  std::vector<ReportedFinding> findings = {};
  bool rules_asked = false;  // else nobody looked (folder_report.h does)
  std::optional<ReportedScheduler> scheduler = {};
  std::optional<JobPrediction> prediction = {};
  std::vector<std::string> notes = {};

  // The newest iteration with its timers and their calls, for timelines; `iteration` 0: none.
  LoggedIteration timed_iteration = {};
};

struct JobReportInputs {
  const JobLog* log = nullptr;
  std::vector<AskedSetting> asked = {};  // by the job file; empty for folders of other scripts
  std::optional<ReportedScheduler> scheduler = {};
  // A plan that the job follows: predicted against measured.
  std::optional<std::filesystem::path> plan = {};
};

JobReport make_job_report(const JobReportInputs& inputs);

// Whether a value was printed by the program itself (Megatron's list of arguments), not by a script.
bool is_of_program(const SettingRow::Value& value);
// Whether nodes have values of their own by the setting's nature: NODE_RANK.
bool is_own_to_node(const SettingRow& row);
// What counts: what the program printed, else what most nodes printed, else what was asked for.
std::string value_in_effect(const SettingRow& row);

// Name and value of all settings that the nodes share, in the order of the report.
std::vector<std::pair<std::string, std::string>> settings_in_effect(const JobReport& report);

// In what the plan of the prediction and the job in effect differ, in words; empty where they agree or there
// is no plan. A prediction for another batch says nothing about the job.
std::vector<std::string> plan_differences(const JobReport& report);

}  // namespace nadi::inline jobs
