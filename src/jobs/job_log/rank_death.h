// How a rank died, by the words of those who watch over ranks: srun and slurmstepd, mpirun of Open MPI and of
// MPICH, torchrun, `nadi launch`, the script of a local job.
//
//   if (const auto death = find_rank_death(folder)) show(death->text(), death->place, death->line);
//
// The first word of the newest start counts: ranks that are ended because another one died come later. A word
// of a signal or of memory says more than one of an exit code, which launchers pass on for others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace nadi::inline jobs {

struct RankDeath {
  std::string who = {};   // "rank 3", "ranks 0-3"; "" where the line does not say
  std::string node = {};  // "" where the line does not say
  int signal = 0;
  std::optional<int> exit_code = {};
  bool out_of_memory = false;
  bool aborted = false;    // it ended the others itself: MPI_Abort
  std::string line = {};   // as it was printed, at most kLongestDeathLine bytes
  std::string place = {};  // "slurm.txt:12"

  // "rank 3 on n061 was ended by signal 11 (Segmentation fault)"
  std::string text() const;
};
inline constexpr std::size_t kLongestDeathLine = 400;

// What one line says; nothing for a line that tells of no death. Not of ranks that were told to end
// (SIGTERM).
std::optional<RankDeath> rank_death_in(std::string_view line);

// Reads the lines of a file, and keeps what counts.
class DeathReader {
 public:
  explicit DeathReader(std::string file) : file_(std::move(file)) {}
  void line(std::string_view text);
  const std::optional<RankDeath>& death() const { return death_; }

 private:
  std::string file_;
  std::int64_t lines_ = 0;
  std::string half_;  // mpirun's sentence, of which the rest is on the next line
  std::optional<RankDeath> death_;
};

// Looks through the folder of a job: slurm.txt and its like first, then the errors of nodes. Of each file the last MiB
// is looked at; `place` has no number of a line where the beginning was left out.
std::optional<RankDeath> find_rank_death(const std::filesystem::path& folder);

}  // namespace nadi::inline jobs
