#include "nadi/tune/plan_guide.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/units.h"
#include "nadi/parallel/step_check.h"
#include "nadi/plan/plan_estimate.h"
#include "nadi/tune/value_text.h"

namespace nadi::inline tuning {
namespace {

// Values of a range that ranked() looks at.
constexpr std::int64_t kMostOfRange = 8;
constexpr double kNoPlanValue = std::numeric_limits<double>::quiet_NaN();

constexpr std::array kPlanMembers{
    &PlanParameters::tp,
    &PlanParameters::pp,
    &PlanParameters::cp,
    &PlanParameters::virtual_stages,
    &PlanParameters::micro_batch_size,
    &PlanParameters::sequence_parallel,
    &PlanParameters::zero,
    &PlanParameters::recompute,
    &PlanParameters::recompute_method,
    &PlanParameters::recompute_layers,
    &PlanParameters::partition,
};

std::vector<double> values_to_look_at(const ParameterDistribution& distribution) {
  std::vector<double> values;
  if (const auto* categorical = std::get_if<CategoricalDistribution>(&distribution)) {
    for (std::size_t i = 0; i < categorical->choices.size(); ++i) values.push_back(static_cast<double>(i));
  } else if (const auto* range = std::get_if<IntDistribution>(&distribution)) {
    const std::int64_t count = (range->high - range->low) / range->step + 1;
    const std::int64_t shown = std::min(count, kMostOfRange);
    for (std::int64_t i = 0; i < shown; ++i) {
      const std::int64_t at = shown == 1 ? 0 : i * (count - 1) / (shown - 1);
      values.push_back(static_cast<double>(range->low + at * range->step));
    }
  } else {
    values.push_back(std::get<FloatDistribution>(distribution).low);
  }
  return values;
}

// The first nodes, with so many devices in all.
std::vector<NodeRun> nodes_for(const Cluster& cluster, std::int64_t gpus) {
  std::vector<NodeRun> runs;
  std::int64_t left = gpus;
  for (NodeRun run : nodes_in_order(cluster)) {
    const auto whole = static_cast<std::int32_t>(std::min<std::int64_t>(run.count, left / run.devices));
    if (whole > 0) {
      runs.push_back({.kind = run.kind, .count = whole, .devices = run.devices});
      left -= std::int64_t{whole} * run.devices;
    }
    if (left > 0 && whole < run.count) {
      runs.push_back({.kind = run.kind, .count = 1, .devices = static_cast<std::int32_t>(left)});
      left = 0;
    }
    if (left == 0) break;
  }
  return runs;
}

Recompute::Granularity granularity_of(const std::string& name) {
  for (const auto granularity :
       {Recompute::Granularity::kNone, Recompute::Granularity::kSelective, Recompute::Granularity::kFull})
    if (name == to_string(granularity)) return granularity;
  throw usage_error(format("the planner knows no recomputation '{}'", name), "none, selective, full");
}

// Reads "12-12-8".
std::vector<std::int64_t> partition_of(std::string_view text) {
  std::vector<std::int64_t> layers;
  while (true) {
    const std::size_t end = std::min(text.find('-'), text.size());
    std::int64_t each = 0;
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + end, each);
    if (problem != std::errc() || stop != text.data() + end)
      throw usage_error(format("'{}' is no number of layers", text.substr(0, end)),
                        format("{}, or layers of each stage: 12-12-8", kEvenPartition));
    layers.push_back(each);
    if (end == text.size()) return layers;
    text.remove_prefix(end + 1);
  }
}

// Reads the parts of a plan from a setting.
struct PlanReader {
  const PlanParameters& names;
  const TuneSetting& setting;

  const ParameterValue* find(const std::string PlanParameters::*member) const {
    const auto found = setting.find(names.*member);
    return (names.*member).empty() || found == setting.end() ? nullptr : &found->second;
  }
  std::int64_t whole(const std::string PlanParameters::*member, std::int64_t otherwise) const {
    const ParameterValue* value = find(member);
    if (value == nullptr) return otherwise;
    if (const auto* truth = std::get_if<bool>(value)) return *truth ? 1 : 0;
    const auto number = number_of(*value);
    if (!number)
      throw usage_error(format("{} is {}, and a plan takes a number", names.*member, to_text(*value)));
    return static_cast<std::int64_t>(*number);
  }
  std::string text(const std::string PlanParameters::*member, std::string_view otherwise) const {
    const ParameterValue* value = find(member);
    return value == nullptr ? std::string(otherwise) : to_text(*value);
  }
};

}  // namespace

struct PlanGuide::Known {
  std::optional<std::string> refusal;
  std::optional<double> seconds;
};

class PlanGuide::State {
 public:
  explicit State(const PlanQuestion& question) : estimator(question) {}

  std::mutex mutex;
  PlanEstimator estimator;
  std::map<std::vector<double>, Known>
      known;  // by the values of the plan's parameters; -1 where there is none
};

PlanGuide::PlanGuide(const PlanQuestion& question, const SpacePoints& points, const GuideOptions& options)
    : question_(question), points_(points), options_(options), state_(std::make_unique<State>(question)) {
  const TuneSpace& space = points.space();
  if (!space.plan.any())
    throw usage_error(
        "the space does not say which of its parameters make the plan",
        "its \"plan\" names them: {\"tp\": \"tensor\", \"pp\": \"pipeline\"}; the preset megatron does");
  if (options_.gpus == 0) options_.gpus = question.cluster.device_count();
  if (options_.gpus > question.cluster.device_count())
    throw usage_error(format("{} GPUs are asked for, and {} has {}", options_.gpus, question.cluster.name,
                             question.cluster.device_count()));
  nodes_ = nodes_for(question.cluster, options_.gpus);
  for (std::size_t i = 0; i < space.parameters.size(); ++i)
    for (const auto member : kPlanMembers)
      if (space.parameters[i].name == space.plan.*member) plan_parameters_.push_back(i);
}

PlanGuide::~PlanGuide() = default;

std::optional<PlanCandidate> PlanGuide::candidate(std::span<const double> point, std::string& why) const {
  const TuneSetting setting = points_.setting_of(point);
  const PlanReader read{points_.space().plan, setting};
  PlanCandidate candidate;
  Plan& plan = candidate.plan;
  plan.tp = read.whole(&PlanParameters::tp, 1);
  plan.pp = read.whole(&PlanParameters::pp, 1);
  plan.cp = read.whole(&PlanParameters::cp, 1);
  const std::int64_t model_ranks = plan.tp * plan.pp * plan.cp;
  if (model_ranks < 1 || options_.gpus % model_ranks != 0) {
    why = format("{} GPUs do not divide into copies of {} ranks", options_.gpus, model_ranks);
    return std::nullopt;
  }
  plan.dp = options_.gpus / model_ranks;
  plan.virtual_stages = plan.pp > 1 ? read.whole(&PlanParameters::virtual_stages, 1) : 1;
  if (plan.virtual_stages > 1) plan.schedule = ScheduleKind::kInterleaved;
  candidate.micro_batch_size = read.whole(&PlanParameters::micro_batch_size, 1);
  if (candidate.micro_batch_size < 1 ||
      question_.global_batch_size % (plan.dp * candidate.micro_batch_size) != 0) {
    why = format("the batch of {} does not divide over {} data-parallel ranks in micro-batches of {}",
                 question_.global_batch_size, plan.dp, candidate.micro_batch_size);
    return std::nullopt;
  }
  plan.micro_batches = question_.global_batch_size / plan.dp / candidate.micro_batch_size;
  plan.sequence_parallel = plan.tp > 1 && read.whole(&PlanParameters::sequence_parallel, 0) != 0;
  plan.zero_stage = plan.dp > 1 ? read.whole(&PlanParameters::zero, 0) : 0;
  candidate.recompute.granularity = granularity_of(read.text(&PlanParameters::recompute, "none"));
  if (candidate.recompute.granularity == Recompute::Granularity::kFull) {
    candidate.recompute.method = read.text(&PlanParameters::recompute_method, "uniform") == "block"
                                     ? Recompute::Method::kBlock
                                     : Recompute::Method::kUniform;
    candidate.recompute.layers = static_cast<std::int32_t>(read.whole(&PlanParameters::recompute_layers, 1));
  }
  if (const std::string layers = read.text(&PlanParameters::partition, kEvenPartition);
      layers != kEvenPartition) {
    plan.partition = partition_of(layers);
    // Layers of virtual stages say how many there are.
    const std::int64_t stages = std::ssize(plan.partition);
    if (stages > plan.pp && stages % plan.pp == 0) {
      plan.virtual_stages = stages / plan.pp;
      plan.schedule = ScheduleKind::kInterleaved;
    }
  }
  candidate.nodes = nodes_;
  const StepRequest request = request_of(question_, candidate);
  if (why_infeasible(question_.config, request, plan)) {
    try {
      check_plan(question_.config, request, plan);
      check_request(question_.config, request);
      why = "the model cannot be split like this";
    } catch (const Error& error) {
      why = error.message();
    }
    return std::nullopt;
  }
  plan.partition = resolved_partition(question_.config, plan);
  return candidate;
}

const PlanGuide::Known& PlanGuide::known(std::span<const double> point) const {
  std::vector<double> key;
  for (const std::size_t i : plan_parameters_) key.push_back(std::isnan(point[i]) ? -1 : point[i]);
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->known.find(key);
  if (found != state_->known.end()) return found->second;
  Known known;
  std::string why;
  if (const auto plan = candidate(point, why); !plan) {
    known.refusal = why;
  } else if (plan->plan.cp == 1) {
    const PlanEstimate estimate = state_->estimator.of(*plan);
    if (estimate.fits())
      known.seconds = static_cast<double>(estimate.iteration.count()) * 1e-9;
    else
      known.refusal =
          format("{} of memory are missing on the fullest GPU", to_string(estimate.missing_memory));
  }
  return state_->known.emplace(std::move(key), std::move(known)).first->second;
}

std::optional<std::string> PlanGuide::refusal(std::span<const double> point) const {
  return known(point).refusal;
}

std::optional<double> PlanGuide::predicted_seconds(std::span<const double> point) const {
  return known(point).seconds;
}

// Depth first, in the order of the space: what is not active multiplies nothing, and a branch ends as soon as
// a constraint on what is decided does not hold (one on what is not decided yet holds).
void PlanGuide::visit_plans(std::vector<double>& point,
                            const std::function<void(const std::vector<double>&)>& visit) const {
  const TuneSpace& space = points_.space();
  const std::size_t next = point.size();
  if (next > 0 && points_.violated(point)) return;
  if (next == space.parameters.size()) return visit(point);
  std::vector<double> values;
  if (!points_.active(next, point)) {
    values = {kNoPlanValue};
  } else if (std::ranges::find(plan_parameters_, next) != plan_parameters_.end()) {
    values = values_to_look_at(*space.parameters[next].distribution);
  } else {
    values = {points_.default_value(next)};
  }
  for (const double value : values) {
    point.push_back(value);
    visit_plans(point, visit);
    point.pop_back();
  }
}

std::vector<std::vector<double>> PlanGuide::ranked(
    const std::function<void(const GuideProgress&)>& progress) const {
  struct Entry {
    double seconds;
    std::vector<double> point;
  };
  std::vector<Entry> entries;
  looked_at_ = refused_ = 0;
  std::vector<double> start;
  visit_plans(start, [&](const std::vector<double>& point) {
    if (++looked_at_ > options_.most_points)
      throw usage_error(format("the space has more than {} plans: too many for the planner",
                               with_thousands(options_.most_points)),
                        "give fewer values");
    if (progress) progress({.done = looked_at_});
    const Known& plan = known(point);
    if (plan.refusal) ++refused_;
    if (plan.seconds) entries.push_back({.seconds = *plan.seconds, .point = point});
  });
  if (entries.empty())
    throw Error(ErrorKind::kInfeasible, {},
                format("none of the {} plans of the space fits {} on {} GPUs of {}", looked_at_,
                       question_.config.name, options_.gpus, question_.cluster.name),
                "more GPUs, more recomputation, smaller micro-batches");
  std::ranges::stable_sort(entries, {}, &Entry::seconds);
  const auto simulated = std::min<std::int64_t>(options_.simulated, std::ssize(entries));
  for (std::int64_t i = 0; i < simulated; ++i) {
    if (progress) progress({.simulates = true, .done = i, .total = simulated});
    Entry& entry = entries[static_cast<std::size_t>(i)];
    std::string why;
    const auto plan = candidate(entry.point, why);
    entry.seconds = static_cast<double>(simulate_plan(question_, *plan).iteration_time.count()) * 1e-9;
  }
  std::ranges::stable_sort(entries.begin(), entries.begin() + simulated, {}, &Entry::seconds);
  std::vector<std::vector<double>> points;
  for (Entry& entry : entries) points.push_back(std::move(entry.point));
  return points;
}

std::vector<double> PlanGuide::point_of_plan(const Plan& plan, std::int64_t micro_batch_size,
                                             const Recompute& recompute) const {
  const PlanParameters& names = points_.space().plan;
  TuneSetting setting;
  // A part without a parameter is what candidate() takes it for.
  const auto set = [&](std::string_view part, const std::string& name, const ParameterValue& value,
                       const ParameterValue& otherwise) {
    const TuneParameter* parameter = name.empty() ? nullptr : points_.space().find(name);
    if (parameter == nullptr) {
      const ParameterValue* constant = points_.space().find_constant(name);
      if (!same_value(value, constant == nullptr ? otherwise : *constant))
        throw usage_error(format("the plan has {} {}, and no parameter is for it", part, to_text(value)));
      return;
    }
    const auto* whole = std::get_if<std::int64_t>(&value);
    // A switch may stand for 0 and 1.
    const bool is_truth =
        whole != nullptr && (*whole == 0 || *whole == 1) && !internal_value(*parameter->distribution, value);
    setting.emplace(name, is_truth ? ParameterValue(*whole != 0) : value);
  };
  if (plan.schedule == ScheduleKind::kGPipe)
    throw usage_error(
        format("the plan has the schedule {}, and no parameter is for it", to_string(plan.schedule)),
        "1f1b, interleaved");
  constexpr std::int64_t kOne = 1, kNone = 0;
  set("tp", names.tp, plan.tp, kOne);
  set("pp", names.pp, plan.pp, kOne);
  set("cp", names.cp, plan.cp, kOne);
  const std::string layers = names.partition.empty() || plan.partition.empty()
                                 ? std::string(kEvenPartition)
                                 : partition_value(plan.partition);
  set("partition", names.partition, layers, std::string(kEvenPartition));
  // Uneven layers say how many virtual stages there are.
  set("virtual_stages", names.virtual_stages, layers == kEvenPartition ? plan.virtual_stages : kOne, kOne);
  set("micro_batch_size", names.micro_batch_size, micro_batch_size, kOne);
  set("sequence_parallel", names.sequence_parallel, plan.sequence_parallel, false);
  set("zero", names.zero, plan.zero_stage, kNone);
  const std::string none(to_string(Recompute::Granularity::kNone));
  set("recompute", names.recompute, std::string(to_string(recompute.granularity)), none);
  if (recompute.granularity == Recompute::Granularity::kFull) {
    const std::string uniform(to_string(Recompute::Method::kUniform));
    set("recompute_method", names.recompute_method, std::string(to_string(recompute.method)), uniform);
    set("recompute_layers", names.recompute_layers, std::int64_t{recompute.layers}, kOne);
  }
  return points_.point_of(setting);
}

std::string partition_value(const std::vector<std::int64_t>& layers) {
  if (std::ranges::all_of(layers, [&](std::int64_t each) { return each == layers.front(); }))
    return std::string(kEvenPartition);
  return format("{}", fmt::join(layers, "-"));
}

}  // namespace nadi::inline tuning
