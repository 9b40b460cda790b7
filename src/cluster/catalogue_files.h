// The files of the catalogue, built into the program.
#pragma once

#include <span>
#include <string_view>

namespace nadi {

struct CatalogueFile {
  std::string_view name;  // without its ending
  std::string_view text;
};

std::span<const CatalogueFile> catalogue_cluster_files();
std::string_view catalogue_devices_text();

}  // namespace nadi
