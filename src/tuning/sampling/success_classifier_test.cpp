#include "nadi/sampling/success_classifier.h"

#include <gtest/gtest.h>

#include <cmath>

#include "nadi/sampling/halton.h"
#include "nadi/sampling/normal_distribution.h"

namespace nadi::inline tuning {
namespace {

struct ClassifiedPoints {
  GaussianInputs inputs;
  std::vector<bool> success;
};

ClassifiedPoints left_half_succeeds(int count) {
  ClassifiedPoints points;
  points.inputs.parameters = 2;
  points.inputs.choice = {false, false};
  for (int i = 0; i < count; ++i) {
    const double x = scrambled_halton(1, static_cast<std::uint64_t>(i), 0);
    const double y = scrambled_halton(1, static_cast<std::uint64_t>(i), 1);
    points.inputs.points.insert(points.inputs.points.end(), {x, y});
    points.success.push_back(x <= 0.5);
  }
  return points;
}

double chance_at(const SuccessClassifier& classifier, std::vector<double> point) {
  return std::exp(classifier.log_probability(point, {}));
}

TEST(SuccessClassifier, IsSureAmongItsKindAndEvenAtTheEdge) {
  const ClassifiedPoints points = left_half_succeeds(40);
  const SuccessClassifier classifier = SuccessClassifier::fit(points.inputs, points.success);
  for (const double y : {0.1, 0.5, 0.9}) {
    EXPECT_GT(chance_at(classifier, {0.25, y}), 0.98);
    EXPECT_LT(chance_at(classifier, {0.75, y}), 0.02);
    EXPECT_LT(chance_at(classifier, {0.6, y}), 0.05);
    EXPECT_GT(chance_at(classifier, {0.4, y}), 0.95);
  }
  EXPECT_GT(classifier.length(1), 3 * classifier.length(0));  // y does not matter
}

TEST(SuccessClassifier, HasTheGradientOfItsProbability) {
  const ClassifiedPoints points = left_half_succeeds(20);
  const SuccessClassifier classifier = SuccessClassifier::fit(points.inputs, points.success);
  for (const double x : {0.1, 0.47, 0.52, 0.9}) {
    std::vector<double> point{x, 0.3};
    std::vector<double> gradient(2);
    classifier.log_probability(point, gradient);
    for (std::size_t d = 0; d < 2; ++d) {
      constexpr double kStep = 1e-6;
      std::vector<double> above = point, below = point;
      above[d] += kStep;
      below[d] -= kStep;
      const double slope =
          (classifier.log_probability(above, {}) - classifier.log_probability(below, {})) / (2 * kStep);
      EXPECT_NEAR(gradient[d], slope, 1e-4 * std::max(1.0, std::abs(slope))) << x << " " << d;
    }
  }
}

TEST(SuccessClassifier, ChoicesAreApart) {
  // Choice 1 fails, 0 and 2 succeed, whatever x is.
  ClassifiedPoints points;
  points.inputs.parameters = 2;
  points.inputs.choice = {true, false};
  for (int i = 0; i < 30; ++i) {
    points.inputs.points.insert(
        points.inputs.points.end(),
        {static_cast<double>(i % 3), scrambled_halton(1, static_cast<std::uint64_t>(i), 0)});
    points.success.push_back(i % 3 != 1);
  }
  const SuccessClassifier classifier = SuccessClassifier::fit(points.inputs, points.success);
  EXPECT_GT(chance_at(classifier, {0, 0.5}), 0.9);
  EXPECT_LT(chance_at(classifier, {1, 0.5}), 0.1);
  EXPECT_GT(chance_at(classifier, {2, 0.5}), 0.9);
}

TEST(SuccessClassifier, ContradictionsAreChances) {
  // The same point succeeds three times in four.
  ClassifiedPoints points;
  points.inputs.parameters = 1;
  points.inputs.choice = {false};
  for (int i = 0; i < 40; ++i) {
    points.inputs.points.push_back(0.5);
    points.success.push_back(i % 4 != 0);
  }
  const SuccessClassifier classifier = SuccessClassifier::fit(points.inputs, points.success);
  EXPECT_NEAR(chance_at(classifier, {0.5}), 0.75, 0.05);
}

}  // namespace
}  // namespace nadi::inline tuning
