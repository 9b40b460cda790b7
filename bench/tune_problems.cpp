#include "tune_problems.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

namespace nadi {
namespace {

using Point = std::span<const double>;
constexpr double kPi = std::numbers::pi;

double square(double x) {
  return x * x;
}

double branin(Point p) {
  const double a = p[1] - 5.1 / (4 * kPi * kPi) * p[0] * p[0] + 5 / kPi * p[0] - 6;
  return a * a + 10 * (1 - 1 / (8 * kPi)) * std::cos(p[0]) + 10;
}

double hartmann6(Point p) {
  constexpr std::array<double, 4> c{1.0, 1.2, 3.0, 3.2};
  constexpr double a[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                              {0.05, 10, 17, 0.1, 8, 14},
                              {3, 3.5, 1.7, 10, 17, 8},
                              {17, 8, 0.05, 10, 0.1, 14}};
  constexpr double q[4][6] = {{1312, 1696, 5569, 124, 8283, 5886},
                              {2329, 4135, 8307, 3736, 1004, 9991},
                              {2348, 1451, 3522, 2883, 3047, 6650},
                              {4047, 8828, 8732, 5743, 1091, 381}};
  double total = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < 6; ++j) sum += a[i][j] * square(p[j] - q[i][j] * 1e-4);
    total -= c[i] * std::exp(-sum);
  }
  return total;
}

double rosenbrock(Point p) {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < p.size(); ++i)
    sum += 100 * square(p[i + 1] - p[i] * p[i]) + square(1 - p[i]);
  return sum;
}

double wave1(Point p) {
  return square(6 * p[0] - 2) * std::sin(12 * p[0] - 4);
}

double ackley(Point p) {
  double squares = 0;
  double cosines = 0;
  const double n = static_cast<double>(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double x = p[i] - 7.3 + 1.1 * static_cast<double>(i);
    squares += x * x;
    cosines += std::cos(2 * kPi * x);
  }
  return -20 * std::exp(-0.2 * std::sqrt(squares / n)) - std::exp(cosines / n) + 20 + std::numbers::e;
}

double levy(Point p) {
  const auto w = [&](std::size_t i) { return 1 + (p[i] - 1) / 4; };
  const double last = w(p.size() - 1);
  double total = square(std::sin(kPi * w(0))) + square(last - 1) * (1 + square(std::sin(2 * kPi * last)));
  for (std::size_t i = 0; i + 1 < p.size(); ++i)
    total += square(w(i) - 1) * (1 + 10 * square(std::sin(kPi * w(i) + 1)));
  return total;
}

double styblinski_tang(Point p) {
  double sum = 0;
  for (const double x : p) sum += x * x * x * x - 16 * x * x + 5 * x;
  return sum / 2;
}

double griewank(Point p) {
  double squares = 0;
  double product = 1;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double x = p[i] - 120 + 35 * static_cast<double>(i);
    squares += x * x;
    product *= std::cos(x / std::sqrt(static_cast<double>(i) + 1));
  }
  return squares / 4000 - product + 1;
}

double rotated_ellipsoid(Point p) {
  const std::size_t n = p.size();
  double along = 0;
  double length = 0;
  std::vector<double> z(n);
  for (std::size_t i = 0; i < n; ++i) {
    z[i] = p[i] - 1.7 + 0.6 * static_cast<double>(i);
    const double v = 1.0 + static_cast<double>(i);
    along += v * z[i];
    length += v * v;
  }
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double turned = z[i] - 2 * along / length * (1.0 + static_cast<double>(i));
    sum += std::pow(1000.0, static_cast<double>(i) / static_cast<double>(n - 1)) * turned * turned;
  }
  return sum;
}

double rastrigin(Point p) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double x = p[i] - 1.3 + 0.4 * static_cast<double>(i);
    sum += x * x - 10 * std::cos(2 * kPi * x) + 10;
  }
  return sum;
}

double michalewicz(Point p) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    sum -= std::sin(p[i]) * std::pow(std::sin(static_cast<double>(i + 1) * p[i] * p[i] / kPi), 20);
  return sum;
}

double camel(Point p) {
  const double x = p[0] * p[0];
  const double y = p[1] * p[1];
  return (4 - 2.1 * x + x * x / 3) * x + p[0] * p[1] + (4 * y - 4) * y;
}

double shekel(Point p) {
  constexpr double wells[10][4] = {{4, 4, 4, 4}, {1, 1, 1, 1}, {8, 8, 8, 8}, {6, 6, 6, 6}, {3, 7, 3, 7},
                                   {2, 9, 2, 9}, {5, 5, 3, 3}, {8, 1, 8, 1}, {6, 2, 6, 2}, {7, 3.6, 7, 3.6}};
  constexpr std::array<double, 10> widths{0.1, 0.2, 0.2, 0.4, 0.4, 0.6, 0.3, 0.7, 0.5, 0.5};
  double total = 0;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    double distance = widths[i];
    for (std::size_t j = 0; j < 4; ++j) distance += square(p[j] - wells[i][j]);
    total -= 1 / distance;
  }
  return total;
}

double dixon_price(Point p) {
  double sum = square(p[0] - 1);
  for (std::size_t i = 1; i < p.size(); ++i)
    sum += static_cast<double>(i + 1) * square(2 * p[i] * p[i] - p[i - 1]);
  return sum;
}

double sphere(Point p) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += square(p[i] - 2.1 + 0.25 * static_cast<double>(i));
  return sum;
}

// optimizer, batch, decay, warmup, sgd_rate, momentum, adam_rate, beta2, factor_rate
double optimizer_choice(Point p) {
  const double batch = std::log2(p[1]);
  const double loss =
      0.02 * square(batch - 7) + 0.15 * square(std::log10(p[2]) + 2) + 0.3 * square(p[3] / 1000 - 0.6);
  const double shift = 0.15 * (batch - 7);
  if (p[0] == 0) return loss + 0.15 + 0.5 * square(std::log10(p[4]) + 1 - shift) + 2 * square(p[5] - 0.9);
  if (p[0] == 1) return loss + 0.5 * square(std::log10(p[6]) + 3.5 - shift) + 5 * square(p[7] - 0.95);
  return loss + 0.3 + 0.5 * square(std::log10(p[8]) + 2 - shift);
}

double kernel_shared_memory(Point p) {
  return p[3] * (p[0] + p[1]) * p[2] * 2;
}

// tile_m, tile_n, tile_k, stages, warps, layout, vector
double kernel(Point p) {
  const double m = p[0], n = p[1], k = p[2], stages = p[3];
  const double warps = std::pow(2.0, p[4]);
  const double vector = std::pow(2.0, p[6]);
  const double tiles = std::ceil(1920 / m) * std::ceil(1536 / n);
  const double shared = kernel_shared_memory(p);
  const double per_core =
      std::max(1.0, std::min({4.0, std::floor(163840 / shared), std::floor(2048 / (32 * warps))}));
  const double waves = std::ceil(tiles / (108 * per_core));
  const double work =
      m * n * 512 / (64.0 * warps) * (1 + 0.3 * std::abs(std::log2(m * n / (1024.0 * warps))));
  const double traffic = (m + n) * 512 / (16.0 * vector) * (p[5] == 0 ? 1.6 : p[5] == 1 ? 1.25 : 1.0);
  const double exposed =
      traffic * std::max(0.1, 1 - 0.28 * (stages - 1)) * (vector == 8 && p[5] == 1 ? 1.4 : 1.0);
  double penalty = 1 + 0.002 * (512 / k) * stages;
  if (shared > 163840) penalty *= 4;
  return waves * per_core * (work + exposed) * penalty / 1000;
}

// What the plan of a point has: tensor, pipeline, micro, schedule, chunks, recompute, layers, bucket,
// overlap.
struct PlanOfPoint {
  explicit PlanOfPoint(Point p)
      : tensor(std::pow(2.0, p[0])), pipeline(std::pow(2.0, p[1])), micro(std::pow(2.0, p[2])) {
    data = std::floor(64 / (tensor * pipeline));
    count = std::max(1.0, std::floor(512 / (data * micro)));
    chunks = p[3] == 1 ? p[4] : 1;
    kept = p[5] == 0 ? 1.0 : 0.6;
    extra = p[5] == 0 ? 0.0 : 0.05;
    if (p[5] == 2) {
      const double share = p[6] / 20;
      kept = 1 - 0.9 * share;
      extra = 0.33 * share;
    }
    memory = 160.0 / (tensor * pipeline) * 1.4 +
             9.0 * kept * micro * std::min(pipeline, count) / (tensor * pipeline) * (1 + 0.1 * (chunks - 1));
  }

  double tensor, pipeline, micro;
  double data, count, chunks;
  double kept, extra;  // of activations; of compute
  double memory;
};

constexpr double kPlanMemory = 60.0;

double training_plan(Point p) {
  const PlanOfPoint plan(p);
  const double compute =
      100.0 / (1 - 0.35 / plan.micro) * (1 + 0.06 * std::pow(p[0], 1.5)) * (1 + plan.extra);
  const double bubble = compute * (plan.pipeline - 1) / (plan.count * plan.chunks);
  const double messages =
      2.0 * (plan.pipeline > 1 ? 1 : 0) * plan.chunks + 6.0 * (plan.tensor - 1) / plan.tensor;
  const double bucket =
      24.0 * (plan.data - 1) / plan.data + 0.4 * std::abs(std::log2(p[7] / 40.0)) * std::sqrt(plan.data);
  const double reduction = bucket * (p[8] == 1 ? 0.25 : 1.0);
  const double over = plan.memory - kPlanMemory;
  return compute + bubble + messages + reduction + (over > 0 ? 150.0 + 30.0 * over : 0.0);
}

// Problems of which a part fails. The best values lie at its edge.

double falling(Point p) {
  return -p[0];
}

bool right_half(Point p) {
  return p[0] > 0.5;
}

// Discs around the three minima of Branin's function.
bool around_minima(Point p) {
  constexpr double minima[3][2] = {{-kPi, 12.275}, {kPi, 2.275}, {9.42478, 2.475}};
  return std::any_of(std::begin(minima), std::end(minima),
                     [&](const double* at) { return square(p[0] - at[0]) + square(p[1] - at[1]) < 4; });
}

bool large_sum(Point p) {
  return std::accumulate(p.begin(), p.end(), 0.0) > 1.9;
}

bool kernel_does_not_fit(Point p) {
  return kernel_shared_memory(p) > 163840;
}

bool plan_does_not_fit(Point p) {
  return PlanOfPoint(p).memory > kPlanMemory;
}

SearchSpace cube(int dimensions, double low, double high) {
  SearchSpace space;
  for (int i = 0; i < dimensions; ++i)
    space.parameters.push_back(float_parameter("x" + std::to_string(i), low, high));
  return space;
}

SearchParameter when(SearchParameter parameter, std::size_t parent, double value) {
  parameter.active = [parent, value](std::span<const double> point) { return point[parent] == value; };
  return parameter;
}

SearchSpace branin_space() {
  SearchSpace space;
  space.parameters = {float_parameter("x0", -5, 10), float_parameter("x1", 0, 15)};
  return space;
}

SearchSpace camel_space() {
  SearchSpace space;
  space.parameters = {float_parameter("x0", -3, 3), float_parameter("x1", -2, 2)};
  return space;
}

SearchSpace optimizer_space() {
  SearchSpace space;
  space.parameters = {choice_parameter("optimizer", 3),
                      int_parameter("batch", 8, 1024, ParameterScale::kLog),
                      float_parameter("decay", 1e-6, 1, ParameterScale::kLog),
                      int_parameter("warmup", 0, 2000, ParameterScale::kLinear, 50),
                      when(float_parameter("sgd_rate", 1e-4, 10, ParameterScale::kLog), 0, 0),
                      when(float_parameter("momentum", 0, 0.999), 0, 0),
                      when(float_parameter("adam_rate", 1e-6, 0.1, ParameterScale::kLog), 0, 1),
                      when(float_parameter("beta2", 0.8, 0.9999), 0, 1),
                      when(float_parameter("factor_rate", 1e-5, 1, ParameterScale::kLog), 0, 2)};
  return space;
}

SearchSpace kernel_space() {
  SearchSpace space;
  space.parameters = {int_parameter("tile_m", 16, 256, ParameterScale::kLinear, 16),
                      int_parameter("tile_n", 16, 256, ParameterScale::kLinear, 16),
                      int_parameter("tile_k", 8, 64, ParameterScale::kLinear, 8),
                      int_parameter("stages", 1, 6),
                      choice_parameter("warps", 5),
                      choice_parameter("layout", 3),
                      choice_parameter("vector", 4)};
  return space;
}

SearchSpace plan_space() {
  SearchSpace space;
  space.parameters = {choice_parameter("tensor", 4),
                      choice_parameter("pipeline", 4),
                      choice_parameter("micro", 5),
                      choice_parameter("schedule", 2),
                      when(int_parameter("chunks", 2, 8), 3, 1),
                      choice_parameter("recompute", 3),
                      when(int_parameter("layers", 1, 20), 5, 2),
                      int_parameter("bucket", 1, 1024, ParameterScale::kLog),
                      choice_parameter("overlap", 2)};
  return space;
}

std::vector<TuneProblem> make_problems() {
  return {
      {"branin", branin_space(), branin, 0.39788735772973816, 0},
      {"hartmann6", cube(6, 0, 1), hartmann6, -3.322368011415515, 0},
      {"rosenbrock5", cube(5, -5, 10), rosenbrock, 0, 0},
      {"wave1", cube(1, 0, 1), wave1, -6.020740055767083, 0},
      {"ackley10", cube(10, -32.768, 32.768), ackley, 0, 0},
      {"levy8", cube(8, -10, 10), levy, 0, 0},
      {"styblinski4", cube(4, -5, 5), styblinski_tang, -39.16616570377142 * 4, 0},
      {"griewank6", cube(6, -600, 600), griewank, 0, 0},
      {"ellipsoid6", cube(6, -5, 5), rotated_ellipsoid, 0, 0},
      {"sphere20", cube(20, -5, 5), sphere, 0, 0},
      {"rastrigin5", cube(5, -5.12, 5.12), rastrigin, 0, 0},
      {"michalewicz5", cube(5, 0, kPi), michalewicz, -4.687658179088148, 0},
      {"camel2", camel_space(), camel, -1.0316284534898774, 0},
      {"shekel4", cube(4, 0, 10), shekel, -10.536443153483527, 0},
      {"dixon_price4", cube(4, -10, 10), dixon_price, 0, 0},
      {"noisy_branin", branin_space(), branin, 0.39788735772973816, 2.0},
      {"noisy_hartmann6", cube(6, 0, 1), hartmann6, -3.322368011415515, 0.2},
      {"optimizer", optimizer_space(), optimizer_choice, 0, 0},
      {"kernel", kernel_space(), kernel, 16.312414430556434, 0},
      {"plan", plan_space(), training_plan, 137.6746575342466, 0},
      {"edge_falling", cube(2, 0, 1), falling, -0.5, 0, right_half},
      {"edge_branin", branin_space(), branin, 2.056748799752194, 0, around_minima},
      {"edge_hartmann6", cube(6, 0, 1), hartmann6, -3.240116656943338, 0, large_sum},
      {"edge_kernel", kernel_space(), kernel, 16.312414430556434, 0, kernel_does_not_fit},
      {"edge_plan", plan_space(), training_plan, 137.6746575342466, 0, plan_does_not_fit},
  };
}

}  // namespace

const std::vector<TuneProblem>& tune_problems() {
  static const std::vector<TuneProblem> problems = make_problems();
  return problems;
}

}  // namespace nadi
