// What the words of 'nadi train' ask for, in the names that the modified Megatron-LM prints: MODEL,
// GLOBAL_BATCH_SIZE, PARTITION, ... Each node prints them when the job starts, and 'job watch' and
// 'job report' compare them with what the program says.
//
//   for (const TrainSetting& setting : train_settings(job)) use(setting.name, setting.value);
//
// Empty for jobs that run something else. A value may have variables of the job in it: "${LR}".
#pragma once

#include <string>
#include <vector>

#include "nadi/job_files/job_file.h"

namespace nadi::inline jobs {

struct TrainSetting {
  std::string name;
  std::string value;
};
std::vector<TrainSetting> train_settings(const JobFile& job);

}  // namespace nadi::inline jobs
