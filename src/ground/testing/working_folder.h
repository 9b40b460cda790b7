// A folder of its own that is the current folder until the end of the test, and then gone.
//
//   const WorkingFolder folder;
//   write_text("a.json", "{}");
#pragma once

#include <filesystem>

#include "nadi/base/temporary_folder.h"

namespace nadi::inline ground {

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

}  // namespace nadi::inline ground
