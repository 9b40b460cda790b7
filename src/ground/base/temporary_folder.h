// A folder for files that only this process and its children need; gone with the object.
//
//   const TemporaryFolder folder("calibrate");              // /tmp/nadi-calibrate-x7Fq2a
//   write_atomically(folder / "graph.dot", text, Overwrite::kRefuse);
//
// It is below the system's folder for such files (TMPDIR, else /tmp), readable for this user alone.
// Exceptions and interruptions (terminal/interruption.h) end in the destructor, which removes everything in
// it; a process that is killed leaves it behind.
#pragma once

#include <filesystem>
#include <string_view>

namespace nadi::inline ground {

class TemporaryFolder {
 public:
  // `purpose` is part of the folder's name. Error (environment) where no folder can be made.
  explicit TemporaryFolder(std::string_view purpose = "");
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  operator const std::filesystem::path&() const { return path_; }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace nadi::inline ground
