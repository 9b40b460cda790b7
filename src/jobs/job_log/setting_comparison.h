// Settings asked for and settings in effect, side by side.
//
//   for (const SettingRow& row : compare_settings(log, asked))
//     if (row.differs) show(row.name, row.asked, row.in_effect);
//
// One setting has several names: a script's variable (MICRO_BATCH_SIZE) and Megatron's argument
// (micro_batch_size) are one row. A row differs when a node has another value than was asked for, and, of the
// settings that must be the same in the whole job, when two nodes or a script and its program disagree.
// Numbers are compared as numbers (1e-4 is 0.0001), texts without quotes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nadi::inline jobs {

struct JobLog;

struct AskedSetting {
  std::string name;
  std::string value;
  std::string where = {};  // "job.json", "_00_conf.sh:12"
};

struct SettingRow {
  struct Value {
    std::string text = {};
    std::string printed_as = {};          // "micro_batch_size"
    std::vector<std::string> nodes = {};  // that printed it so
    std::string file = {};                // "n060.out", of the first of them
    std::int64_t line = 0;
  };
  std::string name = {};  // as asked for, else the variable's, else as it was printed
  std::optional<std::string> asked = {};
  std::string where = {};
  std::vector<Value> in_effect = {};  // one for each text and name; empty where no node printed it
  bool differs = false;
};

// Rows of what was asked for first, in that order; then all else that was printed, in its order.
std::vector<SettingRow> compare_settings(const JobLog& log, const std::vector<AskedSetting>& asked);

// Whether two texts say the same value.
bool same_setting(std::string_view a, std::string_view b);

}  // namespace nadi::inline jobs
