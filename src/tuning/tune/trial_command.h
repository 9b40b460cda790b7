// The command of a trial: words, variables and files, with the values of the trial in place of {{name}}.
//
//   const CommandTemplate command{.words = {"./train.sh", "--micro-batch-size", "{{micro_batch}}"}};
//   check_command(command, space);  // each placeholder is known, each parameter is passed somewhere
//   const TrialPlace place{.number = 7, .folder = "study.trials/00007"};
//   const TrialCommand trial = command_for(command, space, setting, place);
//
// Placeholders: parameters, constants and derived values by name; {{trial}}, the number of the trial;
// {{repeat}}, which of its repetitions, from 0; {{folder}}, a folder of the trial's own. {{name|text}} is
// `text` where the parameter has no value in the trial; without it, a conditional parameter is refused as a
// placeholder.
//
// Parameters with a flag are appended as flag and value, in the order of the space, or stand where the word
// {{flags}} does. A truth value is the flag alone, or `flag_off` or nothing; a value with `words` is those.
// Files of `templates` are written
// into the folder of the trial, under their own names.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/tune/space_points.h"
#include "nadi/tune/tune_space.h"

namespace nadi::inline tuning {

struct CommandFile {
  std::filesystem::path path;  // as the user gave it
  std::string text;
};

struct CommandTemplate {
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> environment = {};  // values may have placeholders
  std::vector<CommandFile> templates = {};
};

struct TrialPlace {
  std::int64_t number = 0;
  std::int64_t repeat = 0;
  std::filesystem::path folder = {};
};

struct TrialCommand {
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<CommandFile> files;  // where they belong, and what they hold
};

// Error (usage).
void check_command(const CommandTemplate& command, const TuneSpace& space);

// Whether trials need a folder: {{folder}} is somewhere, or there are files.
bool needs_folder(const CommandTemplate& command);

TrialCommand command_for(const CommandTemplate& command, const TuneSpace& space, const TuneSetting& setting,
                         const TrialPlace& place);

// Whether the program differs between trials: its name has a placeholder.
bool program_varies(const CommandTemplate& command);

// As a POSIX shell takes it, on one line: words in quotes where they need them, variables in front.
std::string shell_text(const TrialCommand& command);
std::string shell_word(std::string_view word);

}  // namespace nadi::inline tuning
