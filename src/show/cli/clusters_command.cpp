// nadi clusters
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/json.h"
#include "nadi/base/version.h"
#include "nadi/cluster/catalogue.h"
#include "nadi/cluster/cluster_file.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/report/clusters_report.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_width.h"

namespace nadi::inline show {
namespace {

void list_clusters(const Flags& flags, Console& console) {
  const ReportTable table = clusters_table(catalogue_clusters());
  if (flags.given("--json")) {
    console.out << dump_json(Json{{"nadi_version", version()}, {"clusters", table_json(table)}});
    return;
  }
  console.out
      << table_text(table, {.rows = 0, .bold_titles = console.colour_out, .width = table_width(console.out)})
      << "\nNAMExN is N nodes of NAME, for those of one node. A device of 'nadi devices' is a cluster of "
         "one.\n'nadi clusters NAME' shows one in full, with the sources of its figures.\n";
}

}  // namespace

void add_clusters_flags(Flags& flags) {
  flags.set_positional({.name = "CLUSTER",
                        .help = "the cluster to show in full: a name, NAMExN for N nodes of it, a JSON file, "
                                "or files of ASTRA-sim (system.json,network.yml)",
                        .fallback = "all are listed"});
  flags.toggle("--json", "print JSON: see docs/json.md; of one cluster, the file that describes it");
  flags.toggle("--schema", "print the JSON schema of cluster files");
}

void run_clusters(const Flags& flags, Console& console) {
  if (flags.given("--schema")) {
    if (flags.has_positional()) throw usage_error("--schema is the same for all clusters");
    console.out << cluster_schema();
  } else if (!flags.has_positional()) {
    list_clusters(flags, console);
  } else {
    const Cluster cluster = load_cluster(flags.positional());
    if (flags.given("--json"))
      console.out << cluster_text(cluster);
    else
      print_cluster(cluster, console.out, style_for(console));
  }
}

}  // namespace nadi::inline show
