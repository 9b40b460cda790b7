#include "nadi/scheduler/local_scheduler.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <random>
#include <sstream>
#include <system_error>
#include <thread>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/job_files/resumed_words.h"
#include "nadi/job_scripts/local_script.h"
#include "nadi/process/descriptor.h"
#include "nadi/process/detached_process.h"
#include "nadi/process/find_program.h"
#include "nadi/process/process_tree.h"
#include "nadi/scheduler/job_folder.h"
#include "nadi/scheduler/job_registry.h"

namespace nadi::inline jobs {
namespace {

namespace fs = std::filesystem;

// What a shell and the programs in it cannot do without, also where nothing is inherited.
constexpr std::array<std::string_view, 7> kPlainVariables{"PATH",  "HOME", "USER",  "LOGNAME",
                                                          "SHELL", "LANG", "TMPDIR"};

// In the environment of all processes of a job: "NADI_LOCAL_JOB=local-...".
constexpr std::string_view kJobVariable = "NADI_LOCAL_JOB";
constexpr std::chrono::seconds kEndPatience{10};

std::vector<std::string> environment_of(const JobEnvironment& wanted, const std::string& id) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry, name = text.substr(0, text.find('='));
    if (name == kJobVariable) continue;
    const bool named = std::ranges::find(wanted.pass, name) != wanted.pass.end() ||
                       std::ranges::find(kPlainVariables, name) != kPlainVariables.end();
    if (wanted.inherit || named) entries.emplace_back(text);
  }
  entries.push_back(format("{}={}", kJobVariable, id));
  return entries;
}

JobTime now_in_seconds() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

std::string this_host() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return std::string(name).substr(0, std::string_view(name).find('.'));
}

std::string this_user() {
  const passwd* entry = getpwuid(geteuid());
  return entry == nullptr ? format("{}", geteuid()) : entry->pw_name;
}

constexpr std::string_view kStateFile = "local_state.txt";
constexpr std::string_view kKilled = "killed";  // how the script ended, by its keeper's word

// The events of local_state.txt; a line that is not whole is the last, and not there yet.
struct LocalState {
  pid_t pid = 0;
  unsigned long long began = 0;
  std::int64_t starts = 0;
  std::optional<JobTime> started = {};
  std::optional<int> code = {};
  std::string how = {};
  std::optional<JobTime> ended = {};
};

LocalState read_local_state(const fs::path& folder) {
  LocalState state;
  std::ifstream file(folder / kStateFile);
  for (std::string line; std::getline(file, line) && !file.eof();) {
    std::istringstream words(line);
    std::string event;
    std::int64_t seconds = 0;
    words >> event;
    if (event == "pid") {
      words >> state.pid >> state.began;
    } else if (event == "start") {
      words >> state.starts >> seconds;
      state.started = JobTime(std::chrono::seconds(seconds));
    } else if (event == "end") {
      int code = 0;
      words >> code >> state.how >> seconds;
      state.code = code;
      state.ended = JobTime(std::chrono::seconds(seconds));
    }
  }
  return state;
}

bool is_alive(const LocalState& state) {
  return state.pid > 0 && state.began != 0 && process_start(state.pid) == state.began;
}

bool is_gone_without_a_word(const LocalState& state) {
  return !state.code && state.pid > 0 && !is_alive(state);
}

JobState state_of(const LocalState& state) {
  if (state.code) {
    if (state.how == "done") return JobState::kDone;
    if (state.how == "cancelled") return JobState::kCancelled;
    if (state.how == "timed-out") return JobState::kTimedOut;
    return JobState::kFailed;
  }
  if (state.pid == 0) return JobState::kPending;
  return is_alive(state) ? JobState::kRunning : JobState::kFailed;
}

JobStatus status_of(const SubmittedJob& submitted) {
  const LocalState state = read_local_state(submitted.folder);
  JobStatus status{.id = submitted.id, .state = state_of(state)};
  if (const auto job = read_job_of(submitted.folder)) {
    status.name = job->name;
    status.limit = job->time;
  }
  status.said = state.code && state.how != kKilled ? state.how : std::string(to_string(status.state));
  if (status.state == JobState::kFailed && (!state.code || state.how == kKilled))
    status.reason = "its script was killed";
  status.exit_code = state.code;
  if (state.code && *state.code > 128 && *state.code < 128 + 65) status.signal = *state.code - 128;
  status.submitted = submitted.time;
  status.started = state.started;
  status.ended = state.ended;
  if (state.started) {
    const JobTime until = state.ended ? *state.ended : now_in_seconds();
    if (!has_ended(status.state) || state.ended) status.elapsed = until - *state.started;
  }
  status.nodes = {this_host()};
  status.user = this_user();
  status.restarts = state.starts;
  status.folder = submitted.folder;
  return status;
}

// "local-20260131-090500-3f2a": the time of the submission, and four digits by chance for those of one
// second.
std::string drawn_id(JobTime now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &parts);
  std::random_device chance;
  return format("local-{}-{:04x}", std::string_view(text.data(), length), chance() & 0xffffU);
}

// A folder that is ours from the moment at which it is there: two submissions get two ids.
fs::path take_folder(const fs::path& outputs, JobTime now) {
  std::error_code error;
  fs::create_directories(outputs, error);
  if (error) throw environment_error(format("cannot make {}: {}", outputs.string(), error.message()));
  for (;;) {
    const std::string id = drawn_id(now);
    if (registered_job(id)) continue;
    if (fs::create_directory(outputs / id, error)) return outputs / id;
    if (error)
      throw environment_error(format("cannot make {}: {}", (outputs / id).string(), error.message()));
  }
}

// What a job writes of itself needs no new block of a full disk: the first line has taken one.
void add_state(const fs::path& folder, const std::string& line, int flags = 0) {
  const fs::path path = folder / kStateFile;
  const Descriptor file(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0666));
  if (!file.is_open() || write(file.get(), line.data(), line.size()) != std::ssize(line))
    throw environment_error(
        format("cannot write {}: {}", path.string(), std::generic_category().message(errno)));
}

// In the keeper, when all has ended. A script that was cancelled before it could do something about it ended
// by the signal itself.
void end_state(const fs::path& folder, const EndStatus& end) {
  if (read_local_state(folder).code) return;
  try {
    add_state(folder, format("end {} {} {}\n", end.signal == 0 ? end.exit_code : 128 + end.signal,
                             end.signal == SIGTERM ? "cancelled" : kKilled,
                             now_in_seconds().time_since_epoch().count()));
  } catch (const Error&) {
    return;  // the script is gone, and that is seen without a word
  }
}

// Processes of a job whose script and keeper are both gone; 0 where none is left.
std::size_t end_leftovers(const std::string& id) {
  const std::string variable = format("{}={}", kJobVariable, id);
  return end_processes([&](const ProcessInfo& process) { return started_with(process.pid, variable); },
                       kEndPatience);
}

// The folder of a job, and its name among all jobs of this machine, until the job has begun.
class HalfSubmitted {
 public:
  explicit HalfSubmitted(const SubmittedJob& job) : job_(&job) {}
  HalfSubmitted(const HalfSubmitted&) = delete;
  HalfSubmitted& operator=(const HalfSubmitted&) = delete;
  ~HalfSubmitted() {
    if (job_ == nullptr) return;
    forget_job(job_->id);
    std::error_code ignored;
    fs::remove_all(job_->folder, ignored);
  }
  void is_whole() { job_ = nullptr; }

 private:
  const SubmittedJob* job_;
};

}  // namespace

SubmittedJob LocalScheduler::submit(const JobFile& job, const SubmitOptions& options) {
  check_job(job);
  const auto bash = find_program("bash");
  if (!bash) throw environment_error("no bash on PATH");
  SubmittedJob submitted{.id = {},
                         .scheduler = SchedulerKind::kLocal,
                         .folder = take_folder(job.outputs, now_in_seconds()),
                         .time = now_in_seconds()};
  submitted.id = submitted.folder.filename().string();
  HalfSubmitted half(submitted);
  write_job_folder(job, submitted, local_script(job));
  if (const std::string problem = register_job(submitted.id, submitted.folder); !problem.empty())
    submitted.said =
        format("warning: job {} is found in {} alone: {}", submitted.id, job.outputs.string(), problem);
  const fs::path folder = fs::absolute(submitted.folder);
  DetachedProcess script({.words = {bash->string(), (submitted.folder / "script.sh").string(), submitted.id},
                          .environment = environment_of(job.environment, submitted.id),
                          .output = submitted.folder / "slurm.txt",
                          .name = "nadi-job-" + submitted.id,
                          .on_end = [folder](const EndStatus& end) { end_state(folder, end); }});
  add_state(folder, format("pid {} {}\n", script.pid(), process_start(script.pid())), O_CREAT);
  if (options.written) options.written(submitted);
  script.release();
  half.is_whole();
  while (options.wait && !has_ended(status_of(submitted).state))
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  return submitted;
}

std::vector<JobStatus> LocalScheduler::list(const ListOptions& options) {
  std::vector<JobStatus> jobs;
  std::vector<fs::path> folders = job_folders(options_.outputs);
  if (options_.everywhere)
    for (fs::path& folder : registered_jobs())
      if (std::ranges::none_of(folders,
                               [&](const fs::path& known) { return known.filename() == folder.filename(); }))
        folders.push_back(std::move(folder));
  for (const fs::path& folder : folders) {
    const auto submitted = read_submitted_job(folder);
    if (!submitted || submitted->scheduler != SchedulerKind::kLocal) continue;
    JobStatus status = status_of(*submitted);
    if (options.ended || !has_ended(status.state)) jobs.push_back(std::move(status));
  }
  return jobs;
}

JobStatus LocalScheduler::status(const std::string& id) {
  const auto folder = find_job_folder(id, options_.outputs);
  const auto submitted = folder ? read_submitted_job(*folder) : std::nullopt;
  if (!submitted || submitted->scheduler != SchedulerKind::kLocal)
    throw usage_error(format("no local job {} in {}", quote_for_message(id), options_.outputs.string()));
  // How a script ended is written down by its keeper a moment after it is gone, when all that it started is.
  constexpr auto kMoment = std::chrono::milliseconds(20);
  for (int i = 0; i < 50 && is_gone_without_a_word(read_local_state(submitted->folder)); ++i)
    std::this_thread::sleep_for(kMoment);
  JobStatus status = status_of(*submitted);
  // What a job that was cancelled or ran out of time says of its ranks is what was done to them.
  if (status.state == JobState::kFailed) status.death = find_rank_death(status.folder);
  return status;
}

void LocalScheduler::cancel(const std::string& id) {
  const JobStatus status = this->status(id);
  if (has_ended(status.state) && end_leftovers(status.id) > 0)
    throw environment_error(format("processes of job {} could not be ended", status.id));
  if (has_ended(status.state))
    throw usage_error(format("job {} has ended already: {}", status.id, to_string(status.state)));
  const LocalState state = read_local_state(status.folder);
  if (is_alive(state)) kill(state.pid, SIGTERM);
}

SubmittedJob LocalScheduler::resume(const fs::path& folder, const ResumeOptions& options) {
  if (options.exclude_failed_nodes || !options.exclude.empty())
    throw usage_error("the local scheduler has one node, which cannot be excluded");
  const auto job = read_job_of(folder);
  if (!job) throw input_error({.file = (folder / "job.json").string()}, "there is no job here");
  // Two of them would write the same checkpoints.
  if (const auto before = read_submitted_job(folder)) {
    if (!before->sweep.empty()) throw run_is_not_resumed(*before);
    if (const JobStatus status = status_of(*before); !has_ended(status.state))
      throw usage_error(format("job {} has not ended: {}", status.id, status.said),
                        format("end it with 'nadi job cancel {}'", status.id));
    end_leftovers(before->id);
  }
  return submit(job_to_resume(*job), {.written = options.written});
}

std::vector<SchedulerNode> LocalScheduler::nodes() {
  SchedulerNode node{.name = this_host(), .state = "idle"};
  node.cpus = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  if (pages > 0 && size > 0) node.memory = Bytes(std::int64_t{pages} * size);
  std::error_code error;
  for (fs::directory_iterator entry("/proc/driver/nvidia/gpus", error), end; !error && entry != end;
       entry.increment(error))
    ++node.gpus;
  return {node};
}

}  // namespace nadi::inline jobs
