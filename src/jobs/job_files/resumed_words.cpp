#include "nadi/job_files/resumed_words.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace nadi::inline jobs {
namespace {

constexpr std::array<std::string_view, 3> kFolderFlags{"--save-dir", "--save", "--load"};

}  // namespace

std::vector<std::string> words_to_resume(const std::vector<std::string>& words) {
  if (words.empty() || words[0] != "train") return words;
  bool saves = false;
  for (const std::string& word : words) {
    std::string flag = word.substr(0, word.find('='));
    std::ranges::replace(flag, '_', '-');
    if (flag == "--resume" || flag == "--resume-if-any") return words;
    saves = saves || std::ranges::find(kFolderFlags, flag) != kFolderFlags.end();
  }
  std::vector<std::string> resuming = words;
  if (saves) resuming.emplace_back("--resume-if-any");
  return resuming;
}

JobFile job_to_resume(JobFile job) {
  if (job.run.kind != JobRunKind::kTrain) return job;
  std::vector<std::string> words = job.run.words;
  words.insert(words.begin(), "train");
  words = words_to_resume(words);
  words.erase(words.begin());
  job.run.words = std::move(words);
  return job;
}

}  // namespace nadi::inline jobs
