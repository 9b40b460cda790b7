// Where the folders of local jobs are, so that the id of a job is enough, from any folder of the machine.
//
//   register_job("local-20260131-090500-3f2a", folder);
//   registered_job("local-20260131-090500-3f2a")       // the folder
//
// Entries are symbolic links in $XDG_STATE_HOME/nadi/jobs (~/.local/state/nadi/jobs without that variable),
// one for each job of this user. Links to folders that are gone are removed when a job is registered. Job
// folders do not need the registry: without it, ids are found in the folder of job folders alone.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nadi::inline jobs {

// "" where it went well, else why the job cannot be found from other folders.
std::string register_job(const std::string& id, const std::filesystem::path& folder);

// Nothing happens where it is not registered.
void forget_job(const std::string& id);

// In place of an id: the local job that was submitted last.
inline constexpr std::string_view kLastJob = "last";

// Folder of a job, of a run of a sweep (id_3), or of kLastJob. Nothing where the id is not known or the folder is
// gone.
std::optional<std::filesystem::path> registered_job(const std::string& id);

// All folders that are there, by id.
std::vector<std::filesystem::path> registered_jobs();

}  // namespace nadi::inline jobs
