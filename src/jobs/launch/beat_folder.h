// A folder in which ranks without a launcher leave their beats for each other: ranks of srun, or of a plain
// mpirun. A file for each rank, replaced at each beat.
//
//   BeatFolder folder(path, rank);
//   folder.write(beat);
//   for (const RankBeat& beat : folder.read(ranks)) ...
//   if (folder.claim()) ...                    // on one rank only: the one that tells of the hang
//
// The folder is this user's alone, or that of a job, which all nodes see. Nothing here fails: a folder that
// cannot be written to is one in which nobody else is heard, until it can; one that is gone is made again.
#pragma once

#include <filesystem>
#include <vector>

#include "nadi/launch/rank_beat.h"

namespace nadi::inline jobs {

class BeatFolder {
 public:
  BeatFolder(std::filesystem::path folder, int rank);
  ~BeatFolder() { leave(rank_); }
  BeatFolder(const BeatFolder&) = delete;
  BeatFolder& operator=(const BeatFolder&) = delete;

  bool usable() const { return usable_; }
  void write(const RankBeat& beat) const;
  // Beats of ranks [0, ranks), this one included. Files are opened by name: what a folder lists may be old on a file
  // system of several nodes, and misses files that are replaced at that moment.
  std::vector<RankBeat> read(int ranks) const;
  bool claim() const;
  bool claimed() const;
  // Removes the file of a rank and, when it was the last, the folder. For other ranks: when they were killed.
  void leave(int rank) const;

 private:
  std::filesystem::path file_of(int rank) const;
  bool make() const;

  std::filesystem::path folder_;
  int rank_;
  bool usable_ = false;  // the folder was this user's when it was made
};

}  // namespace nadi::inline jobs
