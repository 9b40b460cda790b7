#include "nadi/launched/node_job.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <ostream>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/version.h"
#include "nadi/launch/host_list.h"
#include "nadi/launch/joined_node.h"
#include "nadi/process/find_program.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "unknown";
}

NodeIntroduction introduction_of(const LaunchNodes& nodes, const JobOptions& options) {
  return {.nodes = nodes.nodes,
          .node = nodes.node,
          .ranks = options.ranks,
          .host = host_name(),
          .folder = std::filesystem::current_path().string(),
          .program = own_program().string(),
          .version = std::string(version()),
          .words = options.words};
}

class JoinNotes : public JoinListener {
 public:
  JoinNotes(const LaunchNodes& nodes, Console& console) : nodes_(nodes), console_(console) {}
  void waiting() override {
    console_.info() << format("note: waiting for the launch of node 0 at {}\n", nodes_.place.to_string());
  }
  void joined() override {
    console_.info() << format(
        "note: node {} of {} has joined the job at {}; what its ranks print appears there\n", nodes_.node,
        nodes_.nodes, nodes_.place.to_string());
  }

 private:
  const LaunchNodes& nodes_;
  Console& console_;
};

void run_guest(const LaunchNodes& nodes, const JobOptions& options, Console& console) {
  const JoinRequest request{.place = nodes.place,
                            .own = introduction_of(nodes, options),
                            .token = launch_token(process_environment()),
                            .patience = nodes.patience};
  JoinNotes notes(nodes, console);
  const JoinedEnd end = join_meeting(request, notes, [&] { return console.interrupted(); });
  if (end.exit_code == kInterruptedExitCode) throw Interrupted{};
  if (end.exit_code == 0) return;
  console.err << format("error: the job has failed: {}\n", end.text);
  throw SaidFailure{end.exit_code};
}

void run_host(const LaunchNodes& nodes, JobOptions options, const std::optional<std::int64_t>& planned,
              Console& console) {
  LaunchMeeting meeting(nodes.place, introduction_of(nodes, options), launch_token(process_environment()));
  console.info() << format("note: waiting at {} for {} other launch{}\n", nodes.place.to_string(),
                           nodes.nodes - 1, nodes.nodes == 2 ? "" : "es");
  const bool all = meeting.wait_for_all(
      nodes.patience, [&] { return console.interrupted(); },
      [&](const std::string& text) { console.warnings() << "warning: " << text << "\n"; });
  if (!all) {
    meeting.finish(kInterruptedExitCode, "");
    throw Interrupted{};
  }
  try {
    if (planned && *planned != meeting.ranks())
      throw usage_error(format("the plan has {} ranks, and the nodes together {}", *planned, meeting.ranks()),
                        "--nproc-per-node of all nodes together is the number of ranks of the plan");
    options.ranks = meeting.ranks();
    options.nodes = &meeting;
    run_job(options, console);
    meeting.finish(0, "");
  } catch (const Interrupted&) {
    meeting.finish(kInterruptedExitCode, "");
    throw;
  } catch (const SaidFailure& failure) {
    meeting.finish(failure.exit_code, "node 0 has printed why");
    throw;
  } catch (const Error& error) {
    meeting.finish(exit_code(error.kind()), error.message());
    throw;
  }
}

}  // namespace

void run_job_on_nodes(const LaunchNodes& nodes, JobOptions options, std::optional<std::int64_t> planned,
                      Console& console) {
  if (nodes.node == 0)
    run_host(nodes, std::move(options), planned, console);
  else
    run_guest(nodes, options, console);
}

}  // namespace nadi::inline show
