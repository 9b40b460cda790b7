#include "nadi/tune/metric.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <regex>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/nearest.h"
#include "nadi/tune/value_text.h"

namespace nadi::inline tuning {
namespace {

constexpr std::array kReductions{
    ReductionEntry{MetricReduction::kLast, "last"},
    ReductionEntry{MetricReduction::kMean, "mean"},
    ReductionEntry{MetricReduction::kMedian, "median"},
    ReductionEntry{MetricReduction::kHarmonicMean, "harmonic-mean"},
    ReductionEntry{MetricReduction::kLeast, "min"},
    ReductionEntry{MetricReduction::kGreatest, "max"},
};

// Output that is kept to be read as one JSON value.
constexpr std::size_t kMostJsonOutput = 16 << 20;
// Figures that are kept of one trial.
constexpr std::size_t kMostFigures = 1'000'000;

std::regex compiled_pattern(const std::string& pattern) {
  try {
    std::regex compiled(pattern, std::regex::ECMAScript | std::regex::optimize);
    if (compiled.mark_count() == 0)
      throw usage_error(format("the pattern '{}' has no group", pattern),
                        "put what is the figure in parentheses: 'loss: ([0-9.]+)'");
    return compiled;
  } catch (const std::regex_error& error) {
    throw usage_error(format("'{}' is no regular expression: {}", pattern, error.what()));
  }
}

std::vector<std::string> keys_of(std::string_view path) {
  std::vector<std::string> keys;
  while (true) {
    const std::size_t dot = path.find('.');
    keys.emplace_back(path.substr(0, dot));
    if (dot == std::string_view::npos) return keys;
    path.remove_prefix(dot + 1);
  }
}

std::optional<double> figure_in(const nlohmann::json& root, const std::vector<std::string>& keys) {
  const nlohmann::json* value = &root;
  for (const std::string& key : keys) {
    if (value->is_object() && value->contains(key)) {
      value = &(*value)[key];
    } else if (value->is_array() && !value->empty()) {
      const auto index = number_of_text(key);
      const double last = static_cast<double>(value->size() - 1);
      if (!index || *index != std::floor(*index) || *index > last || *index < -1) return std::nullopt;
      value = &(*value)[static_cast<std::size_t>(*index < 0 ? last : *index)];
    } else {
      return std::nullopt;
    }
  }
  if (value->is_number()) return value->get<double>();
  if (value->is_string()) return number_of_text(value->get<std::string>());
  return std::nullopt;
}

}  // namespace

struct MetricReader::Compiled {
  std::optional<std::regex> pattern;
  std::vector<std::string> keys;
};

std::span<const ReductionEntry> metric_reductions() {
  return kReductions;
}

MetricSpec metric_of_text(std::string_view text) {
  MetricSpec metric;
  const auto is_source = [](std::string_view source) {
    return source.starts_with("pattern:") || source.starts_with("json:") || source == "runtime" ||
           source == "exit-code";
  };
  const std::size_t equals = text.find('=');
  if (equals != std::string_view::npos && equals > 0 && is_source(text.substr(equals + 1))) {
    metric.name = text.substr(0, equals);
    text.remove_prefix(equals + 1);
  } else if (text == "runtime" || text == "exit-code") {
    metric.name = text;
  }
  if (text == "runtime") {
    metric.source = MetricSource::kRuntime;
  } else if (text == "exit-code") {
    metric.source = MetricSource::kExitCode;
  } else if (text.starts_with("json:")) {
    text.remove_prefix(5);
    metric.source = MetricSource::kJson;
    if (const std::size_t hash = text.rfind('#'); hash != std::string_view::npos) {
      metric.source = MetricSource::kJsonFile;
      metric.file = text.substr(0, hash);
      text.remove_prefix(hash + 1);
    }
    if (text.empty())
      throw usage_error("a JSON metric needs a key: json:train.loss, or json:FILE#train.loss");
    metric.text = text;
  } else {
    if (text.starts_with("pattern:")) text.remove_prefix(8);
    metric.text = text;
    compiled_pattern(metric.text);
  }
  return metric;
}

std::string metric_text(const MetricSpec& metric) {
  switch (metric.source) {
    case MetricSource::kPattern:
      return format("{}=pattern:{}", metric.name, metric.text);
    case MetricSource::kJson:
      return format("{}=json:{}", metric.name, metric.text);
    case MetricSource::kJsonFile:
      return format("{}=json:{}#{}", metric.name, metric.file, metric.text);
    case MetricSource::kRuntime:
      return format("{}=runtime", metric.name);
    case MetricSource::kExitCode:
      return format("{}=exit-code", metric.name);
  }
  unreachable();
}

double reduced(MetricReduction reduction, std::span<const double> figures) {
  check(!figures.empty(), "a reduction of no figures");
  const auto is_nan = [](double figure) { return std::isnan(figure); };
  if (reduction != MetricReduction::kLast && std::ranges::any_of(figures, is_nan))
    return std::numeric_limits<double>::quiet_NaN();
  const auto count = static_cast<double>(figures.size());
  switch (reduction) {
    case MetricReduction::kLast:
      return figures.back();
    case MetricReduction::kMean:
      return std::accumulate(figures.begin(), figures.end(), 0.0) / count;
    case MetricReduction::kMedian: {
      std::vector<double> sorted(figures.begin(), figures.end());
      std::ranges::sort(sorted);
      const std::size_t half = sorted.size() / 2;
      return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    }
    case MetricReduction::kHarmonicMean: {
      double sum = 0;
      for (const double figure : figures) {
        if (!(figure > 0))
          throw input_error({}, format("a harmonic mean of {}: figures must be above 0", figure));
        sum += 1 / figure;
      }
      return count / sum;
    }
    case MetricReduction::kLeast:
      return *std::ranges::min_element(figures);
    case MetricReduction::kGreatest:
      return *std::ranges::max_element(figures);
  }
  unreachable();
}

MetricReader::MetricReader(std::span<const MetricSpec> metrics)
    : metrics_(metrics), figures_(metrics.size()) {
  for (const MetricSpec& metric : metrics) {
    Compiled& compiled = compiled_.emplace_back();
    if (metric.source == MetricSource::kPattern) compiled.pattern = compiled_pattern(metric.text);
    if (!metric.of_output() || metric.source == MetricSource::kJson) compiled.keys = keys_of(metric.text);
    output_kept_ = output_kept_ || metric.source == MetricSource::kJson;
  }
}

MetricReader::~MetricReader() = default;

void MetricReader::add(std::size_t metric, double figure) {
  std::vector<double>& figures = figures_[metric];
  if (figures.size() >= kMostFigures) {
    figures.back() = figure;  // the last one is known in any case
    return;
  }
  figures.push_back(figure);
  const auto warmup = static_cast<std::size_t>(metrics_[metric].warmup);
  if (metric != 0 || figures.size() <= warmup) return;
  const std::span<const double> counted = std::span(figures).subspan(warmup);
  // The running mean and median of long runs cost too much at every figure; a pruner looks at some of them.
  constexpr std::size_t kEvery = 2000;
  if (counted.size() > kEvery && counted.size() % kEvery != 0) return;
  double value = figure;
  try {
    value = reduced(metrics_[0].reduction, counted);
  } catch (const Error&) {
    return;  // said at the end
  }
  fresh_.push_back({.step = static_cast<std::int64_t>(counted.size()), .value = value});
}

void MetricReader::on_line(std::string_view line, bool is_error) {
  if (line.size() > kSearchedLength) ++cut_lines_;
  const std::string_view searched = line.substr(0, kSearchedLength);
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    if (compiled_[i].pattern) {
      std::match_results<std::string_view::const_iterator> match;
      if (std::regex_search(searched.begin(), searched.end(), match, *compiled_[i].pattern) &&
          match[1].matched) {
        const auto figure = number_of_text(std::string_view(match[1].first, match[1].second));
        add(i, figure.value_or(std::numeric_limits<double>::quiet_NaN()));
      }
    } else if (metrics_[i].source == MetricSource::kJson && !is_error && line.starts_with('{')) {
      const auto json = nlohmann::json::parse(line, nullptr, false);
      if (json.is_discarded()) continue;
      if (const auto figure = figure_in(json, compiled_[i].keys)) add(i, *figure);
    }
  }
  if (output_kept_ && !is_error && output_.size() + line.size() < kMostJsonOutput) (output_ += line) += '\n';
}

std::vector<MetricReader::Intermediate> MetricReader::take_intermediate() {
  return std::exchange(fresh_, {});
}

std::optional<std::string> MetricReader::file_figure(const MetricSpec& metric, const TrialFacts& facts,
                                                     double& figure) const {
  std::string name = metric.file;
  constexpr std::string_view kFolder = "{{folder}}";
  if (const std::size_t at = name.find(kFolder); at != std::string::npos)
    name.replace(at, kFolder.size(), facts.folder.string());
  try {
    const JsonDocument document = read_json(name);  // with the limits of our own files
    JsonValue value = document.root();
    for (const std::string& key : keys_of(metric.text)) value = value.at(key);
    figure = value.as_double();
  } catch (const Error& error) {
    return std::string(error.what());
  }
  return std::nullopt;
}

MetricResult MetricReader::result(const TrialFacts& facts) const {
  MetricResult result;
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    const MetricSpec& metric = metrics_[i];
    std::vector<double> figures = figures_[i];
    const auto missing = [&](std::string why) {
      return MetricResult{.values = {}, .missing = format("no {}: {}", metric.name, why)};
    };
    if (metric.source == MetricSource::kRuntime) {
      result.values.push_back(facts.seconds);
      continue;
    }
    if (metric.source == MetricSource::kExitCode) {
      result.values.push_back(facts.exit_code);
      continue;
    }
    if (metric.source == MetricSource::kJsonFile) {
      double figure = 0;
      if (const auto why = file_figure(metric, facts, figure)) return missing(*why);
      figures = {figure};
    } else if (metric.source == MetricSource::kJson && figures.empty()) {
      const auto json = nlohmann::json::parse(output_, nullptr, false);
      if (!json.is_discarded())
        if (const auto figure = figure_in(json, compiled_[i].keys)) figures = {*figure};
    }
    if (figures.empty())
      return missing(metric.source == MetricSource::kPattern
                         ? format("no line of the output matches '{}'", metric.text)
                         : format("the output has no JSON with the number '{}'", metric.text));
    if (metric.of_output()) {
      const auto warmup = static_cast<std::size_t>(metric.warmup);
      if (figures.size() <= warmup)
        return missing(format("the output has {} figures, and the warm-up takes {}", figures.size(), warmup));
      figures.erase(figures.begin(), figures.begin() + static_cast<std::ptrdiff_t>(warmup));
    }
    try {
      result.values.push_back(reduced(metric.reduction, figures));
    } catch (const Error& error) {
      return missing(error.message());
    }
    if (!std::isfinite(result.values.back())) return missing("what was printed is no finite number");
  }
  return result;
}

}  // namespace nadi::inline tuning
