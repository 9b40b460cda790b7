// A study storage in an SQLite database (study_storage.h). For sources of this room.
//
// Durability: on a local disk the database has a write-ahead log. A transaction is in the file when the call
// returns, so the end of the process does no harm; the disk itself is waited for when a trial finishes, but
// not more often than every kSyncInterval. A loss of power so costs the results of the last 50 ms at most,
// and trials of a few milliseconds do not wait for the disk every time. Other file systems have no
// write-ahead log (it needs memory that all workers share), and there every transaction waits.
#pragma once

#include <memory>

#include "nadi/study/study_storage.h"

namespace nadi {

std::unique_ptr<StudyStorage> open_sqlite_storage(const std::filesystem::path& path,
                                                  const StorageOptions& options);

}  // namespace nadi
