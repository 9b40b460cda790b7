#include "nadi/report/submitted_job_report.h"

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/version.h"
#include "nadi/job_scripts/local_script.h"
#include "nadi/job_scripts/slurm_script.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/wrapping_buffer.h"

namespace nadi::inline show {
namespace {

std::vector<std::string> scripts_of(const JobFile& job) {
  std::vector<std::string> texts;
  switch (job.scheduler) {
    case SchedulerKind::kLocal:
      texts.push_back(local_script(job));
      break;
    case SchedulerKind::kSlurm:
      for (SlurmScript& script : slurm_scripts(job)) texts.push_back(std::move(script.text));
      break;
  }
  return texts;
}

Json head_json(const JobFile& job) {
  return Json{{"nadi_version", version()}, {"name", job.name},     {"scheduler", to_string(job.scheduler)},
              {"nodes", job.nodes()},      {"ranks", job.ranks()}, {"runs", job.sweep.runs()}};
}

}  // namespace

void print_dry_run(const JobFile& job, bool json, Console& console) {
  const std::vector<std::string> scripts = scripts_of(job);
  if (json) {
    Json root = head_json(job);
    root["job"] = Json::parse(job_file_text(job));
    root["scripts"] = scripts;
    console.out << dump_json(root);
    return;
  }
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    if (i > 0)
      console.out << format("\n# ---- script {} of {}: {} stands for the id of the first job\n", i + 1,
                            scripts.size(), kMasterJobMark);
    print_verbatim(console.out, scripts[i]);
  }
}

void print_submitted(const JobFile& job, const SubmittedJob& submitted, bool json, Console& console) {
  if (json) {
    Json root = head_json(job);
    root["id"] = submitted.id;
    root["component_ids"] = submitted.component_ids;
    root["folder"] = submitted.folder.string();
    console.out << dump_json(root);
    return;
  }
  console.out << format("job {}\nfolder {}\n", submitted.id, submitted.folder.string());
}

}  // namespace nadi::inline show
