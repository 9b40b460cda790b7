// A study storage in a journal file (study_storage.h). For sources of this room.
//
// Every transaction takes the lock, reads what others have appended, decides, appends its lines with one
// write, and reads them back. A trial is created with everything it has by one line, so that a worker that is
// killed leaves it whole or not at all.
#pragma once

#include <memory>

#include "nadi/study/study_storage.h"

namespace nadi::inline tuning {

std::unique_ptr<StudyStorage> open_journal_storage(const std::filesystem::path& path,
                                                   const StorageOptions& options);

}  // namespace nadi::inline tuning
