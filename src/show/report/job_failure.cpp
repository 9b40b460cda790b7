#include "nadi/report/job_failure.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/job_log/job_log.h"
#include "nadi/scheduler/job_folder.h"
#include "nadi/terminal/full_screen.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownErrors = 3;
constexpr std::size_t kShownTail = 5;

// The newest errors of a node, or the last lines where nothing says that it is one.
void add_causes(const NodeLog& node, std::string& text) {
  std::vector<ErrorGroup> errors = node.errors;
  std::ranges::stable_sort(errors, {}, &ErrorGroup::line);
  const std::size_t first = errors.size() - std::min(kShownErrors, errors.size());
  for (std::size_t i = first; i < errors.size(); ++i)
    text += format("  {}:{}: {}\n", node.err.path.filename().string(), errors[i].line,
                   screen_text(errors[i].text, kLongestErrorText));
  if (!errors.empty()) return;
  const LogFile& file = node.err.lines > 1 ? node.err : node.out;  // the first line of errors is the start's
  for (std::size_t i = file.tail.size() - std::min(kShownTail, file.tail.size()); i < file.tail.size(); ++i)
    text += format("  {}: {}\n", file.path.filename().string(), screen_text(file.tail[i], kLongestErrorText));
}

}  // namespace

std::string failure_text(const SubmittedJob& submitted, const JobStatus& status) {
  std::string text = format("error: job {} {}{}{}\n", submitted.id, to_string(status.state),
                            status.exit_code ? format(" with exit code {}", *status.exit_code) : "",
                            status.death ? ": " + status.death->text() : "");
  if (status.death)
    text += format("  {}: {}\n", status.death->place, screen_text(status.death->line, kLongestErrorText));
  std::vector<fs::path> folders{submitted.folder};
  for (const std::string& run : runs_of_sweep(submitted.folder))
    folders.push_back(submitted.folder.parent_path() / run);
  try {
    for (const NodeLog& node : read_job_log(folders).nodes) add_causes(node, text);
  } catch (const Error&) {
    text += "  no rank has written anything\n";  // the folder has no files of nodes
  }
  return text + format("  logs: {}; 'nadi job logs {} --err' prints them\n", submitted.folder.string(),
                       submitted.id);
}

}  // namespace nadi::inline show
