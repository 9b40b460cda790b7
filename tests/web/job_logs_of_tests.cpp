// Writes the folders of jobs that job.test.mjs reports: job_logs_of_tests FOLDER.
#include <cstdio>

#include "nadi/testing/job_logs.h"

int main(int count, char** words) {
  if (count != 2) return 2;
  nadi::write_job_logs(words[1], {.nodes = 2,
                                  .gpus = 4,
                                  .pipeline = 4,
                                  .iterations = 120,
                                  .timers = nadi::JobTimers::kAll,
                                  .profile = true,
                                  .failing_node = 1,
                                  .other_settings_node = 1});
  nadi::write_job_logs(words[1], {.seed = 5, .job = 555, .nodes = 3, .pipeline = 3, .seconds = 1.6});
  return 0;
}
