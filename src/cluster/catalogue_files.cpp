// The assembler copies the files into the read-only data of the program, each as NAME with its length in
// NAME_size. The build writes the list of clusters (one NADI_CLUSTER_FILE(id, "name", "path") a line) and
// compiles this source again when one of the files changes.

#include "nadi/cluster/catalogue_files.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "nadi/cluster/cluster_file.h"

#define NADI_CLUSTER_FILE(id, name, path) "  nadi_embed_cluster nadi_cluster_" #id ", \"" path "\"\n"
__asm__(R"(
  .macro nadi_embed_cluster name, path
    .global \name, \name\()_size
    .hidden \name, \name\()_size
    \name: .incbin "\path"
    \name\()_end:
    .balign 8
    \name\()_size: .quad \name\()_end - \name
  .endm
  .pushsection .rodata
)"
#include "cluster_files.inc"
        R"(
  nadi_embed_cluster nadi_catalogue_devices, ")" NADI_CATALOGUE_DEVICES R"("
  nadi_embed_cluster nadi_catalogue_schema, ")" NADI_CLUSTER_SCHEMA R"("
  .popsection
  .purgem nadi_embed_cluster
)");
#undef NADI_CLUSTER_FILE

#define HIDDEN_DATA __attribute__((visibility("hidden")))
extern "C" {
#define NADI_CLUSTER_FILE(id, name, path)            \
  HIDDEN_DATA extern const char nadi_cluster_##id[]; \
  HIDDEN_DATA extern const std::uint64_t nadi_cluster_##id##_size;
#include "cluster_files.inc"
#undef NADI_CLUSTER_FILE
HIDDEN_DATA extern const char nadi_catalogue_devices[];
HIDDEN_DATA extern const std::uint64_t nadi_catalogue_devices_size;
HIDDEN_DATA extern const char nadi_catalogue_schema[];
HIDDEN_DATA extern const std::uint64_t nadi_catalogue_schema_size;
}

namespace nadi {

std::span<const CatalogueFile> catalogue_cluster_files() {
#define NADI_CLUSTER_FILE(id, name, path) \
  CatalogueFile{name, {nadi_cluster_##id, static_cast<std::size_t>(nadi_cluster_##id##_size)}},
  static const std::array kFiles{
#include "cluster_files.inc"
  };
#undef NADI_CLUSTER_FILE
  return kFiles;
}

std::string_view catalogue_devices_text() {
  return {nadi_catalogue_devices, static_cast<std::size_t>(nadi_catalogue_devices_size)};
}

std::string_view cluster_schema() {
  return {nadi_catalogue_schema, static_cast<std::size_t>(nadi_catalogue_schema_size)};
}

}  // namespace nadi
