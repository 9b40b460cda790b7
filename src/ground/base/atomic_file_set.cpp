#include "nadi/base/atomic_file_set.h"

#include <set>
#include <utility>
#include <vector>

namespace nadi::inline ground {
namespace {

namespace fs = std::filesystem;

// Several folders where the targets are in several, or are symbolic links.
std::set<fs::path> folders_of(std::span<AtomicFile* const> files) {
  std::set<fs::path> folders;
  for (const AtomicFile* file : files)
    folders.insert(file->path().has_parent_path() ? file->path().parent_path() : fs::path{"."});
  return folders;
}

}  // namespace

AtomicFile& AtomicFileSet::add(fs::path target) {
  const std::scoped_lock lock(adding_);
  return files_.emplace_back(std::move(target), overwrite_, files_.size());
}

void AtomicFileSet::write(fs::path target, std::string_view contents) {
  AtomicFile& file = add(std::move(target));
  file.write(contents);
  close(file);
}

void AtomicFileSet::publish(const std::function<void()>& ready) {
  std::vector<AtomicFile*> files;
  for (AtomicFile& file : files_) files.push_back(&file);
  if (durability_ == Durability::kLater)
    for (const fs::path& folder : folders_of(files)) sync_file_system(folder);
  if (ready) ready();
  publish_together(files);
}

void publish_together(std::span<AtomicFile* const> files) {
  for (AtomicFile* file : files) file->commit();
  for (const fs::path& folder : folders_of(files)) sync_folder(folder);
}

}  // namespace nadi::inline ground
