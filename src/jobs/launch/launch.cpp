#include "nadi/launch/launch.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/launch/launch_meeting.h"
#include "nadi/launch/launch_socket.h"
#include "nadi/launch/mpirun_command.h"
#include "nadi/launch/node_agent.h"
#include "nadi/launch/rank_board.h"
#include "nadi/launch/rank_supervisor.h"
#include "nadi/launch/rank_watch.h"
#include "nadi/process/find_program.h"
#include "nadi/process/process_tree.h"

namespace nadi::inline jobs {
namespace {

using TimePoint = std::chrono::steady_clock::time_point;

constexpr int kTickMs = 50;  // how long a stop, or the end of mpirun, may go unnoticed
constexpr int kFailed = 1;

TimePoint now() {
  return std::chrono::steady_clock::now();
}

// Each phase has a deadline, at which the next one begins whatever has happened.
enum class JobPhase {
  kRunning,
  kBlaming,      // a rank failed: others' reports may be on their way
  kTerminating,  // ranks were asked to end
  kKilling,      // ranks were killed
  kLeaving,      // supervisors may go; mpirun ends by itself
};

// Sees from a thread of its own that the launcher does not come back from handing on output: a pipe is full
// that nobody reads.
class OutputGuard {
 public:
  using Milliseconds = std::chrono::milliseconds;
  OutputGuard(Milliseconds timeout, std::function<void(bool stopped)> stuck)
      : timeout_(timeout), stuck_(std::move(stuck)), thread_([this] { run(); }) {}
  ~OutputGuard() {
    {
      const std::lock_guard lock(mutex_);
      leaving_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  OutputGuard(const OutputGuard&) = delete;
  OutputGuard& operator=(const OutputGuard&) = delete;

  void came_back() { turns_.fetch_add(1, std::memory_order_relaxed); }
  void stop() { stopping_.store(true, std::memory_order_relaxed); }

 private:
  void run() {
    constexpr Milliseconds kLook{200};
    std::uint64_t seen = 0;
    Milliseconds idle{0};
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, kLook, [&] { return leaving_; })) {
      const std::uint64_t turns = turns_.load(std::memory_order_relaxed);
      idle = turns == std::exchange(seen, turns) ? idle + kLook : Milliseconds(0);
      const bool stopping = stopping_.load(std::memory_order_relaxed);
      const bool stuck = (timeout_.count() > 0 && idle >= timeout_) || (stopping && idle >= kStopPatience);
      if (stuck) return stuck_(stopping);
    }
  }

  const Milliseconds timeout_;
  const std::function<void(bool)> stuck_;
  std::atomic<std::uint64_t> turns_ = 0;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool leaving_ = false;
  std::thread thread_;
};

class Job {
 public:
  Job(const LaunchRequest& request, LaunchListener& listener, const std::filesystem::path& mpirun)
      : request_(request),
        listener_(listener),
        contacts_(spans_hosts(request) ? Reach::kEveryHost : Reach::kThisHost),
        mpirun_(mpirun_command(request, mpirun, contacts_.contact())),
        board_(request.ranks),
        watch_(request.ranks),
        sockets_(static_cast<std::size_t>(request.ranks)) {}

  ~Job() {
    guard_.reset();
    for (auto& socket : sockets_) socket.reset();
    mpirun_.send_signal(SIGKILL);
    while (!mpirun_.poll_end()) poll(nullptr, 0, 1);
    end_processes();
    if (request_.nodes != nullptr) request_.nodes->end_daemons(request_.patience.leave);
  }

  LaunchResult run(const std::function<bool()>& stop_asked) {
    if (request_.output_stuck)
      guard_.emplace(request_.comm_timeout, [this](bool stopped) {
        end_processes();
        request_.output_stuck(stopped);
      });
    while (phase_ != JobPhase::kLeaving || !(mpirun_.poll_end() && mpirun_is_silent())) {
      wait();
      read_all();
      watch_.tick(now());
      if (guard_) guard_->came_back();
      if (phase_ == JobPhase::kLeaving && now() >= deadline_) break;
      if (phase_ == JobPhase::kRunning && (stop_asked() || stopped_elsewhere())) stop();
      advance();
    }
    return {.stopped = stopped_, .hung_at_stop = hung_at_stop_, .failure = failure_};
  }

 private:
  // On this machine. Supervisors on others end their ranks when the connection closes.
  void end_processes() {
    const std::string mark = format("{}={}", kContactVariable, contacts_.contact());
    const auto ours = [&](const ProcessInfo& process) {
      return process.session == mpirun_.pid() || started_with(process.pid, mark);
    };
    end_descendants(ours, request_.patience.kill);
  }

  void wait() {
    std::vector<pollfd> entries;
    const auto add = [&](int descriptor) {
      entries.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
    };
    add(contacts_.descriptor());
    for (const int descriptor : contacts_.waiting()) add(descriptor);
    for (const auto& socket : sockets_)
      if (socket) add(socket->descriptor());
    add(mpirun_.out().descriptor());
    add(mpirun_.err().descriptor());
    if (request_.nodes != nullptr)
      for (const int descriptor : request_.nodes->descriptors()) add(descriptor);
    poll(entries.data(), entries.size(), kTickMs);
  }

  void read_all() {
    for (LaunchSocketListener::Arrival& arrival : contacts_.accept()) {
      int rank = -1;
      const std::string& text = arrival.greeting;
      if (text.starts_with(kAgentGreeting)) {
        start_daemon(std::move(arrival.socket), std::string_view(text).substr(kAgentGreeting.size()));
        continue;
      }
      std::from_chars(text.data(), text.data() + text.size(), rank);
      if (rank < 0 || rank >= board_.ranks() || sockets_[static_cast<std::size_t>(rank)]) continue;
      sockets_[static_cast<std::size_t>(rank)] = std::move(arrival.socket);
    }
    for (int rank = 0; rank < board_.ranks(); ++rank) {
      auto& socket = sockets_[static_cast<std::size_t>(rank)];
      if (!socket || !socket->is_open()) continue;
      socket->read([&](std::string_view line) { hear(rank, line); });
      if (!socket->is_open())
        board_.ended(rank, {.status = std::nullopt, .asked = phase_ > JobPhase::kBlaming});
      if (board_.has_ended(rank)) watch_.ended(rank);
    }
    for (LineStream* stream : {&mpirun_.out(), &mpirun_.err()})
      stream->read([&](std::string_view line) { hear_mpirun(line); });
    if (request_.nodes != nullptr) request_.nodes->relay();
    listener_.caught_up();
  }

  // "1 [words]": mpirun wants its daemon on that node.
  void start_daemon(LaunchSocket agent, std::string_view wish) {
    int node = 0;
    const auto [end, error] = std::from_chars(wish.data(), wish.data() + wish.size(), node);
    if (request_.nodes == nullptr || error != std::errc{} || end == wish.data() + wish.size()) return;
    wish.remove_prefix(static_cast<std::size_t>(end - wish.data()) + 1);
    request_.nodes->start_daemon(node, std::move(agent), wish);
  }

  bool stopped_elsewhere() const { return request_.nodes != nullptr && request_.nodes->stop_asked(); }
  bool lost_node() const { return request_.nodes != nullptr && !request_.nodes->lost().empty(); }

  void hear(int rank, std::string_view line) {
    if (line.starts_with("beat ")) {
      if (const auto beat = parse_beat(line.substr(5)); beat && beat->rank == rank) watch_.heard(*beat);
      return;
    }
    if (line.starts_with("state ")) return hear_state(rank, line.substr(6));
    if (!watch_.beat(rank)) watch_.moved(rank);  // what it prints is its only sign of life
    if (line.starts_with("out ")) {
      listener_.rank_printed(rank, OutputKind::kOut, line.substr(4));
    } else if (line.starts_with("err ")) {
      board_.printed_error(rank, line.substr(4));
      listener_.rank_printed(rank, OutputKind::kErr, line.substr(4));
    } else if (line.starts_with("started ")) {
      board_.started(rank, std::string(line.substr(8)));
      watch_.started(rank);
      // Orders that were given before it could hear them.
      if (phase_ == JobPhase::kTerminating) order(rank, "terminate");
      if (phase_ > JobPhase::kTerminating) order(rank, "kill");
    } else if (const auto end = parse_end(line)) {
      board_.ended(rank, *end);
    }
  }

  // "T 1200": of a rank that says nothing. One that never has is a program that knows of no beats: it gets on
  // while it computes.
  void hear_state(int rank, std::string_view text) {
    if (text.size() < 3) return;
    watch_.state(rank, text[0]);
    std::int64_t computed = 0;
    std::from_chars(text.data() + 2, text.data() + text.size(), computed);
    std::int64_t& before = computed_ms_[static_cast<std::size_t>(rank)];
    constexpr std::int64_t kLeastMs = 5;  // between two looks, which are a second apart
    if (!watch_.beat(rank) && computed - before >= kLeastMs) watch_.moved(rank);
    before = computed;
  }

  void hear_mpirun(std::string_view line) {
    // What it says about ranks that failed, we say better; and what about those that we end is noise.
    if (!stopped_ && !board_.any_failed() && !lost_node()) listener_.mpirun_printed(line);
  }

  void stop() {
    stopped_ = true;
    stopped_at_ = watch_.now();
    if (guard_) guard_->stop();
    // Where nothing has begun, nothing has to be saved.
    const bool begun = board_.any_started();
    if (!begun) mpirun_.send_signal(SIGTERM);
    enter(JobPhase::kTerminating, begun ? request_.patience.interrupt : request_.patience.terminate);
    order_all("terminate");
  }

  void advance() {
    const bool over = now() >= deadline_;
    switch (phase_) {
      case JobPhase::kRunning:
        if (board_.all_good()) return leave();
        if (board_.any_failed() || board_.all_ended() || mpirun_.poll_end() || lost_node())
          enter(JobPhase::kBlaming, request_.patience.blame);
        else if (request_.comm_timeout.count() > 0 && watch_.idle() >= request_.comm_timeout)
          end_hang();
        return;
      case JobPhase::kBlaming:
        if (!over && !board_.all_ended()) return;
        failure_ = find_failure();
        enter(JobPhase::kTerminating, request_.patience.terminate);
        order_all("terminate");
        return;
      case JobPhase::kTerminating:
        if (gone()) return leave();
        hurry_stragglers();
        if (hangs_at_stop()) {
          hung_at_stop_ = watch_.report();
        } else if (!over) {
          return;
        }
        enter(JobPhase::kKilling, request_.patience.kill);
        order_all("kill");
        return;
      case JobPhase::kKilling:
        if (gone() || over) leave();
        return;
      case JobPhase::kLeaving:
        return;
    }
    unreachable();
  }

  // Who hangs has nothing to save, and does not listen.
  void end_hang() {
    failure_ = LaunchFailure{.hang = watch_.report()};
    write_collectives(*failure_->hang, request_.collectives_folder);
    enter(JobPhase::kKilling, request_.patience.kill);
    order_all("kill");
  }

  // Who saves may take its time, and a disk, too.
  bool hangs_at_stop() const {
    return stopped_ && watch_.now() - stopped_at_ >= kStopPatience && watch_.idle() >= kStopPatience &&
           !watch_.at_disk();
  }

  // Ranks save together: when one has ended, the others have little left to do, or wait for it in vain.
  void hurry_stragglers() {
    if (!stopped_ || !board_.any_ended()) return;
    const auto patience = board_.any_failed() ? request_.patience.terminate : request_.patience.straggle;
    if (!first_end_) first_end_ = now();
    deadline_ = std::min(deadline_, *first_end_ + patience);
  }

  // No rank runs any more, and none will start: either all have ended, or mpirun has while some had not
  // begun.
  bool gone() {
    if (board_.all_ended()) return true;
    if (!mpirun_.poll_end()) return false;
    for (int rank = 0; rank < board_.ranks(); ++rank)
      if (sockets_[static_cast<std::size_t>(rank)] && !board_.has_ended(rank)) return false;
    return true;
  }

  LaunchFailure find_failure() {
    if (lost_node()) return {.lost_node = request_.nodes->lost()};
    if (const std::optional<int> rank = board_.blamed())
      return {.rank = rank,
              .host = spans_hosts(request_) ? board_.host(*rank) : "",
              .status = board_.end(*rank)->status,
              .out_of_memory = board_.end(*rank)->out_of_memory,
              .last_lines = board_.last_lines(*rank)};
    return {.status = mpirun_.poll_end()};
  }

  void leave() {
    enter(JobPhase::kLeaving, request_.patience.leave);
    order_all("bye");
  }

  void enter(JobPhase phase, std::chrono::milliseconds patience) {
    phase_ = phase;
    deadline_ = now() + patience;
  }

  void order(int rank, std::string_view what) {
    if (auto& socket = sockets_[static_cast<std::size_t>(rank)]) socket->send(what);
  }
  void order_all(std::string_view what) {
    for (int rank = 0; rank < board_.ranks(); ++rank) order(rank, what);
  }

  bool mpirun_is_silent() { return !mpirun_.out().is_open() && !mpirun_.err().is_open(); }

  const LaunchRequest& request_;
  LaunchListener& listener_;
  Adoption adoption_;
  LaunchSocketListener contacts_;
  ChildProcess mpirun_;
  RankBoard board_;
  HangWatch watch_;
  std::vector<std::int64_t> computed_ms_ =
      std::vector<std::int64_t>(static_cast<std::size_t>(request_.ranks));
  std::vector<std::optional<LaunchSocket>> sockets_;  // by rank; nothing before it said hello
  JobPhase phase_ = JobPhase::kRunning;
  TimePoint deadline_ = TimePoint::max();
  std::optional<TimePoint> first_end_;  // of a rank that was to stop
  bool stopped_ = false;
  std::chrono::milliseconds stopped_at_{0};  // of the watch
  std::optional<HangReport> hung_at_stop_;
  std::optional<LaunchFailure> failure_;
  std::optional<OutputGuard> guard_;
};

}  // namespace

LaunchRequest request_for_self(int ranks, const std::vector<std::string>& words) {
  const std::string program = own_program().string();
  LaunchRequest request{
      .ranks = ranks, .command = {program}, .supervisor = {program, std::string(kSupervisorWord)}};
  request.command.insert(request.command.end(), words.begin(), words.end());
  return request;
}

std::string LaunchFailure::to_string() const {
  if (hang)
    return format("no rank has made progress for {} s: the ranks were ended",
                  (hang->idle.count() + 500) / 1000);
  if (!lost_node.empty()) return format("the launch of {} is gone", lost_node);
  if (!rank)
    return status ? format("mpirun ended with {}", status->to_string()) : "mpirun has ended the ranks";
  const std::string name = host.empty() ? format("rank {}", *rank) : format("rank {} on {}", *rank, host);
  if (!status) return name + " is gone, together with the process that watched it";
  if (out_of_memory) return format("{} was killed because memory ran out: {}", name, status->to_string());
  return format("{} {} {}", name, status->signal != 0 ? "was ended by" : "failed with", status->to_string());
}

bool LaunchFailure::may_go_away() const {
  if (hang) return true;
  if (!rank) return false;
  const int code = status.value_or(EndStatus{}).exit_code;
  return code != 2 && code != 3 && code != 5;
}

int LaunchResult::exit_code() const {
  if (stopped) return kInterruptedExitCode;
  if (!failure) return 0;
  if (failure->out_of_memory) return nadi::exit_code(ErrorKind::kEnvironment);
  if (!failure->rank || !failure->status || failure->status->signal != 0) return kFailed;
  return failure->status->exit_code;
}

LaunchResult launch(const LaunchRequest& request, LaunchListener& listener,
                    const std::function<bool()>& stop_asked) {
  check(request.ranks > 0 && !request.command.empty() && !request.supervisor.empty(),
        "an incomplete request");
  if (std::getenv("OMPI_COMM_WORLD_RANK") != nullptr)
    throw usage_error("this process is a rank of a job already, and cannot launch another");
  const auto mpirun = find_program("mpirun");
  if (!mpirun)
    throw environment_error("there is no mpirun on PATH, which starts the ranks",
                            "install Open MPI: package openmpi-bin on Debian and Ubuntu");
  Job job(request, listener, *mpirun);
  return job.run(stop_asked);
}

}  // namespace nadi::inline jobs
