// A file with given contents that goes with the object.
#pragma once

#include <filesystem>
#include <string_view>

#include "nadi/base/temporary_folder.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline ground {

class TemporaryFile {
 public:
  TemporaryFile(std::string_view name, std::string_view contents) : path_(folder_ / name) {
    write_text(path_, contents);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  TemporaryFolder folder_;
  std::filesystem::path path_;
};

}  // namespace nadi::inline ground
