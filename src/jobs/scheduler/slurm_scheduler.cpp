#include "nadi/scheduler/slurm_scheduler.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/base/natural_order.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/job_files/resumed_words.h"
#include "nadi/job_scripts/slurm_script.h"
#include "nadi/scheduler/job_folder.h"
#include "nadi/scheduler/slurm_text.h"

namespace nadi::inline jobs {
namespace {

namespace fs = std::filesystem;

// How far back `list --all` looks.
constexpr std::chrono::hours kRemembered{7 * 24};

JobTime time_now() {
  return std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
}

void check_id(const std::string& id) {
  const auto parsed = parse_slurm_id(id);
  if (parsed && parsed->task.find('[') == std::string::npos) return;
  throw usage_error(format("'{}' is not the id of a job", id),
                    "ids of Slurm are numbers: 12, 12_3 for a run of an array");
}

// The newest row of each job, in the order of the ids. What squeue says counts: accounts are written later.
// For seconds they may even have a job by its number alone, without the id of the heterogeneous job or the
// array that it is a part of, and under the name "allocation". So rows are matched by their numbers.
std::vector<JobStatus> newest(const std::vector<JobStatus>& accounts, const std::vector<JobStatus>& queue) {
  std::map<std::string, JobStatus> jobs;
  std::map<std::string, std::int64_t> runs;
  for (const JobStatus& row : accounts) {
    ++runs[row.number];
    jobs.insert_or_assign(row.number, row);
  }
  for (auto& [number, job] : jobs) job.restarts = runs[number] - 1;
  for (const JobStatus& row : queue) {
    const auto [place, is_new] = jobs.try_emplace(row.number, row);
    if (is_new) continue;
    const JobStatus account = std::exchange(place->second, row);
    JobStatus& job = place->second;
    job.restarts = account.restarts;
    if (has_ended(job.state) && has_ended(account.state)) {
      job.said = account.said;
      job.exit_code = account.exit_code;
      job.signal = account.signal;
    }
  }
  std::vector<JobStatus> list;
  for (auto& [number, job] : jobs) list.push_back(std::move(job));
  std::ranges::sort(list, natural_less, &JobStatus::id);
  return list;
}

// Several rows of one job: components of Slurm's, runs of an array, or jobs that belong together.
JobStatus as_one(const std::string& id, std::vector<JobStatus> rows) {
  rows = with_components(std::move(rows));
  if (rows.size() == 1 && rows.front().id == id) return rows.front();
  return joined_job(id, std::move(rows));
}

// The folder of a job before it has an id: among the others, under a name that no job has. Gone with the
// object, by its last name, unless it is kept.
class StagedFolder {
 public:
  explicit StagedFolder(const fs::path& outputs) {
    std::error_code error;
    fs::create_directories(outputs, error);
    std::string name = (outputs / ".submit-XXXXXX").string();
    if (error || mkdtemp(name.data()) == nullptr)
      throw environment_error(format("cannot make a folder in {}: {}", outputs.string(),
                                     error ? error.message() : std::generic_category().message(errno)));
    path_ = name;
    // As every other folder; mkdtemp() makes it for this user alone.
    const mode_t mask = umask(0);
    umask(mask);
    fs::permissions(path_, static_cast<fs::perms>(0777 & ~mask), error);
  }
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;
  ~StagedFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  const fs::path& path() const { return path_; }
  // A folder of that name is of a job before Slurm began to count anew: its files are replaced one by one.
  void rename(const fs::path& path) {
    std::error_code error;
    fs::rename(path_, path, error);
    if (!error) path_ = path;
  }
  // Where it could not be renamed, what is left is not wanted.
  void keep() {
    if (path_.filename().string().starts_with(".submit-")) return;
    path_.clear();
  }

 private:
  fs::path path_;
};

// What Slurm and the script said last; "" where there is nothing.
std::string end_of_file(const std::filesystem::path& path) {
  constexpr std::streamoff kMost = 1 << 20;
  std::ifstream file(path, std::ios::binary);
  if (!file) return "";
  file.seekg(0, std::ios::end);
  const std::streamoff size = file.tellg();
  if (size <= 0) return "";
  std::string text(static_cast<std::size_t>(std::min(size, kMost)), '\0');
  file.seekg(size - static_cast<std::streamoff>(text.size()));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

// The script of a job adds a line for each failure that it saw: the node of it.
void add_names(std::string_view lines, std::vector<std::string>& names) {
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    const auto listed = expand_node_list(lines.substr(begin, end - begin));
    for (const std::string& name : listed.value_or(std::vector<std::string>()))
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    begin = end + 1;
  }
}

}  // namespace

SubmittedJob SlurmScheduler::submit(const JobFile& job, const SubmitOptions& options) {
  const std::vector<SlurmScript> scripts = slurm_scripts(job);
  const TemporaryFolder temporary("submit");
  // Files first: a disk that is full is found out before Slurm hears of the job.
  StagedFolder staged(job.outputs);
  std::string all;
  for (const SlurmScript& script : scripts) all += script.text;
  write_job_files(job, staged.path(), all);
  SubmittedJob submitted{.id = "", .scheduler = SchedulerKind::kSlurm, .time = time_now()};
  std::vector<std::string> ids;
  try {
    std::string text;
    for (std::size_t i = 0; i < scripts.size(); ++i) {
      const std::string script = i == 0 ? scripts[i].text : with_master_job(scripts[i].text, submitted.id);
      const std::filesystem::path path = temporary / format("job-{}.sh", i);
      write_atomically(path, script, Overwrite::kRefuse);
      const SlurmSubmission submission = client_.submit(path.string());
      ids.push_back(submission.id);
      if (i == 0) submitted.id = submission.id;
      if (scripts.size() > 1) submitted.component_ids.push_back(submission.id);
      submitted.said += submission.said;
      text += script;
    }
    if (scripts.size() == 1 && job.groups.size() > 1)
      for (std::size_t i = 0; i < job.groups.size(); ++i)
        submitted.component_ids.push_back(format("{}+{}", submitted.id, i));
    submitted.folder = job.outputs / submitted.id;
    staged.rename(submitted.folder);
    write_job_folder(job, submitted, text);
    if (options.written) options.written(submitted);
    for (const std::string& id : ids) client_.release(id);
  } catch (const Error& error) {
    throw Error(error.kind(), error.place(), error.message() + take_back(ids), error.hint());
  } catch (...) {
    take_back(ids);
    throw;
  }
  staged.keep();
  return submitted;
}

// They are held, or wait for others that are: none of them has begun, unless it is the last that could not be
// released.
std::string SlurmScheduler::take_back(const std::vector<std::string>& ids) {
  std::string said;
  for (const std::string& id : ids) {
    try {
      client_.cancel(id);
      said += format("; job {} is cancelled", id);
    } catch (const Error& error) {
      said +=
          format("; job {} is held and could not be cancelled ({}): 'scancel {}'", id, error.message(), id);
    }
  }
  return said;
}

std::vector<JobStatus> SlurmScheduler::list(const ListOptions& options) {
  SlurmQuestion question{.user = options.every_user     ? ""
                                 : options.user.empty() ? std::to_string(geteuid())
                                                        : options.user};
  SlurmRows queue = client_.queue(question);
  std::optional<SlurmRows> accounts;
  if (options.ended) {
    question.since = time_now() - kRemembered;
    accounts = client_.accounts(question);
  }
  notes_.clear();
  note_unread("squeue", queue);
  if (accounts) note_unread("sacct", *accounts);
  std::vector<JobStatus> jobs = newest(accounts ? accounts->jobs : std::vector<JobStatus>(), queue.jobs);
  if (!options.ended) std::erase_if(jobs, [](const JobStatus& job) { return has_ended(job.state); });
  jobs = with_components(std::move(jobs));
  for (JobStatus& job : jobs)
    if (const auto folder = find_job_folder(job.id, outputs_)) job.folder = *folder;
  return jobs;
}

std::vector<std::string> SlurmScheduler::ids_of(const std::string& id) const {
  const auto folder = find_job_folder(id, outputs_);
  const auto submitted = folder ? read_submitted_job(*folder) : std::nullopt;
  std::vector<std::string> ids;
  if (submitted && submitted->id == id)
    for (const std::string& part : submitted->component_ids)
      if (part.find('+') == std::string::npos) ids.push_back(part);
  if (ids.empty()) ids.push_back(id);
  return ids;
}

JobStatus SlurmScheduler::status(const std::string& id) {
  check_id(id);
  const SlurmQuestion question{.ids = ids_of(id)};
  const SlurmRows queue = client_.queue(question);
  const auto accounts = client_.accounts(question);
  const std::vector<JobStatus> runs = accounts ? accounts->jobs : std::vector<JobStatus>();
  notes_.clear();
  note_unread("squeue", queue);
  if (accounts) note_unread("sacct", *accounts);
  std::vector<JobStatus> rows = newest(runs, queue.jobs);
  if (rows.empty() && !notes_.empty()) throw environment_error(notes_.front());
  if (rows.empty())
    throw usage_error(format("Slurm knows no job {}", id),
                      accounts ? "'nadi job list --all' shows those of the last week"
                               : "this Slurm keeps no accounts: it forgets a job minutes after its end");
  JobStatus job = as_one(id, std::move(rows));
  if (!queue.jobs.empty() && parse_slurm_id(queue.jobs.front().id)->task.empty())
    if (const auto details = client_.details(question.ids.front(), queue.jobs.front().name)) {
      job.restarts = std::max(job.restarts, details->restarts);
      if (has_ended(job.state) && !job.exit_code) {
        job.exit_code = details->exit_code;
        job.signal = details->signal;
      }
    }
  if (const auto folder = find_job_folder(id, outputs_)) job.folder = *folder;
  job.failed_nodes = failed_nodes(job, runs);
  // What a job that was cancelled or ran out of time says of its ranks is what was done to them.
  if (!job.folder.empty() && (job.state == JobState::kFailed || job.state == JobState::kOutOfMemory))
    job.death = find_rank_death(job.folder);
  note_missing_parts(job);
  return job;
}

void SlurmScheduler::note_unread(std::string_view program, const SlurmRows& rows) {
  if (rows.unread == 0) return;
  const bool one = rows.unread == 1;
  notes_.push_back(format("{} row{} of {} could not be read and {} left out; the first: {}", rows.unread,
                          one ? "" : "s", program, one ? "is" : "are", quote_for_message(rows.first_unread)));
}

void SlurmScheduler::note_missing_parts(const JobStatus& job) {
  const auto submitted = job.folder.empty() ? std::nullopt : read_submitted_job(job.folder);
  // Neither a part of the job nor a run of a sweep has parts of its own.
  if (!submitted || submitted->id != job.id) return;
  const std::size_t all = submitted->component_ids.size(),
                    known = std::max<std::size_t>(job.components.size(), 1);
  if (known >= all) return;
  notes_.push_back(
      format("Slurm tells of {} of the {} parts of job {}; its accounts are written some time later", known,
             all, job.id));
}

std::vector<std::string> SlurmScheduler::failed_nodes(const JobStatus& job,
                                                      const std::vector<JobStatus>& runs) {
  if (!job.folder.empty()) {
    auto said = failed_nodes_said(end_of_file(job.folder / "slurm.txt"));
    add_names(end_of_file(job.folder / "failed_nodes.txt"), said);
    if (!said.empty()) return said;
  }
  // A node that took the script with it said nothing; of the nodes of that run, it is the one that is down.
  std::vector<std::string> suspects;
  const auto add = [&](const JobStatus& run) {
    if (run.state == JobState::kNodeFailed)
      suspects.insert(suspects.end(), run.nodes.begin(), run.nodes.end());
  };
  add(job);
  for (const JobStatus& run : runs) add(run);
  std::ranges::sort(suspects, natural_less);
  suspects.erase(std::unique(suspects.begin(), suspects.end()), suspects.end());
  std::vector<std::string> failed;
  if (suspects.empty()) return failed;
  for (const SchedulerNode& node : client_.nodes(suspects))
    if (is_bad_node_state(node.state)) failed.push_back(node.name);
  return failed;
}

void SlurmScheduler::cancel(const std::string& id) {
  check_id(id);
  const std::vector<std::string> ids = ids_of(id);
  // scancel says nothing about ids that it does not know, and about jobs that have ended.
  const JobStatus job = status(id);
  if (has_ended(job.state)) throw usage_error(format("job {} has ended already: {}", id, job.said));
  for (const std::string& part : ids) client_.cancel(part);
}

SubmittedJob SlurmScheduler::resume(const std::filesystem::path& folder, const ResumeOptions& options) {
  std::optional<JobFile> job = read_job_of(folder);
  const auto submitted = read_submitted_job(folder);
  if (!job || !submitted)
    throw usage_error(format("{} is not the folder of a job that was submitted here", folder.string()),
                      "it has no job.json or no submitted.json");
  if (!submitted->sweep.empty()) throw run_is_not_resumed(*submitted);
  std::vector<std::string> exclude = options.exclude;
  const JobStatus before = status(submitted->id);
  if (!has_ended(before.state))
    throw usage_error(format("job {} has not ended: {}", submitted->id, before.said),
                      format("end it with 'nadi job cancel {}'", submitted->id));
  if (options.exclude_failed_nodes)
    exclude.insert(exclude.end(), before.failed_nodes.begin(), before.failed_nodes.end());
  for (JobNodes& group : job->groups)
    for (const std::string& node : exclude)
      if (std::ranges::find(group.exclude, node) == group.exclude.end()) group.exclude.push_back(node);
  return submit(job_to_resume(*job), {.written = options.written});
}

}  // namespace nadi::inline jobs
