// The assembler copies the files into the read-only data of the program, each as NAME with its length in
// NAME_size. The build passes their paths and compiles this source again when one of them changes.

#include "nadi/data/sample_squad.h"

#include <cstddef>
#include <cstdint>

__asm__(R"(
  .macro nadi_embed name, path
    .global \name, \name\()_size
    .hidden \name, \name\()_size
    \name: .incbin "\path"
    \name\()_end:
    .balign 8
    \name\()_size: .quad \name\()_end - \name
  .endm
  .pushsection .rodata
  nadi_embed nadi_sample_squad_train, ")" NADI_SAMPLE_SQUAD_TRAIN R"("
  nadi_embed nadi_sample_squad_dev, ")" NADI_SAMPLE_SQUAD_DEV R"("
  .popsection
  .purgem nadi_embed
)");

#define HIDDEN __attribute__((visibility("hidden")))
extern "C" {
HIDDEN extern const char nadi_sample_squad_train[];
HIDDEN extern const std::uint64_t nadi_sample_squad_train_size;
HIDDEN extern const char nadi_sample_squad_dev[];
HIDDEN extern const std::uint64_t nadi_sample_squad_dev_size;
}

namespace nadi {

std::string_view sample_squad_train() {
  return {nadi_sample_squad_train, static_cast<std::size_t>(nadi_sample_squad_train_size)};
}

std::string_view sample_squad_dev() {
  return {nadi_sample_squad_dev, static_cast<std::size_t>(nadi_sample_squad_dev_size)};
}

}  // namespace nadi
