// Predicts published steps with the simulator and prints how far off it is, by source, for the rows that the
// catalogue's constants of the A100 were fitted to and for those that were left out of the fit.
//
//   nadi_validate FOLDER               errors by source and the constants
//   nadi_validate FOLDER --rows        each row as well
//   nadi_validate FOLDER --fit         fits the constants again (minutes) and says where the catalogue
//   differs nadi_validate FOLDER --leave-out   for each source: fits without it (minutes each), prints its
//   error
//
// Fitted to: every sixth row of vTrain's single nodes and every fourth of its multi-node rows. All others,
// among them all of Megatron-LM (SC21) and Korthikanti et al., are left out. The search starts from round
// figures, not from the catalogue's, and finds the same constants every time.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>

#include "curve_fit.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cluster/catalogue.h"
#include "other_steps.h"
#include "published_rows.h"

namespace {

using namespace nadi;

using Rows = std::vector<std::unique_ptr<PredictedRow>>;

bool is_fitted_to(const PublishedRow& row) {
  if (row.source == kVTrainOneNode) return row.line % 6 == 0;
  return row.source == kVTrainManyNodes && row.line % 4 == 0;
}

// Where the search starts. Fused attention occurs in none of the rows: its constants are those of the
// catalogue. Products of these libraries are taken not to be split, and passes to reach most of the
// bandwidth.
DeviceCurve start_of_fit(const DeviceCurve& catalogue) {
  DeviceCurve curve = catalogue;
  curve.matrix_efficiency = 0.8;
  curve.depth_ramp = 200;
  curve.score_efficiency = 0.5;
  curve.kernel_gap_us = 20;
  curve.forward_issue_us = curve.backward_issue_us = curve.collective_issue_us = 70;
  curve.step_us = 2000;
  return curve;
}

void print_errors(const std::string& title, std::vector<double> errors) {
  if (errors.empty()) return;
  double sum = 0, bias = 0;
  for (double& error : errors) {
    bias += error;
    error = std::abs(error);
    sum += error;
  }
  std::ranges::sort(errors);
  const double n = static_cast<double>(errors.size());
  std::printf(
      "%-38s %4zu rows: median %4.1f%%, 90th percentile %4.1f%%, mean %4.1f%%, bias %+5.1f%%, largest "
      "%4.1f%%\n",
      title.c_str(), errors.size(), 100 * errors[errors.size() / 2],
      100 * errors[static_cast<std::size_t>(std::ceil(0.9 * n)) - 1], 100 * sum / n, 100 * bias / n,
      100 * errors.back());
  std::fflush(stdout);
}

void print_by_source(Rows& rows, const DeviceCurve& curve, bool each) {
  std::map<std::string, std::vector<double>> fitted, left_out;
  for (const auto& row : rows) {
    const double error = row->error(curve);
    (is_fitted_to(row->row()) ? fitted : left_out)[row->row().source].push_back(error);
    if (!each) continue;
    const Plan& plan = row->row().plan;
    std::printf("%s, line %d: tp %ld, pp %ld, dp %ld, %ld micro-batches: measured %.4f s, %+.1f%%\n",
                row->row().source.c_str(), row->row().line, static_cast<long>(plan.tp),
                static_cast<long>(plan.pp), static_cast<long>(plan.dp), static_cast<long>(plan.micro_batches),
                row->row().measured_s, 100 * error);
  }
  for (auto& [source, errors] : left_out) print_errors(source + ", left out of the fit", errors);
  for (auto& [source, errors] : fitted) print_errors(source + ", fitted to", errors);
}

void print_constants(const DeviceCurve& curve) {
  for (const CurveConstant& constant : curve_constants())
    std::printf("  %-30s %10.4g   within %g and %g\n", std::string(constant.name).c_str(),
                curve.*constant.value, constant.least, constant.most);
}

// The catalogue has four digits.
bool about_equal(const DeviceCurve& a, const DeviceCurve& b) {
  return std::ranges::all_of(curve_constants(), [&](const CurveConstant& constant) {
    return std::abs(a.*constant.value - b.*constant.value) <= 1e-3 * std::abs(b.*constant.value);
  });
}

DeviceCurve fitted(const Rows& rows, const DeviceCurve& start, const std::string& without = "") {
  std::vector<PredictedRow*> chosen;
  for (const auto& row : rows)
    if (is_fitted_to(row->row()) && row->row().source != without) chosen.push_back(row.get());
  return CurveFit(chosen).search(start, 5);
}

int run(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "../shared/data/published";
  print_h200_steps();
  print_a10_step(folder + "/../fasop/known_cost_all.csv");
  if (!std::filesystem::exists(folder + "/iteration_times.csv")) {
    std::printf("skipped: no published measurements in %s\n", folder.c_str());
    return 0;
  }
  const auto given = [&](const char* flag) {
    return std::any_of(argv + 1, argv + argc, [&](const char* a) { return std::strcmp(a, flag) == 0; });
  };
  const PublishedRows published = read_published_rows(folder);
  Rows rows;
  for (const PublishedRow& row : published.rows) rows.push_back(std::make_unique<PredictedRow>(row));
  const DeviceCurve curve = find_device("a100-80gb")->curve;
  std::printf("constants of the A100 in the catalogue:\n");
  print_constants(curve);
  print_by_source(rows, curve, given("--rows"));
  for (const LeftOut& out : published.left_out)
    std::printf("not run: %d rows of %s: %s\n", out.rows, out.source.c_str(), out.reason.c_str());
  if (given("--fit")) {
    const DeviceCurve found = fitted(rows, start_of_fit(curve));
    std::printf("%s\n", about_equal(found, curve) ? "fitted again: as in the catalogue"
                                                  : "fitted again: the catalogue has others");
    print_constants(found);
    print_by_source(rows, found, false);
  }
  if (given("--leave-out"))
    for (const std::string_view source : {kVTrainOneNode, kVTrainManyNodes}) {
      const DeviceCurve found = fitted(rows, start_of_fit(curve), std::string(source));
      std::vector<double> errors;
      for (const auto& row : rows)
        if (row->row().source == source) errors.push_back(row->error(found));
      print_errors(format("{}, fitted without it", source), errors);
    }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return exit_code(error.kind());
  }
}
