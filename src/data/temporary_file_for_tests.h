// A file with given contents that goes with the object.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace nadi {

class TemporaryFile {
 public:
  TemporaryFile(std::string_view name, std::string_view contents)
      : folder_(std::filesystem::temp_directory_path() /
                ("nadi_data_test." + std::to_string(::getpid()) + "." + std::string(name))),
        path_(folder_ / name) {
    std::filesystem::create_directories(folder_);
    std::ofstream(path_, std::ios::binary) << contents;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove_all(folder_); }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path folder_;
  std::filesystem::path path_;
};

}  // namespace nadi
