// --cluster, or --hw-config: which hardware a step is predicted for.
#pragma once

#include <optional>
#include <string>

#include "nadi/cluster/cluster.h"

namespace nadi::inline show {

class Flags;

// `help` says what the command does with it.
void add_cluster_flag(Flags& flags, std::string help, std::string fallback);

// The cluster that was asked for; nothing where none was. Error as load_cluster() throws.
std::optional<Cluster> given_cluster(const Flags& flags);

}  // namespace nadi::inline show
