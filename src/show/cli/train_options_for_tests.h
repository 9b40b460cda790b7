// For tests of how command lines of `nadi train` are understood, without running anything.
#pragma once

#include <string>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/cli/train_flags.h"
#include "nadi/cli/train_options.h"
#include "nadi/command_line/flags.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {

inline Flags train_flags_for_tests(std::string_view words) {
  Flags flags;
  add_train_flags(flags);
  flags.parse(words_of(words));
  return flags;
}

// What rank 0 of so many would do.
inline ResolvedTrain resolve_for_tests(std::string_view words, std::int64_t ranks = 1) {
  return resolve_train(train_flags_for_tests(words), ranks, Rank{0});
}

// "message | hint" of the Error (usage) that the command line is.
inline std::string refusal_for_tests(std::string_view words, std::int64_t ranks = 1) {
  try {
    resolve_for_tests(words, ranks);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) return std::string("not a mistake in usage: ") + error.what();
    return error.message() + (error.hint().empty() ? "" : " | " + error.hint());
  }
  return "no error";
}

inline std::string notes_of(const ResolvedTrain& run) {
  std::string all;
  for (const std::string& note : run.notes) all += note + "\n";
  return all;
}

}  // namespace nadi::inline show
