#include "nadi/command_line/shell_scripts.h"

#include <array>
#include <vector>

#include "nadi/command_line/completion.h"

namespace nadi::inline show {
namespace {

constexpr std::string_view kBash = R"(# Completion of nadi for bash.
_nadi() {
  local line paths='' program=${COMP_WORDS[0]/#\~/$HOME} current=${COMP_WORDS[COMP_CWORD]}
  # bash makes a word of '=', and replaces what is behind it.
  [[ $current == '=' ]] && current=
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files) paths=-f ;;
      :folders) paths=-d ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("$program" __complete bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ -n $paths ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$paths" -- "$current")
  fi
}
complete -F _nadi nadi
)";

constexpr std::string_view kZsh = R"(#compdef nadi
# Completion of nadi for zsh.
_nadi() {
  local line paths=''
  local -a entries
  while IFS= read -r line; do
    case $line in
      :files) paths=files ;;
      :folders) paths=folders ;;
      *) entries+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
    esac
  done < <("${~words[1]}" __complete zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)
  (( $#entries )) && _describe nadi entries
  if [[ -n $paths ]]; then
    compset -P '--*='
    if [[ $paths == folders ]]; then _files -/; else _files; fi
  fi
}
# Loaded by its name, or read by `source`.
if [[ ${funcstack[1]} == _nadi ]]; then _nadi "$@"; else compdef _nadi nadi; fi
)";

constexpr std::string_view kFish = R"(# Completion of nadi for fish.
function __nadi_complete
    set -l tokens (commandline --tokenize --cut-at-cursor --current-process)
    set -l current (commandline --cut-at-cursor --current-token)
    set -l program $tokens[1]
    set --erase tokens[1]
    # Behind --flag= there may be a path, too.
    set -l flag (string match --regex -- '^--[^=]*=' $current; or echo)
    set -l value (string replace --regex -- '^--[^=]*=' '' $current)
    for line in (eval $program __complete fish (string escape -- $tokens) (string escape -- "$current") 2>/dev/null)
        switch $line
            case :files
                for path in (__fish_complete_path $value)
                    echo $flag$path
                end
            case :folders
                for path in (__fish_complete_directories $value)
                    echo $flag$path
                end
            case '*'
                echo $line
        end
    end
end
complete --command nadi --no-files --arguments '(__nadi_complete)'
)";

constexpr std::array kShells{
    ShellEntry{"bash", kBash},
    ShellEntry{"zsh", kZsh},
    ShellEntry{"fish", kFish},
};

// "--dtype", "=", "b" as "--dtype", "b".
std::vector<std::string> without_equals(std::span<const std::string> words) {
  std::vector<std::string> kept;
  for (const std::string& word : words)
    if (word != "=") kept.push_back(word);
  if (!words.empty() && words.back() == "=") kept.emplace_back();
  return kept;
}

}  // namespace

std::span<const ShellEntry> shells() {
  return kShells;
}

std::string answer_completion(const CommandTable& commands, std::span<const std::string> words,
                              std::span<const ValueSource> values) {
  if (words.empty()) return "";
  std::vector<std::string> line(words.begin() + 1, words.end());
  if (words[0] == "bash") line = without_equals(line);
  const Completion completion = complete(commands, line, values);
  std::string answer;
  for (const Candidate& candidate : completion.candidates)
    answer += candidate.text + "\t" + candidate.about + "\n";
  if (completion.paths == PathKind::kFiles) answer += ":files\n";
  if (completion.paths == PathKind::kFolders) answer += ":folders\n";
  return answer;
}

}  // namespace nadi::inline show
