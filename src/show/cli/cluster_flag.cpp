#include "nadi/cli/cluster_flag.h"

#include "nadi/base/format.h"
#include "nadi/cluster/cluster_file.h"
#include "nadi/command_line/flags.h"

namespace nadi::inline show {

void add_cluster_flag(Flags& flags, std::string help, std::string fallback) {
  FlagHeading(flags, "hardware")
      .value(
          {"--cluster", "--hw-config"}, "CLUSTER",
          format(
              "{}: a name of 'nadi clusters', NAMExN for N nodes of it, a device of 'nadi devices', a JSON "
              "file, or files of ASTRA-sim (system.json,network.yml)",
              help),
          std::move(fallback));
}

std::optional<Cluster> given_cluster(const Flags& flags) {
  const auto name = flags.text("--cluster");
  return name ? std::optional(load_cluster(*name)) : std::nullopt;
}

}  // namespace nadi::inline show
