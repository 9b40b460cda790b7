// Texts as words of bash, so that whatever they hold is one word and nothing is expanded or run.
//
//   shell_quote("it's $HOME")        // 'it'\''s $HOME'
//   shell_words({"ls", "-l", "a b"}) // ls -l 'a b'
//
// A leading dash is no matter of quoting: put "--" in front, where the program knows it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace nadi::inline jobs {

// Words of harmless characters stay as they are, for readability. Error (usage) for a NUL, which no argument
// of a program can hold.
std::string shell_quote(std::string_view text);
std::string shell_words(std::span<const std::string> words);

// The value of an option in a line "#SBATCH --name=VALUE". Slurm has its own reading of such lines: quotes
// and backslashes, no expansion, one line. Error (usage), which names `what`, for control characters.
std::string sbatch_quote(std::string_view text, std::string_view what);

// A comment of one line: control characters become spaces.
std::string comment_text(std::string_view text);

}  // namespace nadi::inline jobs
