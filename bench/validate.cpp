// Predicts published steps and prints how far off it is, by source.
//
//   nadi_validate FOLDER [--rows]        --rows: each row as well
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>

#include "nadi/base/error.h"
#include "nadi/cluster/catalogue.h"
#include "nadi/parallel/stage_programs.h"
#include "published_rows.h"

namespace {

using namespace nadi;

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "../shared/data/published";
  if (!std::filesystem::exists(folder + "/iteration_times.csv")) {
    std::printf("skipped: no published measurements in %s\n", folder.c_str());
    return 0;
  }
  const bool each = argc > 2 && std::strcmp(argv[2], "--rows") == 0;
  const PublishedRows published = read_published_rows(folder);
  std::map<std::string, std::vector<double>> errors;
  for (const PublishedRow& row : published.rows) {
    if (argc > 3 && row.source.find(argv[3]) == std::string::npos) continue;
    const StagePrograms programs(row.config, row.request, row.plan);
    const SimulationResult result =
        simulate_step(programs, row.cluster, {.overlap = row.overlap, .keep_times = false});
    const double predicted = to_seconds(result.iteration_time);
    errors[row.source].push_back(predicted / row.measured_s - 1);
    if (each) {
      std::printf("%s:%d tp%ld pp%ld dp%ld m%ld b%ld: predicted %.4f s, measured %.4f s, %+.1f%%\n", row.source.c_str(), row.line,
                  row.plan.tp,row.plan.pp,row.plan.dp,row.plan.micro_batches,row.request.batch_size/row.plan.micro_batches,
                  predicted, row.measured_s, 100 * (predicted / row.measured_s - 1));
      std::fflush(stdout);
    }
  }
  for (auto& [source, list] : errors) {
    std::vector<double> sizes;
    double sum = 0, bias = 0;
    for (const double error : list) {
      sizes.push_back(std::abs(error));
      sum += std::abs(error);
      bias += error;
    }
    std::sort(sizes.begin(), sizes.end());
    const double n = static_cast<double>(sizes.size());
    std::printf("%-22s %4zu rows  median %5.1f%%  90th percentile %5.1f%%  mean %5.1f%%  bias %+5.1f%%  largest %5.1f%%\n",
                source.c_str(), sizes.size(), 100 * sizes[sizes.size() / 2],
                100 * sizes[static_cast<std::size_t>(std::ceil(0.9 * n)) - 1], 100 * sum / n, 100 * bias / n, 100 * sizes.back());
  }
  for (const LeftOut& out : published.left_out)
    std::printf("left out: %d rows of %s: %s\n", out.rows, out.source.c_str(), out.reason.c_str());
}
