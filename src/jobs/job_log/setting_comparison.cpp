#include "nadi/job_log/setting_comparison.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "nadi/base/ascii.h"
#include "nadi/job_log/job_log.h"
#include "nadi/job_log/log_text.h"
#include "nadi/job_log/old_model_names.h"

namespace nadi::inline jobs {
namespace {

// What is one setting under two names.
struct SettingAlias {
  std::string_view variable, argument;
  bool of_job = true;  // all nodes have the same value
};
constexpr std::array kAliases{
    SettingAlias{"GLOBAL_BATCH_SIZE", "global_batch_size"},
    SettingAlias{"MICRO_BATCH_SIZE", "micro_batch_size"},
    SettingAlias{"TENSOR_MP_SIZE", "tensor_model_parallel_size"},
    SettingAlias{"PIPELINE_MP_SIZE", "pipeline_model_parallel_size"},
    SettingAlias{"DP_SIZE", "data_parallel_size"},
    SettingAlias{"CP_SIZE", "context_parallel_size"},
    SettingAlias{"VIRTUAL_PIPELINE_MP_SIZE", "virtual_pipeline_model_parallel_size"},
    SettingAlias{"WORLD_SIZE", "world_size"},
    SettingAlias{"HIDDEN_SIZE", "hidden_size"},
    SettingAlias{"NUM_LAYERS", "num_layers"},
    SettingAlias{"NUM_ATTENTION_HEADS", "num_attention_heads"},
    SettingAlias{"SEQ_LENGTH", "seq_length"},
    SettingAlias{"NNODES", ""},
    SettingAlias{"MASTER_ADDR", ""},
    SettingAlias{"MASTER_PORT", ""},
    SettingAlias{"TRAIN_ITERS", "train_iters"},
    SettingAlias{"PARTITION", "partition", false},  // layers of stages, or Slurm's partition of a node
    SettingAlias{"MODEL", "model"},
};

const SettingAlias* alias_of(std::string_view name) {
  const auto found = std::ranges::find_if(
      kAliases, [&](const SettingAlias& alias) { return alias.variable == name || alias.argument == name; });
  return found == kAliases.end() ? nullptr : &*found;
}

// The one name of a setting.
std::string_view canonical(std::string_view name) {
  const SettingAlias* const alias = alias_of(name);
  return alias == nullptr ? name : alias->variable;
}

std::string_view bare_value(std::string_view text) {
  text = trimmed_text(text);
  // A list of one, as Python prints it: ['data/text'], [0]
  if (text.size() >= 3 && text.starts_with('[') && text.ends_with(']') &&
      text.find(',') == std::string_view::npos)
    text = text.substr(1, text.size() - 2);
  while (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front())
    text = text.substr(1, text.size() - 2);
  return text;
}

// "AttnBackend.unfused" is how Python prints what --attention-backend unfused chose.
bool is_choice(std::string_view printed, std::string_view value) {
  if (value.empty() || !printed.ends_with(value)) return false;
  std::string_view type = printed.substr(0, printed.size() - value.size());
  if (type.size() < 2 || !type.ends_with('.')) return false;
  type.remove_suffix(1);
  return type.front() >= 'A' && type.front() <= 'Z' && std::ranges::all_of(type, [](char c) {
           return is_digit(c) || c == '_' || (to_lower(c) >= 'a' && to_lower(c) <= 'z');
         });
}

// "xl" is gpt2-xl; "tiny.json" of a settings file is /home/a/tiny.json of the job.
bool same_model(std::string_view a, std::string_view b) {
  a = model_of_old_name(bare_value(a));
  b = model_of_old_name(bare_value(b));
  const auto ends_with = [](std::string_view path, std::string_view end) {
    while (end.starts_with("./") || end.starts_with("../")) end.remove_prefix(end.find('/') + 1);
    return path.starts_with('/') && path.size() > end.size() && path.ends_with(end) &&
           path[path.size() - end.size() - 1] == '/';
  };
  return a == b || ends_with(a, b) || ends_with(b, a);
}

// "0-11-8-5" is [0, 11, 8, 5], and 1-11-8-6 where embedding and head count as a layer each.
bool same_partition(std::string_view a, std::string_view b) {
  const auto layers = [](std::string_view text) {
    std::vector<std::int64_t> numbers;
    if (text.find_first_not_of("0123456789[], -") != std::string_view::npos)
      return numbers;  // Slurm's "gpu2"
    for (std::size_t at = text.find_first_of("0123456789"); at < text.size();) {
      const std::size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
      numbers.push_back(number_in<std::int64_t>(text.substr(at, end - at)).value_or(-1));
      at = text.find_first_of("0123456789", end);
    }
    return numbers;
  };
  std::vector<std::int64_t> first = layers(a), second = layers(b);
  if (first.size() != second.size() || first.empty()) return same_setting(a, b);
  if (first == second) return true;
  for (std::vector<std::int64_t>* const counted : {&first, &second}) {
    std::vector<std::int64_t> bare = *counted;
    bare.front() -= 1;
    bare.back() -= 1;
    if (bare == (counted == &first ? second : first)) return true;
  }
  return false;
}

bool same_value(std::string_view name, std::string_view a, std::string_view b) {
  if (same_setting(a, b)) return true;
  return name == "MODEL" ? same_model(a, b) : name == "PARTITION" && same_partition(a, b);
}

}  // namespace

bool same_setting(std::string_view a, std::string_view b) {
  a = bare_value(a);
  b = bare_value(b);
  if (a == b || is_choice(a, b) || is_choice(b, a)) return true;
  const auto first = number_in<double>(a), second = number_in<double>(b);
  if (first && second) return *first == *second;
  const auto truth = [](std::string_view text) {
    return equal_ignoring_case(text, "true") || equal_ignoring_case(text, "false");
  };
  return truth(a) && truth(b) && equal_ignoring_case(a, b);
}

std::vector<SettingRow> compare_settings(const JobLog& log, const std::vector<AskedSetting>& asked) {
  std::vector<SettingRow> rows;
  std::map<std::string, std::size_t, std::less<>> places;
  for (const AskedSetting& setting : asked) {
    const auto [place, is_new] = places.try_emplace(std::string(canonical(setting.name)), rows.size());
    if (is_new) rows.push_back({.name = setting.name});
    rows[place->second].asked = setting.value;  // the last wish counts, as in a shell
    rows[place->second].where = setting.where;
  }
  for (const NodeLog& node : log.nodes) {
    // What nodes of an earlier start had, others may have otherwise now: their number, where they meet.
    if (!is_of_newest_start(log, node)) continue;
    for (const PrintedSetting& setting : node.settings) {
      const std::string_view name = canonical(setting.name);
      auto place = places.find(name);
      if (place == places.end()) {
        place = places.emplace(std::string(name), rows.size()).first;
        rows.push_back({.name = std::string(name)});
      }
      SettingRow& row = rows[place->second];
      const auto known = std::ranges::find_if(row.in_effect, [&](const SettingRow::Value& value) {
        return value.printed_as == setting.name && value.text == setting.value;
      });
      if (known != row.in_effect.end()) {
        known->nodes.push_back(node.name);
        continue;
      }
      row.in_effect.push_back({.text = setting.value,
                               .printed_as = setting.name,
                               .nodes = {node.name},
                               .file = node.out.path.filename().string(),
                               .line = setting.line});
    }
  }
  for (SettingRow& row : rows) {
    const SettingAlias* const alias = alias_of(row.name);
    const bool of_job = alias != nullptr && alias->of_job;
    for (const SettingRow::Value& value : row.in_effect)
      row.differs = row.differs || (row.asked && !same_value(canonical(row.name), *row.asked, value.text)) ||
                    (of_job && !same_value(canonical(row.name), row.in_effect.front().text, value.text));
  }
  return rows;
}

}  // namespace nadi::inline jobs
