// What a study tries: parameters with their values, what must hold among them, and how a command gets them.
//
//   TuneSpace space = read_tune_space("space.json");
//   space.add(parameter_of_text("lr=1e-5..1e-2:log"));
//   space.set_constant("gpus", std::int64_t{16});
//   space.check();                                        // once, when all parts are there
//   const SpacePoints points(space);                      // space_points.h: conditions, constraints
//
// The format of the file is share/tune/space.schema.json; docs/tuning.md explains it. tune_space_json()
// writes what parse_tune_space() reads, so that a study keeps its space.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/study/distribution.h"
#include "nadi/tune/expression.h"

namespace nadi::inline tuning {

struct TuneParameter {
  std::string name;
  SharedDistribution distribution = {};
  std::optional<Expression> when = {};  // over parameters before this one; false means it has no value
  std::optional<ParameterValue> fallback = {};  // the value of the baseline
  std::string flag = {};                        // appended to the command: flag and value; "": it is not
  std::string flag_off = {};                    // of a truth value: what stands for false; "": nothing
  std::string environment = {};                 // a variable; "": it is in none
  std::vector<ParameterValue> omitted = {};     // values for which neither flag nor variable is given
  // By the text of a value: what is appended to the command for it, in place of flag and value.
  std::map<std::string, std::vector<std::string>, std::less<>> words = {};
  std::string about = {};
};

inline constexpr std::string_view kEvenPartition = "even";

struct NamedExpression {
  std::string name;
  Expression expression;
};

struct TuneConstraint {
  Expression expression;
  std::string because = {};  // shown with what it refuses
};

// Which parameter or constant is which part of a plan, for the planner (plan_guide.h); "": none is. The
// partition is kEvenPartition, or layers of each stage as "12-12-8".
struct PlanParameters {
  std::string tp, pp, cp, virtual_stages, micro_batch_size, sequence_parallel, zero;
  std::string recompute, recompute_method, recompute_layers;
  std::string partition;

  bool any() const { return !tp.empty() || !pp.empty() || !micro_batch_size.empty(); }
};

struct TuneSpace {
  std::string about = {};
  std::vector<TuneParameter> parameters = {};
  std::vector<std::pair<std::string, ParameterValue>> constants = {};
  std::vector<NamedExpression> derived = {};  // each over parameters, constants and those before it
  std::vector<TuneConstraint> constraints = {};
  PlanParameters plan = {};

  const TuneParameter* find(std::string_view name) const;            // nullptr when absent
  const ParameterValue* find_constant(std::string_view name) const;  // likewise

  // In place of the one with its name, or at the end. Of the one in its place, how it is passed and when it
  // has a value stay, unless the new one says otherwise.
  void add(TuneParameter parameter);
  void set_constant(std::string_view name, ParameterValue value);
  // Error (usage) when there is no such parameter or the parameter does not have the value.
  void set_fallback(std::string_view name, const ParameterValue& value);
  // All of another space, after what is here.
  void merge(TuneSpace other);

  // Error (input): no parameters, names that are used twice, expressions with unknown names or wrong types,
  // values that a parameter does not have.
  void check() const;

  // Names of parameters, constants and derived values, for hints.
  std::vector<std::string> names() const;
};

// Letters, digits, '_' and '.', with a letter or '_' first: what expressions take for one name.
bool is_space_name(std::string_view name);

TuneSpace read_tune_space(const std::filesystem::path& path);
TuneSpace parse_tune_space(std::string text, const std::string& file);
// As JSON text in one line.
std::string tune_space_json(const TuneSpace& space);

// "micro_batch=1,2,4", "layers=0..80", "layers=0..80:step=8", "lr=1e-5..1e-2:log", "env.NCCL_ALGO=Ring,Tree",
// "flag.micro-batch-size=1,2,4". Error (usage) for anything else.
TuneParameter parameter_of_text(std::string_view text);
// "micro_batch=1".
std::pair<std::string, ParameterValue> assignment_of_text(std::string_view text, std::string_view what);

// Whether one of the listed values of a parameter has this text.
bool has_value_named(const ParameterDistribution& distribution, std::string_view text);

// The values of a parameter in words: "1, 2, 4", "0 to 80", "1e-05 to 0.01, logarithmic".
std::string values_text(const ParameterDistribution& distribution);

}  // namespace nadi::inline tuning
