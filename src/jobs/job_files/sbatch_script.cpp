#include "nadi/job_files/sbatch_script.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/base/read_number.h"
#include "nadi/shell/shell_settings.h"
#include "nadi/shell/shell_word.h"

namespace nadi::inline jobs {
namespace {

namespace fs = std::filesystem;

constexpr std::array kShortOptions{
    std::pair{"-N", "nodes"},     std::pair{"-n", "ntasks"},    std::pair{"-c", "cpus-per-task"},
    std::pair{"-p", "partition"}, std::pair{"-t", "time"},      std::pair{"-J", "job-name"},
    std::pair{"-w", "nodelist"},  std::pair{"-x", "exclude"},   std::pair{"-C", "constraint"},
    std::pair{"-A", "account"},   std::pair{"-q", "qos"},       std::pair{"-o", "output"},
    std::pair{"-e", "error"},     std::pair{"-d", "dependency"}};

std::vector<std::string> sbatch_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  bool inside = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == 0 && (c == ' ' || c == '\t')) {
      if (inside) words.push_back(std::exchange(word, ""));
      inside = false;
      continue;
    }
    if (quote == 0 && !inside && c == '#') break;
    inside = true;
    if (c == '\\' && i + 1 < line.size())
      word += line[++i];
    else if (quote == 0 && (c == '"' || c == '\''))
      quote = c;
    else if (quote != 0 && c == quote)
      quote = 0;
    else
      word += c;
  }
  if (inside) words.push_back(word);
  return words;
}

std::string_view without_spaces(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

void add_options(std::string_view line, const Place& place, std::vector<SbatchOption>& options) {
  const std::vector<std::string> words = sbatch_words(line);
  for (std::size_t w = 0; w < words.size(); ++w) {
    const std::string& word = words[w];
    if (word == "hetjob" || word == "packjob")
      throw input_error(place, "the parts of a heterogeneous job in one script cannot be taken over",
                        "a script for each part, or groups of a job file: 'nadi job init'");
    std::string name, value;
    if (word.starts_with("--")) {
      const std::size_t equals = word.find('=');
      name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
      if (equals != std::string::npos)
        value = word.substr(equals + 1);
      else if (w + 1 < words.size() && !words[w + 1].starts_with("-"))
        value = words[++w];
    } else {
      const auto known = std::ranges::find_if(
          kShortOptions, [&](const auto& entry) { return word.starts_with(entry.first); });
      if (known == kShortOptions.end())
        throw input_error(place,
                          format("{} is no option of sbatch that is known here", quote_for_message(word)),
                          "write it out: --name=value");
      name = known->second;
      if (word.size() > 2)
        value = word.substr(2);
      else if (w + 1 < words.size())
        value = words[++w];
    }
    options.push_back({name, value, *place.line});
  }
}

// The value of a line NAME=value of the body, where it is known without running anything.
std::optional<SbatchOption> value_in(std::string_view line, std::string_view name, const Place& place) {
  if (line.starts_with("export ")) line = without_spaces(line.substr(7));
  if (!line.starts_with(std::string(name) + "=")) return std::nullopt;
  const std::string_view rest = line.substr(name.size() + 1);
  const ShellVariables none{.value = [](const std::string&) { return std::nullopt; },
                            .assign = [](const std::string&, const std::string&) {}};
  try {
    const std::string_view word = rest.substr(0, shell_word_end(rest, 0, place));
    // "$1" and the like are known when it runs.
    if (word.find_first_of("$`") != std::string_view::npos && !word.starts_with("'")) return std::nullopt;
    return SbatchOption{std::string(name), expand_shell_word(word, {.variables = none, .place = place}),
                        *place.line};
  } catch (const Error&) {
    return std::nullopt;  // a line that only a shell understands
  }
}

bool is_left_out(std::string_view line) {
  return line.find_first_not_of('.') == std::string_view::npos;
}

}  // namespace

const SbatchOption* SbatchScript::find(std::string_view name) const {
  for (const SbatchOption& option : std::views::reverse(options))
    if (option.name == name) return &option;
  return nullptr;
}

SbatchScript read_sbatch_script(const fs::path& path) {
  SbatchScript script{.path = path};
  const std::vector<std::string> lines = read_script_lines(path, "a script for sbatch");
  bool head = true;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Place place{.file = path.string(), .line = static_cast<std::int64_t>(i) + 1};
    if (lines[i].starts_with("#SBATCH")) {
      if (head) add_options(std::string_view(lines[i]).substr(7), place, script.options);
      continue;
    }
    const std::string_view line = without_spaces(lines[i]);
    if (line.empty() || line[0] == '#' || is_left_out(line)) continue;
    head = false;  // sbatch stops at the first command
    if (auto value = value_in(line, "MASTER_ADDR", place); value && !value->value.empty())
      script.master_address = std::move(value);
    if (auto value = value_in(line, "GRES", place); value && !value->value.empty())
      script.gres = std::move(value);
  }
  return script;
}

std::optional<SbatchGpus> parse_sbatch_gpus(std::string_view text) {
  if (text.starts_with("gpu:")) text.remove_prefix(4);
  SbatchGpus gpus;
  if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    gpus.type = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  constexpr std::int64_t kMostGpus = 1 << 20;
  if (!read_number(text, gpus.count) || gpus.count < 0 || gpus.count > kMostGpus) return std::nullopt;
  return gpus;
}

}  // namespace nadi::inline jobs
