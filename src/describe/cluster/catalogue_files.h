// The files of the catalogue, built into the program.
#pragma once

#include <span>
#include <string_view>

#include "nadi/base/embedded_file.h"

namespace nadi::inline describe {

std::span<const EmbeddedFile> catalogue_cluster_files();  // in the order of their names
std::string_view catalogue_devices_text();

}  // namespace nadi::inline describe
