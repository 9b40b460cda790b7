// Variables of a job: what its script sets for every process, and what "${NAME}" in a word stands for.
//
//   for (const WordPart& part : word_parts("--node_rank=${NODE_RANK}", job)) ...   // a text, then a variable
//
// Besides those of the table, the names of JobSweep, JobEnvironment::set and ::pass may stand in words.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/job_files/job_file.h"

namespace nadi::inline jobs {

struct JobVariable {
  std::string_view name;
  std::string_view meaning;
  bool of_rank = false;  // there is none where a process is a node
};
std::span<const JobVariable> job_variables();

struct WordPart {
  std::string text;  // as it is, or the name of the variable
  bool variable = false;
};
// Error (usage) for a variable that the job does not have, with the nearest one.
std::vector<WordPart> word_parts(std::string_view word, const JobFile& job);

}  // namespace nadi::inline jobs
