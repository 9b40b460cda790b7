// What a trial is judged by: where its figures come from, and how several of them become one.
//
//   const MetricSpec metric = metric_of_text("throughput: ([0-9.]+)");
//   MetricReader reader({&metric, 1});
//   reader.on_line(line);                                   // each line of the trial's output
//   const MetricResult result = reader.result({.exit_code = 0, .seconds = 12.5});
//
// Sources:
//   PATTERN, pattern:PATTERN   a regular expression (ECMAScript's); its first group is the figure of each
//                              line that matches
//   json:KEY.KEY               the figure in each line of the output that is a JSON object with this key;
//                              where no line is one, in the output as a whole
//   json:FILE#KEY.KEY          the figure in a file that the trial writes; {{folder}} may be in its name
//   runtime                    seconds from the start of the command to its end
//   exit-code                  the command's
// NAME=SOURCE gives it a name, where SOURCE begins with pattern:, json:, runtime or exit-code.
//
// The first `warmup` figures of a source are dropped and the rest becomes one by `reduction`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/study/trial.h"

namespace nadi::inline tuning {

enum class MetricSource : std::uint8_t { kPattern, kJson, kJsonFile, kRuntime, kExitCode };
enum class MetricReduction : std::uint8_t { kLast, kMean, kMedian, kHarmonicMean, kLeast, kGreatest };

struct ReductionEntry {
  MetricReduction reduction;
  std::string_view name;  // "last", "mean", "median", "harmonic-mean", "min", "max"
};
std::span<const ReductionEntry> metric_reductions();

struct MetricSpec {
  std::string name = "metric";
  MetricSource source = MetricSource::kPattern;
  std::string text = {};  // the pattern, or the keys
  std::string file = {};  // of kJsonFile
  StudyDirection direction = StudyDirection::kMinimize;
  MetricReduction reduction = MetricReduction::kLast;
  std::int64_t warmup = 0;

  bool of_output() const { return source == MetricSource::kPattern || source == MetricSource::kJson; }
};

// Error (usage) for a pattern that does not compile or has no group.
MetricSpec metric_of_text(std::string_view text);
// What metric_of_text() takes, with name and source.
std::string metric_text(const MetricSpec& metric);

// Not empty. NaN where a figure is NaN, except for kLast. Error (input) for a harmonic mean of what is not
// positive.
double reduced(MetricReduction reduction, std::span<const double> figures);

struct TrialFacts {
  int exit_code = 0;
  double seconds = 0;
  std::filesystem::path folder = {};
};

struct MetricResult {
  std::vector<double> values;  // one for each metric; empty where one is missing
  std::string missing;         // why
};

class MetricReader {
 public:
  // The metrics must outlive it.
  explicit MetricReader(std::span<const MetricSpec> metrics);
  ~MetricReader();

  // Patterns are looked for in both streams, JSON in the standard output alone.
  void on_line(std::string_view line, bool is_error = false);

  // What the first metric would be with the figures so far, and how many there are after the warm-up; nothing
  // before the first. The value is NaN after a match that is no number, such as "nan". Metrics that are known
  // at the end only never have one.
  struct Intermediate {
    std::int64_t step = 0;  // from 1
    double value = 0;
  };
  // Those since the last call.
  std::vector<Intermediate> take_intermediate();

  MetricResult result(const TrialFacts& facts) const;

  // Longer lines are searched up to this length only: regular expressions take stack in proportion to it.
  static constexpr std::size_t kSearchedLength = 8192;
  std::int64_t cut_lines() const { return cut_lines_; }

 private:
  struct Compiled;
  void add(std::size_t metric, double figure);
  std::optional<std::string> file_figure(const MetricSpec& metric, const TrialFacts& facts,
                                         double& figure) const;

  std::span<const MetricSpec> metrics_;
  std::vector<Compiled> compiled_;
  std::vector<std::vector<double>> figures_;
  std::vector<Intermediate> fresh_;
  std::string output_;  // as a whole, while it may be one JSON value
  bool output_kept_ = false;
  std::int64_t cut_lines_ = 0;
};

}  // namespace nadi::inline tuning
