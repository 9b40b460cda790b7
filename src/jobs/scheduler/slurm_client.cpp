#include "nadi/scheduler/slurm_client.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <random>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/process/find_program.h"
#include "nadi/scheduler/slurm_text.h"

namespace nadi::inline jobs {
namespace {

std::string joined_with(std::span<const std::string> texts, char between) {
  std::string text;
  for (const std::string& part : texts) {
    if (!text.empty()) text += between;
    text += part;
  }
  return text;
}

std::string drawn_separator() {
  std::random_device chance;
  return format("|{:08x}{:08x}|", chance(), chance());
}

std::optional<ProgramRun> run_on_path(const std::vector<std::string>& words, const Environment& environment) {
  const auto program = find_program(words.front());
  if (!program) return std::nullopt;
  ChildOptions options{.words = words, .environment = environment};
  options.words.front() = program->string();
  return run_program(options, SlurmClient::kPatience);
}

// The form that all versions read; in the time zone of this machine, as they take it.
std::string local_time_text(JobTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  return std::string(text.data(), length);
}

// The last lines of what a program said, which have the reason, on one line.
std::string last_words(const ProgramRun& run) {
  constexpr std::size_t kMost = 600;
  std::string text = run.err.empty() ? run.out : run.err;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.size() > kMost) text = "... " + text.substr(text.size() - kMost);
  std::ranges::replace(text, '\n', ';');
  return text.empty() ? "it said nothing" : text;
}

// The last line, without the name of the program and the level: "Could not establish a configuration source".
std::string last_line(const ProgramRun& run) {
  std::string text = run.err;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  text.erase(0, text.find_last_of('\n') + 1);
  for (const std::string_view level : {"error: ", "fatal: "})
    if (const std::size_t at = text.find(level); at != std::string::npos) text.erase(0, at + level.size());
  return text;
}

// What Slurm's commands say where no slurmctld can be reached, or where there is no slurm.conf.
constexpr std::array<std::string_view, 6> kNoAnswers{"Could not establish a configuration source",
                                                     "Unable to contact slurm controller",
                                                     "Unable to establish controller",
                                                     "Connection refused",
                                                     "Unable to process configuration file",
                                                     "Zero Bytes were transmitted"};
constexpr std::string_view kNoAnswerHint =
    "is slurmctld running ('scontrol ping'), and does SLURM_CONF name this cluster's slurm.conf? Without "
    "Slurm, jobs "
    "run with \"scheduler\": \"local\"";
bool says_no_answer(const ProgramRun& run) {
  return std::ranges::any_of(kNoAnswers,
                             [&](std::string_view text) { return run.err.find(text) != std::string::npos; });
}

Error failure_of(const std::vector<std::string>& words, const ProgramRun& run) {
  if (run.timed_out)
    return environment_error(format("{} did not answer within {} s: {}", words.front(),
                                    SlurmClient::kPatience.count(), last_words(run)),
                             "is slurmctld running? 'scontrol ping' tells");
  if (says_no_answer(run))
    return environment_error(format("Slurm does not answer {}: {}", words.front(), last_line(run)),
                             std::string(kNoAnswerHint));
  return environment_error(
      format("{} failed with {}: {}", words.front(), run.end.to_string(), last_words(run)));
}

// squeue and scontrol have no other way to say that.
bool says_unknown_id(const ProgramRun& run) {
  return run.err.find("Invalid job id specified") != std::string::npos;
}

bool says_no_accounts(const ProgramRun& run) {
  return run.err.find("accounting storage is disabled") != std::string::npos ||
         run.err.find("Problem talking to the database") != std::string::npos ||
         run.err.find("Only 'accounting_storage/slurmdbd' is supported") != std::string::npos ||
         run.err.find("Unable to connect to database") != std::string::npos;
}

}  // namespace

SlurmClient::SlurmClient() : SlurmClient(run_on_path, drawn_separator) {}

SlurmClient::SlurmClient(SlurmRunner run, std::function<std::string()> draw_separator)
    : run_(std::move(run)), draw_separator_(std::move(draw_separator)) {}

bool SlurmClient::is_there() {
  return find_program("sbatch").has_value();
}

ProgramRun SlurmClient::answer(const std::vector<std::string>& words, const Environment& environment) {
  Environment all = environment;
  all.emplace_back("SLURM_TIME_FORMAT", "%s");
  // Users set these to change what the commands show; we say what we want.
  for (const char* const name : {"SQUEUE_FORMAT", "SQUEUE_FORMAT2", "SQUEUE_STATES", "SACCT_FORMAT"})
    all.emplace_back(name, "");
  const auto run = run_(words, all);
  if (!run)
    throw environment_error(format("there is no {} on PATH", words.front()),
                            "Slurm's commands must be installed here; without Slurm, jobs run with "
                            "\"scheduler\": \"local\"");
  return *run;
}

std::string SlurmClient::good_answer(const std::vector<std::string>& words) {
  ProgramRun run = answer(words);
  if (!run.good()) throw failure_of(words, run);
  return std::move(run.out);
}

SlurmSubmission SlurmClient::submit(const std::string& script, const Environment& environment) {
  const std::vector<std::string> words{"sbatch", "--parsable", "--hold", "--", script};
  const ProgramRun run = answer(words, environment);
  if (!run.good()) throw failure_of(words, run);
  // "12" or "12;cluster".
  std::string_view id = run.out;
  id = id.substr(0, id.find_first_of(";\n"));
  const auto parsed = parse_slurm_id(id);
  if (!parsed || parsed->job != id)
    throw environment_error(format("sbatch did not print the id of a job: {}", last_words(run)),
                            "a job that was queued nevertheless is held: 'squeue --me' shows it");
  return {.id = std::string(id), .said = run.err};
}

SlurmRows SlurmClient::queue(const SlurmQuestion& question) {
  const std::string separator = draw_separator_();
  std::vector<std::string> words{"squeue", "-h", "-a", "-t", "all", "-o", squeue_format(separator)};
  if (!question.ids.empty()) words.push_back("--jobs=" + joined_with(question.ids, ','));
  if (!question.user.empty()) words.push_back("--user=" + question.user);
  const ProgramRun run = answer(words);
  if (!run.good() && says_unknown_id(run)) return {};
  if (!run.good()) throw failure_of(words, run);
  return parse_squeue(run.out, separator);
}

std::optional<SlurmRows> SlurmClient::accounts(const SlurmQuestion& question) {
  const std::string separator = draw_separator_();
  std::vector<std::string> words{
      "sacct", "-n", "-P", "-X", "-D", "--delimiter=" + separator, "-o", std::string(sacct_format())};
  if (!question.ids.empty()) words.push_back("--jobs=" + joined_with(question.ids, ','));
  if (question.user.empty())
    words.emplace_back("-a");
  else
    words.push_back("--user=" + question.user);
  if (question.since) words.push_back("--starttime=" + local_time_text(*question.since));
  const ProgramRun run = answer(words);
  if (!run.good() && says_no_accounts(run)) return std::nullopt;
  if (!run.good()) throw failure_of(words, run);
  return parse_sacct(run.out, separator);
}

std::optional<SlurmDetails> SlurmClient::details(const std::string& id, const std::string& name) {
  const std::vector<std::string> words{"scontrol", "-o", "show", "job", id};
  const ProgramRun run = answer(words);
  if (!run.good() && says_unknown_id(run)) return std::nullopt;
  if (!run.good()) throw failure_of(words, run);
  return parse_scontrol_job(run.out, name);
}

std::vector<SchedulerNode> SlurmClient::nodes(std::span<const std::string> names) {
  std::vector<std::string> words{"scontrol", "-a", "-o", "show", "node"};
  if (!names.empty()) words.push_back(joined_with(names, ','));
  return parse_scontrol_nodes(good_answer(words));
}

void SlurmClient::release(const std::string& id) {
  good_answer({"scontrol", "release", id});
}

void SlurmClient::cancel(const std::string& id) {
  good_answer({"scancel", id});
}

}  // namespace nadi::inline jobs
