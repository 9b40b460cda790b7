// Publishes a folder of files so that a reader sees the old one or the new one, each complete, never a
// mixture.
//
//   AtomicFolder folder("runs/a/best_model", {.overwrite = Overwrite::kAllow});
//   folder.write("config.json", text);
//   folder.write("model.safetensors", [&](AtomicFile& file) { write_safetensors(file, tensors); });
//   PositionedFile& file = folder.open("iter_0000001/mp_rank_00/model_optim_rng.pt", size);
//   file.write_at(0, bytes);  // by several threads, in any order (positioned_file.h)
//   folder.commit();          // only now does the folder exist, or change
//
// Files go to a hidden folder next to the target, ".nadi.<name>.<pid>@<host>.tmp" (hidden_name.h). commit()
// waits until all of them are on the disk and renames it; an existing folder is exchanged with it in one step
// and then removed. Without commit(), after an exception for instance, the destructor removes the hidden
// folder. A program that is killed leaves it behind, and remove_leftovers() finds it at the next start.
//
// A file system that cannot exchange two names (NFS and some others) takes two steps: the old folder is
// renamed to ".nadi.<name>.<pid>@<host>.old", the new one to the target. A program killed between the two
// leaves nothing at the target; remove_leftovers() puts the old one back.
//
// A name with '/' creates the folders within. What of an existing target may be replaced, `removable` says,
// by the path within the target: a folder of which it says no is in the way (environment), a file of which it
// says no is in the way as well, or is kept in the new folder. Without `removable`, files go and folders are
// in the way. A target that is a symbolic link is replaced, not followed.
//
// Errors: an existing target under kRefuse is Error (usage); a full disk, a missing permission, a target
// that cannot be replaced are Error (environment). Both name the path, and the old folder is as it was.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/positioned_file.h"

namespace nadi::inline ground {

// What becomes of files within an existing target that may not be removed.
enum class Strangers {
  kRefuse,  // the target is not replaced
  kKeep,    // they are in the new folder, too, unless it has a file of this name
};

struct AtomicFolderOptions {
  Overwrite overwrite = Overwrite::kRefuse;
  bool exchange = true;  // false means replace in two steps even where the file system could in one
  // Which files and folders within a target may be removed with it. Not set means all files, and no folders.
  std::function<bool(const std::filesystem::path&)> removable = {};
  Strangers strangers = Strangers::kRefuse;
};

class AtomicFolder {
 public:
  // Creates missing parent folders and the hidden folder. Two objects of one target at once, in one process,
  // are a bug of the caller.
  explicit AtomicFolder(std::filesystem::path target, AtomicFolderOptions options = {});
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;
  ~AtomicFolder();

  // A file in the folder, given whole or written by `fill`, which must not commit it.
  void write(const std::string& name, std::string_view contents);
  void write(const std::string& name, const std::function<void(AtomicFile&)>& fill);

  // A file of exactly this size, which several threads fill. It lives until commit().
  PositionedFile& open(const std::string& name, Bytes size);

  // The hidden folder, until commit(): for reading back what was written.
  const std::filesystem::path& hidden_path() const { return temporary_; }

  // Called once, last.
  void commit();

  const std::filesystem::path& path() const { return target_; }

 private:
  std::filesystem::path path_of_new(const std::string& name) const;
  void publish_new();
  void exchange_with_old();
  void replace_in_two_steps();

  std::filesystem::path target_;
  std::filesystem::path temporary_;
  AtomicFolderOptions options_;
  std::vector<std::unique_ptr<PositionedFile>> open_files_;
  bool committed_ = false;
};

// What killed programs left in `parent`: hidden files and folders of processes of this machine that no longer
// run are removed, and an old folder that was put aside goes back where nothing took its place. Returns how
// many were removed or put back. Those of other machines, which may run, stay. A `parent` that does not exist
// holds none.
int remove_leftovers(const std::filesystem::path& parent);

}  // namespace nadi::inline ground
