// The #SBATCH lines of the scripts of the modified Megatron-LM, as groups of nodes of one job.
//
//   OldNodes nodes(scripts, job, notes);         // partitions, GPUs, time, ... are in the job now
//   nodes.set_counts({.nodes = 8, .ranks_per_node = 4});
//
// Names, time, account and the like of a job with several scripts are those of the first; another value in a
// later script is noted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/job_files/job_file.h"
#include "nadi/job_files/sbatch_script.h"

namespace nadi::inline jobs {

// What the settings file says about nodes: NNODES and NPROC_PER_NODE with their places.
struct OldCount {
  std::int64_t count = 1;
  Place place = {};
};

class OldNodes {
 public:
  // A group for each script; without scripts one group. `job` and `notes` outlive this.
  OldNodes(std::vector<SbatchScript> scripts, JobFile& job, std::vector<std::string>& notes);

  // Nodes of each group, which add up to NNODES, and ranks. Error (input) where they do not.
  void set_counts(const std::optional<OldCount>& nodes, const std::optional<OldCount>& ranks);

 private:
  struct Group {
    SbatchScript script = {};
    std::optional<OldCount> nodes = {}, tasks = {}, cpus = {};
  };
  void take_option(Group& group, std::size_t number, const SbatchOption& option);
  bool take_option_of_job(const SbatchScript& script, std::size_t number, const SbatchOption& option);
  void take_gpus(const Group& group, std::size_t number, const SbatchOption& option);
  void take_memory(const Group& group, std::size_t number, const SbatchOption& option);
  void take_master();
  void note(std::string text) { notes_.push_back(std::move(text)); }

  JobFile& job_;
  std::vector<std::string>& notes_;
  std::vector<Group> groups_;
};

// A whole number of a setting or an option. Error (input) at the place for anything else.
std::int64_t old_count(const std::string& name, const std::string& value, const Place& place,
                       std::int64_t least = 1);

}  // namespace nadi::inline jobs
