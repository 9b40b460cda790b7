// Predicts published steps with the simulator and prints how far off it is, by source, for the rows that the
// catalogue's constants of the A100 and the H200 were fitted to and for those that were left out of the fit.
//
//   nadi_validate FOLDER               errors by source, memory, and the constants
//   nadi_validate FOLDER --rows        each row as well
//   nadi_validate FOLDER --leave-out   for each source that is fitted to: fits without it, prints its error
//   nadi_validate FOLDER --fit         fits the constants again and says where the catalogue differs
//
// The A100 is fitted to every sixth row of vTrain's single nodes and every fourth of its multi-node rows. All
// others, among them all of Megatron-LM (SC21) and Korthikanti et al., are left out. The H200 is fitted to
// four of seven steps. The searches start from round figures, not from the catalogue's, and find the same
// constants every time.
#include <algorithm>
#include <chrono>
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

constexpr int kRounds = 5;

bool is_fitted_to(const PublishedRow& row) {
  if (row.source == kH200Steps) return is_h200_step_fitted_to(row);
  if (row.source == kVTrainOneNode) return row.line % 6 == 0;
  return row.source == kVTrainManyNodes && row.line % 4 == 0;
}

// Where the search for the A100 starts. Fused attention occurs in none of the rows: its constants are those
// of the catalogue. Products of these libraries are taken not to be split, and passes to reach most of the
// bandwidth.
DeviceCurve start_of_a100(const DeviceCurve& catalogue) {
  DeviceCurve curve = catalogue;
  curve.matrix_efficiency = 0.8;
  curve.depth_ramp = 200;
  curve.score_efficiency = 0.5;
  curve.kernel_gap_us = 20;
  curve.forward_issue_us = curve.backward_issue_us = curve.collective_issue_us = 70;
  curve.step_us = 2000;
  return curve;
}

// And for the H200, whose steps are captured graphs: no host, and no scores of attention. Four steps do not
// determine six constants: other starts end elsewhere, with like errors.
DeviceCurve start_of_h200(const DeviceCurve& catalogue) {
  DeviceCurve curve = catalogue;
  curve.matrix_efficiency = 0.75;
  curve.attention_efficiency = 0.6;
  curve.attention_gradient_efficiency = 0.5;
  curve.bandwidth_efficiency = 0.85;
  curve.kernel_gap_us = 1;
  curve.split_depth = 400;
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
      "%-38s %4zu rows: median %4.1f%%, 90th percentile %4.1f%%, mean %4.2f%%, bias %+5.1f%%, largest "
      "%4.1f%%\n",
      title.c_str(), errors.size(), 100 * errors[errors.size() / 2],
      100 * errors[static_cast<std::size_t>(std::ceil(0.9 * n)) - 1], 100 * sum / n, 100 * bias / n,
      100 * errors.back());
  std::fflush(stdout);
}

std::vector<PredictedRow*> all_of(const Rows& rows) {
  std::vector<PredictedRow*> list;
  for (const auto& row : rows) list.push_back(row.get());
  return list;
}

void print_by_source(const Rows& rows, const DeviceCurve& curve, bool each) {
  std::map<std::string, std::vector<double>> fitted, left_out;
  const std::vector<double> errors = errors_of(all_of(rows), curve);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const PublishedRow& row = rows[i]->row();
    (is_fitted_to(row) ? fitted : left_out)[row.source].push_back(errors[i]);
    if (!each) continue;
    const Plan& plan = row.plan;
    std::printf("%s, line %d: %s, tp %ld, pp %ld, dp %ld, %ld micro-batches%s: measured %.4g s, %+.1f%%\n",
                row.source.c_str(), row.line, row.config.name.c_str(), static_cast<long>(plan.tp),
                static_cast<long>(plan.pp), static_cast<long>(plan.dp), static_cast<long>(plan.micro_batches),
                is_fitted_to(row) ? ", fitted to" : "", row.measured_s, 100 * errors[i]);
  }
  for (auto& [source, of] : left_out) print_errors(source + ", left out of the fit", of);
  std::vector<double> megatron = left_out[std::string(kMegatronSC21)];
  const std::vector<double>& korthikanti = left_out[std::string(kKorthikanti)];
  megatron.insert(megatron.end(), korthikanti.begin(), korthikanti.end());
  print_errors("these two Megatron-LM together", megatron);
  for (auto& [source, of] : fitted) print_errors(source + ", fitted to", of);
}

void print_constants(const DeviceCurve& curve) {
  for (const CurveConstant& constant : curve_constants())
    std::printf("  %-30s %10.4g   within %g and %g\n", std::string(constant.name).c_str(),
                curve.*constant.value, constant.least, constant.most);
}

// The catalogue has three or four digits.
bool about_equal(const DeviceCurve& a, const DeviceCurve& b) {
  return std::ranges::all_of(curve_constants(), [&](const CurveConstant& constant) {
    return std::abs(a.*constant.value - b.*constant.value) <= 2e-3 * std::abs(b.*constant.value);
  });
}

// A device of the catalogue with the rows that say something of it.
struct FittedDevice {
  std::string name;
  Rows rows;
  DeviceCurve catalogue = {};
  DeviceCurve start = {};
  std::span<const CurveMember> constants = {};
};

DeviceCurve fitted(const FittedDevice& device, const std::string& without = "") {
  std::vector<PredictedRow*> chosen;
  for (const auto& row : device.rows)
    if (is_fitted_to(row->row()) && row->row().source != without) chosen.push_back(row.get());
  return CurveFit(chosen).search(device.start, device.constants, kRounds);
}

void print_device(const FittedDevice& device, bool each, bool fit) {
  std::printf("constants of the %s in the catalogue:\n", device.name.c_str());
  print_constants(device.catalogue);
  print_by_source(device.rows, device.catalogue, each);
  if (!fit) return;
  const DeviceCurve found = fitted(device);
  std::printf("%s, fitted again: %s\n", device.name.c_str(),
              about_equal(found, device.catalogue) ? "as in the catalogue" : "the catalogue has others");
  print_constants(found);
  print_by_source(device.rows, found, false);
}

void print_left_out(const FittedDevice& device) {
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string_view source : {kVTrainOneNode, kVTrainManyNodes}) {
    const DeviceCurve found = fitted(device, std::string(source));
    std::vector<PredictedRow*> rows;
    for (const auto& row : device.rows)
      if (row->row().source == source) rows.push_back(row.get());
    print_errors(format("{}, fitted without it", source), errors_of(rows, found));
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("fitting without each source took %.0f s\n", took.count());
}

FittedDevice fitted_device(const char* name, const std::vector<PublishedRow>& rows) {
  FittedDevice device{.name = name, .rows = {}, .catalogue = find_device(name)->curve};
  for (const PublishedRow& row : rows) device.rows.push_back(std::make_unique<PredictedRow>(row));
  return device;
}

int run(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "../shared/data/published";
  const auto given = [&](const char* flag) {
    return std::any_of(argv + 1, argv + argc, [&](const char* a) { return std::strcmp(a, flag) == 0; });
  };
  FittedDevice h200 = fitted_device("h200", h200_steps());
  h200.start = start_of_h200(h200.catalogue);
  h200.constants = kCapturedConstants;
  print_device(h200, true, given("--fit"));
  print_a10_step(folder + "/../fasop/known_cost_all.csv");
  print_nemotron_steps();
  if (!std::filesystem::exists(folder + "/iteration_times.csv")) {
    print_memory({});
    std::printf("skipped: no published measurements in %s\n", folder.c_str());
    return 0;
  }
  const PublishedRows published = read_published_rows(folder);
  print_memory(published.rows);
  FittedDevice a100 = fitted_device("a100-80gb", published.rows);
  a100.start = start_of_a100(a100.catalogue);
  a100.constants = kEagerConstants;
  print_device(a100, given("--rows"), given("--fit"));
  if (given("--leave-out")) print_left_out(a100);
  for (const LeftOut& out : published.left_out)
    std::printf("not run: %d rows of %s: %s\n", out.rows, out.source.c_str(), out.reason.c_str());
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
