#include "nadi/tune/trial_log.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline tuning {

TrialLog::TrialLog(const std::filesystem::path& path) : path_(path) {
  if (path.empty()) return;
  std::error_code failure;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), failure);
  file_.open(path, std::ios::app | std::ios::binary);
  if (!file_) throw environment_error(format("cannot write the log {}", path.string()));
}

void TrialLog::begin(const TrialCommand& command, const TrialPlace& place, std::int64_t repetitions) {
  if (!file_.is_open()) return;
  file_ << "# trial " << place.number;
  if (repetitions > 1) file_ << ", repetition " << place.repeat + 1 << " of " << repetitions;
  file_ << "\n# command: " << shell_text({.words = command.words, .environment = {}, .files = {}}) << "\n";
  for (const auto& [name, value] : command.environment)
    file_ << "# environment: " << name << "=" << shell_word(value) << "\n";
  for (const CommandFile& each : command.files) file_ << "# file: " << each.path.string() << "\n";
  file_.flush();
}

void TrialLog::line(std::string_view text) {
  if (file_.is_open()) file_ << text << "\n";
}

void TrialLog::flush() {
  if (file_.is_open()) file_.flush();
}

void TrialLog::note(std::string_view text) {
  if (file_.is_open()) file_ << "# " << text << "\n";
}

void TrialLog::end(std::string_view reason) {
  if (!file_.is_open()) return;
  if (!reason.empty()) note(format("result: {}", reason));
  file_.close();
  if (!file_) throw environment_error(format("cannot write the log {}", path_.string()), "is the disk full?");
}

}  // namespace nadi::inline tuning
