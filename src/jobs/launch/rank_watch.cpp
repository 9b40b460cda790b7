#include "nadi/launch/rank_watch.h"

#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>

#include "nadi/base/format.h"
#include "nadi/comm/comm_record.h"
#include "nadi/comm/launcher_environment.h"
#include "nadi/launch/beat_folder.h"
#include "nadi/launch/progress_meter.h"

namespace nadi::inline jobs {
namespace {

using std::chrono::milliseconds;
using WatchTime = std::chrono::steady_clock::time_point;

constexpr milliseconds kShortestTick{50}, kLongestTick{1000}, kStopTick{250};
// Files of beats may be on a file system that many nodes share: about 30 of them a second.
constexpr milliseconds kUsualFileInterval{2000}, kLongestFileInterval{10'000};
constexpr int kFilesPerSecond = 32;
constexpr int kLooksPerTimeout = 20;

milliseconds tick_of(milliseconds timeout) {
  if (timeout.count() == 0) return kLongestTick;
  return std::clamp(timeout / kLooksPerTimeout, kShortestTick, kLongestTick);
}

milliseconds file_interval(milliseconds timeout, int ranks) {
  const milliseconds longest =
      std::clamp(milliseconds(ranks * 1000 / kFilesPerSecond), kUsualFileInterval, kLongestFileInterval);
  if (timeout.count() == 0) return longest;
  return std::clamp(timeout / kLooksPerTimeout, kShortestTick, longest);
}

std::string variable_or_empty(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string own_host() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// The same for all ranks of a job, another one for the next job.
std::string name_of_job() {
  std::string name = variable_or_empty("PMIX_NAMESPACE");
  if (name.empty()) name = variable_or_empty("PMI_JOBID");
  if (name.empty() && !variable_or_empty("SLURM_JOB_ID").empty())
    name = format("{}.{}.{}", variable_or_empty("SLURM_JOB_ID"), variable_or_empty("SLURM_STEP_ID"),
                  variable_or_empty("SLURM_RESTART_COUNT"));
  for (char& letter : name)
    if (letter == '/' || letter == '\0') letter = '_';
  return name;
}

// "": there is none.
std::filesystem::path folder_for_beats(const RankWatchOptions& options, std::int64_t ranks) {
  if (const std::string given = variable_or_empty(kBeatFolderVariable); !given.empty()) return given;
  const std::string job = name_of_job();
  if (job.empty()) return {};
  std::error_code error;
  if (ranks_on_host(process_environment()) == ranks) {
    const auto temporary = std::filesystem::temp_directory_path(error);
    if (!error) return temporary / format("nadi-ranks-{}-{}", geteuid(), job);
  }
  if (options.shared_folder.empty()) return {};
  std::filesystem::create_directories(options.shared_folder, error);
  return options.shared_folder / format(".ranks-{}", job);
}

}  // namespace

// Where beats go, and who decides.
class RankWatch::Channel {
 public:
  virtual ~Channel() = default;
  virtual void beat(const RankBeat& beat, bool hurry) = 0;
  // The ranks hang, as far as is known here.
  virtual bool hang(milliseconds own_idle, milliseconds limit) = 0;
  virtual void end(RankWatchOptions::End end) = 0;
};

// Under a supervisor: the launcher decides.
class RankWatch::Launcher : public Channel {
 public:
  explicit Launcher(int descriptor) : descriptor_(descriptor) {}

  void beat(const RankBeat& beat, bool /*hurry*/) override {
    // Who does not read is not waited for: the pipe has room for 64 KiB, and a line for less than half of it.
    constexpr int kRoomLeft = 32768;
    int unread = 0;
    const std::string line = to_line(beat) + '\n';
    if (ioctl(descriptor_, FIONREAD, &unread) != 0 || unread > 0 || line.size() > kRoomLeft) return;
    if (::write(descriptor_, line.data(), line.size()) < 0) return;  // it is gone, and we soon, too
  }
  bool hang(milliseconds, milliseconds) override { return false; }
  void end(RankWatchOptions::End) override {}

 private:
  int descriptor_;
};

// Ranks that watch each other, or one that is alone.
class RankWatch::Peers : public Channel {
 public:
  Peers(const RankWatchOptions& options, int rank, int ranks)
      : options_(options),
        rank_(rank),
        ranks_(ranks),
        interval_(file_interval(options.timeout, ranks)),
        watch_(ranks) {
    if (ranks <= 1) return;
    if (const std::filesystem::path path = folder_for_beats(options, ranks); !path.empty())
      folder_.emplace(path, rank);
    if (folder_ && !folder_->usable()) folder_.reset();
    // Whether the others were started is for a launcher to know: of these is only known who was heard.
    for (int other = 0; other < ranks; ++other) watch_.started(other);
  }

  void beat(const RankBeat& beat, bool hurry) override {
    const auto now = std::chrono::steady_clock::now();
    watch_.tick(now);
    watch_.heard(beat);
    if (!folder_) return;
    if (written_ && now - *written_ < (hurry ? kStopTick : interval_)) return;
    written_ = now;
    folder_->write(beat);
    // The others are of interest when this rank does not get on.
    if (beat.idle > 2 * interval_ || hurry) listen();
  }

  bool hang(milliseconds own_idle, milliseconds limit) override {
    if (folder_ && folder_->claimed()) return true;
    if (own_idle < limit) return false;
    if (!folder_) return true;
    listen();
    // A rank that is stopped says nothing: it gets on no more when it has been silent for half of the time.
    const milliseconds silence = std::max(limit / 2, 2 * interval_ + kLongestTick);
    for (int other = 0; other < ranks_; ++other) {
      if (other == rank_ || watch_.silent_since(other, watch_.now() - silence)) continue;
      if (const auto& beat = watch_.beat(other); beat && beat->idle + 2 * interval_ < limit) return false;
    }
    return true;
  }

  void end(RankWatchOptions::End end) override {
    end.tells = !folder_ || folder_->claim();
    listen();
    look_at_neighbours();
    HangReport report = watch_.report();
    end.report = &report;
    if (end.tells && !end.stopped) write_collectives(report, options_.collectives_folder);
    kill_stopped_neighbours();
    if (folder_) folder_->leave(rank_);
    options_.end(end);
  }

 private:
  void listen() {
    if (!folder_) return;
    for (const RankBeat& beat : folder_->read(ranks_))
      if (beat.rank != rank_) watch_.heard(beat);
  }

  // The system knows more about ranks on this machine.
  template <class Use>
  void for_neighbours(const Use& use) {
    const std::string host = own_host();
    for (int other = 0; other < ranks_; ++other)
      if (const auto& beat = watch_.beat(other);
          other != rank_ && beat && beat->host == host && beat->pid > 1)
        use(other, *beat);
  }
  void look_at_neighbours() {
    for_neighbours([&](int other, const RankBeat& beat) {
      const char state = process_state(beat.pid);
      if (state == 'T' || state == 't') watch_.state(other, state);
      if (state == '\0' || state == 'Z') watch_.ended(other);
    });
  }
  // A rank that is stopped cannot end itself; mpirun ends it, srun may not. Its number is its own as long as
  // it is there: it runs the same program as this one, of the same user.
  void kill_stopped_neighbours() {
    if (options_.under_mpirun) return;
    const auto same_program = [](int pid) {
      struct stat own {
      }, other{};
      return stat("/proc/self/exe", &own) == 0 && stat(format("/proc/{}/exe", pid).c_str(), &other) == 0 &&
             own.st_ino == other.st_ino && own.st_dev == other.st_dev;
    };
    for_neighbours([&](int other, const RankBeat& beat) {
      const char state = process_state(beat.pid);
      if ((state != 'T' && state != 't') || !same_program(beat.pid)) return;
      kill(beat.pid, SIGKILL);
      if (folder_) folder_->leave(other);
    });
  }

  const RankWatchOptions& options_;
  const int rank_, ranks_;
  const milliseconds interval_;  // between two writes of the file
  HangWatch watch_;
  std::optional<BeatFolder> folder_;
  std::optional<WatchTime> written_;
};

RankWatch::RankWatch(RankWatchOptions options, const CommRecord& record)
    : options_(std::move(options)), record_(record) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the thread that listens to them
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

RankWatch::~RankWatch() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void RankWatch::doing(std::string text) {
  const std::lock_guard lock(mutex_);
  doing_ = std::move(text);
}

void RankWatch::run() {
  pthread_setname_np(pthread_self(), kWatchThread);
  const EnvironmentLookup environment = process_environment();
  const int rank = static_cast<int>(rank_started(environment).value_or(0));
  const int ranks = static_cast<int>(std::max<std::int64_t>(ranks_started(environment), 1));
  std::unique_ptr<Channel> channel;
  int descriptor = -1;
  const std::string given = variable_or_empty(kBeatsVariable);
  if (std::from_chars(given.data(), given.data() + given.size(), descriptor).ec == std::errc{})
    channel = std::make_unique<Launcher>(descriptor);
  else
    channel = std::make_unique<Peers>(options_, rank, ranks);

  ProgressMeter meter;
  RankBeat beat{.rank = rank, .host = own_host(), .pid = getpid()};
  std::uint64_t moves = 0;
  milliseconds clock{0}, moved{0}, asked{0};
  bool stop = false;
  WatchTime before = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  while (!leaving_) {
    const milliseconds tick = stop ? kStopTick : tick_of(options_.timeout);
    wake_.wait_for(lock, tick, [&] { return leaving_; });
    if (leaving_) break;
    beat.doing = doing_;
    lock.unlock();

    // Time in which this thread was stopped itself is nobody's fault.
    const WatchTime now = std::chrono::steady_clock::now();
    clock += std::min(std::chrono::duration_cast<milliseconds>(now - before), 2 * kLongestTick);
    before = now;
    const std::uint64_t moves_now = record_.moves();
    if (moves_now != std::exchange(moves, moves_now) || (!record_.waits() && meter.moved())) moved = clock;
    if (!stop && options_.stop_asked()) {
      stop = true;
      asked = clock;
    }
    beat.number += 1;
    beat.idle = clock - moved;
    const bool quiet = beat.idle > 2 * tick;
    beat.at_disk = quiet && meter.at_disk();
    beat.blocked = quiet && (meter.held() || !record_.waits()) ? meter.blocked_in() : "";
    beat.waits.reset();
    beat.groups.clear();
    beat.last.clear();
    add_record(beat, record_);
    channel->beat(beat, stop);

    const milliseconds since_asked = clock - asked;
    const bool hangs = options_.timeout.count() > 0 && channel->hang(beat.idle, options_.timeout);
    const bool hangs_at_end = stop && !beat.at_disk && since_asked >= kStopPatience &&
                              channel->hang(std::min(beat.idle, since_asked), kStopPatience);
    if (hangs || hangs_at_end) channel->end({.stopped = stop});
    lock.lock();
  }
}

}  // namespace nadi::inline jobs
