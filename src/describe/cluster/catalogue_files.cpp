#include "nadi/cluster/catalogue_files.h"

#include "nadi/cluster/cluster_file.h"

namespace nadi::inline describe {

std::span<const EmbeddedFile> catalogue_share_files();

std::string_view catalogue_devices_text() {
  return embedded_text(catalogue_share_files(), "devices");
}

std::string_view cluster_schema() {
  return embedded_text(catalogue_share_files(), "cluster.schema");
}

}  // namespace nadi::inline describe
