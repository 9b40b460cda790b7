// A folder in which ranks without a launcher leave their beats for each other: ranks of srun, or of a plain
// mpirun. A file for each rank, replaced at each beat.
//
//   BeatFolder folder(path, rank);
//   folder.write(beat);
//   for (const RankBeat& beat : folder.read()) ...
//   if (folder.claim()) ...                    // on one rank only: the one that tells of the hang
//
// The folder is this user's alone, or that of a job, which all nodes see. Nothing here fails: a folder that
// cannot be written to is one in which nobody else is heard.
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
  std::vector<RankBeat> read() const;  // of all ranks, this one included
  bool claim() const;
  bool claimed() const;
  // Removes the file of a rank and, when it was the last, the folder. For other ranks: when they were killed.
  void leave(int rank) const;

 private:
  std::filesystem::path file_of(int rank) const;

  std::filesystem::path folder_;
  int rank_;
  bool usable_ = false;
};

}  // namespace nadi::inline jobs
