// Folders that live as long as a test does.
//
//   const TemporaryFolder folder;       // a folder of its own below the system's temporary folder
//   write_text(folder / "a.json", "{}");
//
//   const WorkingFolder folder;         // the same, and the current folder until the end of the test
//   write_text("a.json", "{}");
#pragma once

#include <filesystem>

namespace nadi {

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  operator const std::filesystem::path&() const { return path_; }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

class WorkingFolder {
 public:
  WorkingFolder();
  ~WorkingFolder();
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;

  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
  std::filesystem::path before_;
};

}  // namespace nadi
