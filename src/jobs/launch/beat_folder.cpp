#include "nadi/launch/beat_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "nadi/base/format.h"
#include "nadi/process/descriptor.h"

namespace nadi::inline jobs {
namespace {

constexpr std::string_view kFile = "rank-";
constexpr std::string_view kClaim = "hang";
constexpr std::size_t kLongestBeat = 1 << 20;

bool is_own_folder(const std::filesystem::path& folder) {
  struct stat info {};
  return lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid();
}

}  // namespace

BeatFolder::BeatFolder(std::filesystem::path folder, int rank) : folder_(std::move(folder)), rank_(rank) {
  usable_ = make();
}

bool BeatFolder::make() const {
  constexpr mode_t kOwnerOnly = 0700;
  mkdir(folder_.c_str(), kOwnerOnly);  // another rank may have been first
  return is_own_folder(folder_);
}

void BeatFolder::leave(int rank) const {
  if (!usable_) return;
  unlink(file_of(rank).c_str());
  unlink((file_of(rank).string() + ".new").c_str());
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().filename() != kClaim) return;
  unlink((folder_ / kClaim).c_str());
  rmdir(folder_.c_str());
}

std::filesystem::path BeatFolder::file_of(int rank) const {
  return folder_ / format("{}{}", kFile, rank);
}

void BeatFolder::write(const RankBeat& beat) const {
  if (!usable_) return;
  const std::filesystem::path file = file_of(rank_), fresh = file.string() + ".new";
  {
    const auto open_fresh = [&] {
      return open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    };
    int opened = open_fresh();
    if (opened < 0 && errno == ENOENT && make()) opened = open_fresh();
    const Descriptor out(opened);
    const std::string text = to_line(beat);
    if (!out.is_open() || ::write(out.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      return;
  }
  rename(fresh.c_str(), file.c_str());
}

std::vector<RankBeat> BeatFolder::read(int ranks) const {
  std::vector<RankBeat> beats;
  if (!usable_) return beats;
  for (int rank = 0; rank < ranks; ++rank) {
    std::ifstream in(file_of(rank));
    if (!in) continue;
    std::string text;
    text.resize(kLongestBeat);
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    if (auto beat = parse_beat(text)) beats.push_back(std::move(*beat));
  }
  return beats;
}

bool BeatFolder::claim() const {
  if (!usable_) return true;
  const Descriptor mine(open((folder_ / kClaim).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  return mine.is_open();
}

bool BeatFolder::claimed() const {
  return usable_ && access((folder_ / kClaim).c_str(), F_OK) == 0;
}

}  // namespace nadi::inline jobs
