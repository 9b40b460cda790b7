// A control group (version 2) of our own, for processes that end together: the kernel kills all that are in
// it at once, also those that are being born, whatever session they are in and whoever their parent is.
//
//   const auto group = KillGroup::make("nadi-job-local-20260131-090500-3f2a");   // nothing means none can be made
//   group->take_this_process();          // in a child, before it executes its program
//   group->kill();  while (!group->is_empty()) ...
//
// It lies below the group that this process is in and has no controllers: nothing is limited by it. The
// destructor removes it when it is empty; one that is not stays, and is an empty folder when its processes
// have gone. Groups can be made by root, and by users to whom systemd or a container has delegated a part of
// the tree; kernels have the kill file since 5.14.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

namespace nadi::inline ground {

class KillGroup {
 public:
  // `root` is where "/" is, for tests.
  static std::optional<KillGroup> make(std::string_view name, const std::filesystem::path& root = "/");
  KillGroup(KillGroup&& other) noexcept : folder_(std::move(other.folder_)) { other.folder_.clear(); }
  KillGroup& operator=(KillGroup&& other) noexcept {
    std::swap(folder_, other.folder_);
    return *this;
  }
  ~KillGroup();

  const std::filesystem::path& folder() const { return folder_; }

  // Where that is refused the process stays where it was, and has to be found by other means.
  bool take_this_process() const;
  void kill() const;
  bool is_empty() const;

 private:
  explicit KillGroup(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path folder_;
};

// This process out of the group with such a name that it is in, to the one above: what it starts from here on
// does not end with those that started it.
void leave_kill_group(std::string_view name_begin);

}  // namespace nadi::inline ground
