// What the nodes of a job wrote, as it comes: what `nadi job logs` is asked.
//
//   JobOutput output({.jobs = {"log2/10932251"}, .extension = ".err"});
//   output.read([](const std::filesystem::path& file, std::string_view bytes) { ... });
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/job_files/job_file.h"
#include "nadi/supervision/watched_job.h"

namespace nadi::inline ask {

struct JobOutputQuestion {
  std::vector<std::string> jobs = {};                  // an id, or the folders of one run
  std::filesystem::path outputs = kDefaultJobOutputs;  // where the folders of jobs are
  std::vector<std::string> nodes = {};                 // of these; empty means all
  std::string_view extension = ".out";                 // or ".err", ".gpu"
  std::optional<std::int64_t> last_lines = {};         // only these of what is there; nothing means all
  bool follow = false;                                 // also what comes: files may appear later
};

class JobOutput {
 public:
  // Error (usage) for a job or a node that is not known; (input) where nothing was written yet. Neither while it follows.
  explicit JobOutput(const JobOutputQuestion& question);

  // Passes on what is new since the last call, file by file. Whether there was anything.
  using Take = std::function<void(const std::filesystem::path& file, std::string_view bytes)>;
  bool read(const Take& take);

  // Whether the job has ended, by its scheduler, which is asked every few seconds only.
  bool ended();

 private:
  struct NodeFile {
    std::string node;
    std::filesystem::path path;
    std::int64_t offset = 0;
  };
  std::vector<NodeFile> files_in_folders(const std::vector<std::string>& nodes) const;
  Error nothing_found() const;
  void find_files();
  static bool read_new(NodeFile& file, const Take& take);

  JobOutputQuestion question_;
  WatchedJob job_;
  std::vector<NodeFile> files_;
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
};

}  // namespace nadi::inline ask
