#include "nadi/scheduler/old_settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>

#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/base/parse_bytes.h"
#include "nadi/scheduler/job_folder.h"
#include "nadi/scheduler/job_time.h"
#include "nadi/scheduler/job_variables.h"

namespace nadi {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestLine = 1 << 16;
constexpr std::size_t kMostLines = 100'000;

std::vector<std::string> lines_in(const fs::path& path, std::string_view wanted) {
  const FileKind kind = kind_of_file(path);
  if (!is_text(kind) && kind != FileKind::kUnknown) throw WrongFileKind(path.string(), kind, wanted);
  std::ifstream file(path);
  if (!file) throw input_error({.file = path.string()}, "cannot read the file");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.size() > kLongestLine || lines.size() > kMostLines)
      throw input_error({.file = path.string(), .line = std::ssize(lines) + 1},
                        "too long for a file of settings");
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string_view without_spaces(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// The value of a key as bash would read it, without running anything.
class ValueReader {
 public:
  ValueReader(std::string_view text, Place place, const std::vector<OldSetting>& known)
      : text_(text), place_(std::move(place)), known_(known) {}

  std::string read() {
    std::string value;
    char quote = 0;
    for (at_ = 0; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (quote == 0 && (c == ' ' || c == '\t' || c == ';')) break;
      if (quote == 0 && (c == '"' || c == '\'')) {
        quote = c;
      } else if (quote != 0 && c == quote) {
        quote = 0;
      } else if (quote != '\'' && c == '\\' && at_ + 1 < text_.size()) {
        value += text_[++at_];
      } else if (quote != '\'' && c == '`') {
        throw command();
      } else if (quote != '\'' && c == '$') {
        value += variable();
      } else {
        value += c;
      }
    }
    if (quote != 0) throw input_error(place_, "a quote without an end");
    const std::string_view rest = without_spaces(text_.substr(std::min(at_, text_.size())));
    if (!rest.empty() && rest[0] != '#' && rest != ";")
      throw input_error(place_, format("{} follows the value", quote_for_message(rest)),
                        "quotes around values with spaces");
    return value;
  }

 private:
  Error command() const {
    return input_error(place_, "the value is the output of a command, and nothing is executed here",
                       "write the value itself");
  }

  // at_ is on the '$', and then on the last character of the reference.
  std::string variable() {
    if (text_.substr(at_).starts_with("$(")) throw command();
    const bool braces = text_.substr(at_).starts_with("${");
    const std::size_t begin = at_ + (braces ? 2 : 1);
    std::size_t end = begin;
    while (end < text_.size() && is_variable_name(text_.substr(begin, end + 1 - begin))) ++end;
    const std::string name(text_.substr(begin, end - begin));
    if (name.empty() || (braces && text_.substr(end, 1) != "}"))
      throw input_error(place_, "this use of '$' is not read", "$NAME and ${NAME} of earlier lines are");
    at_ = braces ? end : end - 1;
    for (const OldSetting& setting : known_)
      if (setting.name == name) return setting.value;
    if (name == "HOME" || name == "USER")
      if (const char* value = std::getenv(name.c_str())) return value;
    throw input_error(place_, format("${} is not set in the lines above", name));
  }

  std::string_view text_;
  Place place_;
  const std::vector<OldSetting>& known_;
  std::size_t at_ = 0;
};

void read_settings_file(const fs::path& path, OldSettings& old) {
  const std::vector<std::string> lines = lines_in(path, "a file of settings");
  std::vector<std::int64_t> others;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = without_spaces(lines[i]);
    if (line.empty() || line[0] == '#') continue;
    if (line.starts_with("export ")) line = without_spaces(line.substr(7));
    const std::size_t equals = line.find('=');
    const std::int64_t number = static_cast<std::int64_t>(i) + 1;
    if (equals == std::string_view::npos || !is_variable_name(line.substr(0, equals))) {
      others.push_back(number);
      continue;
    }
    const std::string name(line.substr(0, equals));
    OldSetting setting{
        name,
        ValueReader(line.substr(equals + 1), {.file = path.string(), .line = number}, old.settings).read(),
        number};
    std::erase_if(old.settings, [&](const OldSetting& before) { return before.name == name; });
    old.settings.push_back(std::move(setting));
  }
  if (!others.empty())
    old.notes.push_back(format("{}: line{} {} not of the form KEY=value, not read", path.string(),
                               others.size() == 1 ? "" : "s", fmt::join(others, ", ")));
}

// "-N 4", "-N4", "--nodes=4" and "--nodes 4" are {"nodes", "4"}.
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

void read_sbatch_lines(const fs::path& path, OldSettings& old) {
  const std::vector<std::string> lines = lines_in(path, "a script for sbatch");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with("#SBATCH")) {
      // sbatch stops at the first command.
      const std::string_view line = without_spaces(lines[i]);
      if (!line.empty() && line[0] != '#') break;
      continue;
    }
    const std::int64_t number = static_cast<std::int64_t>(i) + 1;
    const std::vector<std::string> words = sbatch_words(std::string_view(lines[i]).substr(7));
    for (std::size_t w = 0; w < words.size(); ++w) {
      const std::string& word = words[w];
      if (word == "hetjob" || word == "packjob")
        throw input_error({.file = path.string(), .line = number}, "a heterogeneous job cannot be taken over",
                          "describe it as groups of a job file: 'nadi job init'");
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
          throw input_error({.file = path.string(), .line = number},
                            format("{} is no option of sbatch that is known here", quote_for_message(word)),
                            "write it out: --name=value");
        name = known->second;
        if (word.size() > 2)
          value = word.substr(2);
        else if (w + 1 < words.size())
          value = words[++w];
      }
      old.options.push_back({name, value, number});
    }
  }
}

std::int64_t count_in(const OldSetting& setting, const fs::path& file, std::int64_t least = 1) {
  std::int64_t count = 0;
  const char* end = setting.value.data() + setting.value.size();
  const auto [at, problem] = std::from_chars(setting.value.data(), end, count);
  constexpr std::int64_t kMost = 1 << 24;
  if (problem != std::errc{} || at != end || count < least || count > kMost)
    throw input_error(
        {.file = file.string(), .line = setting.line},
        format("{} is {}, not a number from {} on", setting.name, quote_for_message(setting.value), least));
  return count;
}

bool truth_in(const OldSetting& setting, const fs::path& file) {
  std::string text = setting.value;
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (text == "true" || text == "1" || text == "yes") return true;
  if (text == "false" || text == "0" || text == "no" || text.empty()) return false;
  throw input_error(
      {.file = file.string(), .line = setting.line},
      format("{} is {}, neither true nor false", setting.name, quote_for_message(setting.value)));
}

// "[1, 11, 8, 5]", "1-11-8-5" or "1,11,8,5": embedding and head count as a layer each there, and not here.
std::string partition_in(const OldSetting& setting, const fs::path& file) {
  std::vector<std::int64_t> layers;
  std::string digits;
  for (const char c : setting.value + ",") {
    if (c >= '0' && c <= '9' && digits.size() < 8) {
      digits += c;
    } else if (std::string_view("[], -\t").find(c) == std::string_view::npos) {
      throw input_error(
          {.file = file.string(), .line = setting.line},
          format("{} is {}, not a list of layers", setting.name, quote_for_message(setting.value)),
          "for example 1-11-8-8-5");
    } else if (!digits.empty()) {
      layers.push_back(std::stoll(std::exchange(digits, "")));
    }
  }
  if (layers.empty()) return "";
  if (layers.size() == 1)
    layers[0] -= 2;
  else
    layers.front() -= 1, layers.back() -= 1;
  if (layers.front() < 0 || layers.back() < 0)
    throw input_error(
        {.file = file.string(), .line = setting.line},
        format("{} is {}: the first and the last stage count embedding and head as a layer each",
               setting.name, quote_for_message(setting.value)));
  return format("{}", fmt::join(layers, "-"));
}

class OldJob {
 public:
  OldJob(OldSettings& old, fs::path settings, fs::path script)
      : old_(old), job_(old.job), settings_(std::move(settings)), script_(std::move(script)) {}

  void make() {
    job_.run.kind = JobRunKind::kTrain;
    job_.outputs = fs::absolute(settings_).lexically_normal().parent_path() / kDefaultJobOutputs;
    for (const OldSetting& setting : old_.settings) take_setting(setting);
    for (const OldSetting& option : old_.options) take_option(option);
    finish();
  }

 private:
  void note(std::string text) { old_.notes.push_back(std::move(text)); }
  void word(std::string_view flag, const OldSetting& setting) {
    words_.emplace_back(flag);
    words_.push_back(format("{}", count_in(setting, settings_)));
  }

  void take_setting(const OldSetting& setting) {
    const std::string& name = setting.name;
    if (name == "MODEL")
      model_ = setting.value;
    else if (name == "NNODES")
      nodes_ = count_in(setting, settings_);
    else if (name == "NPROC_PER_NODE")
      ranks_ = count_in(setting, settings_);
    else if (name == "GLOBAL_BATCH_SIZE")
      word("--global-batch-size", setting);
    else if (name == "MICRO_BATCH_SIZE")
      word("--micro-batch-size", setting);
    else if (name == "TENSOR_MP_SIZE")
      word("--tensor-model-parallel-size", setting), degrees_ *= count_in(setting, settings_);
    else if (name == "DP_SIZE")
      word("--dp", setting), degrees_ *= count_in(setting, settings_);
    else if (name == "PIPELINE_MP_SIZE")
      word("--pipeline-model-parallel-size", setting), degrees_ *= count_in(setting, settings_);
    else if (name == "PARTITION")
      take_partition(setting);
    else if (name == "ZERO") {
      if (truth_in(setting, settings_)) words_.insert(words_.end(), {"--zero", "1"});
    } else if (name == "NSYS") {
      if (truth_in(setting, settings_)) job_.profile.nsys = ProfilerUse{};
    } else if (name == "PROFILE") {
      if (truth_in(setting, settings_))
        note(
            "PROFILE=true: lists of times after timers are a part of the modified Megatron-LM; --trace 10-12 "
            "records steps");
    } else if (name == "CONTAINER_IMAGE_PATH")
      job_.container = {.kind = ContainerKind::kEnroot, .image = setting.value};
    else if (name == "MASTER_PORT" || name == "MASTER_ADDR")
      note(format("{} is not taken over: it is found", name));
    else if (name == "RELOAD_CONTAINER" || name == "CONTAINER_NAME" || name == "CONTAINER_PATH")
      note(format("{} is not taken over: each job has a container of its own", name));
    else if (name == "HOMOGENEOUS_CLUSTER") {
      if (!truth_in(setting, settings_))
        note(
            "HOMOGENEOUS_CLUSTER=false: this is the job of one script; several kinds of nodes are groups of "
            "a job file, and one job");
    } else if (name == "HIDDEN_SIZE" || name == "NUM_LAYERS")
      note(format("{} is not taken over: the model has it", name));
    else
      note(format("{}:{}: unknown setting {}", settings_.string(), setting.line, name));
  }

  void take_partition(const OldSetting& setting) {
    const std::string layers = partition_in(setting, settings_);
    if (!layers.empty()) words_.insert(words_.end(), {"--partition", layers});
  }

  std::vector<std::string> names_in(const std::string& text) const {
    // "n[1-3],n7": commas in brackets belong to a name.
    std::vector<std::string> names(1);
    int depth = 0;
    for (const char c : text) {
      depth += c == '[' ? 1 : c == ']' ? -1 : 0;
      if (c == ',' && depth == 0)
        names.emplace_back();
      else
        names.back() += c;
    }
    std::erase(names, "");
    return names;
  }

  void take_option(const OldSetting& option) {
    const std::string& name = option.name;
    JobNodes& group = job_.groups[0];
    if (name == "job-name")
      job_.name = option.value;
    else if (name == "nodes")
      nodes_of_script_ = count_in(option, script_);
    else if (name == "ntasks-per-node") {
      if (count_in(option, script_) != 1) ranks_of_script_ = count_in(option, script_);
    } else if (name == "ntasks")
      note(format("--ntasks={} is not taken over: it follows from nodes and ranks", option.value));
    else if (name == "cpus-per-task")
      cpus_ = count_in(option, script_);
    else if (name == "gres" || name == "gpus-per-node")
      take_gpus(option);
    else if (name == "partition")
      group.partitions = names_in(option.value);
    else if (name == "constraint")
      group.constraint = option.value;
    else if (name == "nodelist")
      group.nodelist = names_in(option.value);
    else if (name == "exclude")
      group.exclude = names_in(option.value);
    else if (name == "account")
      job_.account = option.value;
    else if (name == "qos")
      job_.qos = option.value;
    else if (name == "reservation")
      job_.reservation = option.value;
    else if (name == "dependency")
      job_.dependency = option.value;
    else if (name == "exclusive" && option.value.empty())
      job_.exclusive = true;
    else if (name == "time")
      take_time(option);
    else if (name == "mem")
      take_memory(option);
    else if (name == "output" || name == "error" || name == "open-mode")
      note(format("--{} is not taken over: each job has a folder of its own", name));
    else
      job_.options.push_back(format("--{}{}", name, option.value.empty() ? "" : "=" + option.value));
  }

  Error wrong(const OldSetting& option, std::string_view wanted) const {
    return input_error({.file = script_.string(), .line = option.line},
                       format("--{} is {}, not {}", option.name, quote_for_message(option.value), wanted));
  }

  // "gpu:4", "gpu:a10:4", "4", "a10:4".
  void take_gpus(const OldSetting& option) {
    std::string text = option.value;
    if (text.starts_with("gpu:")) text.erase(0, 4);
    const std::size_t colon = text.rfind(':');
    if (colon != std::string::npos) job_.groups[0].gpu_type = text.substr(0, colon);
    job_.groups[0].gpus_per_node = count_in(
        {option.name, text.substr(colon == std::string::npos ? 0 : colon + 1), option.line}, script_, 0);
  }

  void take_time(const OldSetting& option) {
    if (option.value == "UNLIMITED" || option.value == "infinite") return;
    job_.time = parse_job_time(option.value);
    if (!job_.time) throw wrong(option, "a time");
  }

  void take_memory(const OldSetting& option) {
    // Slurm counts in MiB, and its letters are powers of two.
    std::string text = option.value;
    if (text == "0") return note("--mem=0 is not taken over: \"exclusive\": true takes whole nodes");
    if (!text.empty() && text.back() >= '0' && text.back() <= '9') text += "M";
    const auto memory = parse_bytes(text + "iB");
    if (!memory) throw wrong(option, "an amount of memory");
    job_.groups[0].memory = memory;
  }

  void finish() {
    JobNodes& group = job_.groups[0];
    if (nodes_ && nodes_of_script_ && *nodes_ != *nodes_of_script_)
      throw input_error({.file = script_.string()},
                        format("--nodes={} in {}, and NNODES={} in {}", *nodes_of_script_, script_.string(),
                               *nodes_, settings_.string()),
                        "make them the same");
    group.nodes = nodes_ ? *nodes_ : nodes_of_script_.value_or(1);
    group.ranks_per_node = ranks_             ? *ranks_
                           : ranks_of_script_ ? *ranks_of_script_
                                              : std::max<std::int64_t>(1, group.gpus_per_node);
    // The old scripts had one task for each node.
    if (cpus_)
      group.cpus_per_rank =
          ranks_of_script_ ? *cpus_ : std::max<std::int64_t>(1, *cpus_ / group.ranks_per_node);
    if (group.gpus_per_node == 0) group.gpus_per_node = group.ranks_per_node;
    if (model_.empty())
      throw input_error({.file = settings_.string()},
                        "no MODEL=... in the settings: there is nothing to run");
    if (degrees_ > 1 && degrees_ != group.ranks())
      throw input_error(
          {.file = settings_.string()},
          format("TENSOR_MP_SIZE x DP_SIZE x PIPELINE_MP_SIZE is {}, and {} nodes of {} ranks have {}",
                 degrees_, group.nodes, group.ranks_per_node, group.ranks()));
    if (old_.options.empty() || job_.name == JobFile{}.name) job_.name = model_;
    job_.run.words = {model_};
    job_.run.words.insert(job_.run.words.end(), words_.begin(), words_.end());
  }

  OldSettings& old_;
  JobFile& job_;
  fs::path settings_, script_;
  std::string model_;
  std::vector<std::string> words_;
  std::optional<std::int64_t> nodes_, ranks_, nodes_of_script_, ranks_of_script_, cpus_;
  std::int64_t degrees_ = 1;
};

}  // namespace

OldSettings read_old_settings(const fs::path& settings, const fs::path& script) {
  OldSettings old;
  read_settings_file(settings, old);
  if (!script.empty()) read_sbatch_lines(script, old);
  OldJob(old, settings, script).make();
  check_job(old.job);
  return old;
}

}  // namespace nadi
