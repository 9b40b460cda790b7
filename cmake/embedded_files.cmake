# Files that the program carries in itself.
#
#   nadi_embed_files(data sample_squad ${PROJECT_SOURCE_DIR}/share/squad-sample/train.json ...)
#
# adds a source to the room's library that defines
#
#   std::span<const EmbeddedFile> sample_squad_files();
#
# with the files in this order (base/embedded_file.h); declare it where it is used. The assembler copies them into
# the read-only data of the library. It reads them, not the compiler, which does not see them as dependencies.
function(nadi_embed_files room name)
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR PARENT_PATH floor)
  cmake_path(GET floor FILENAME floor)
  set(symbols "")
  set(declarations "")
  set(entries "")
  set(number 0)
  foreach(path ${ARGN})
    get_filename_component(file ${path} NAME_WLE)
    set(symbol nadi_embedded_${name}_${number})
    string(APPEND symbols "  embed ${symbol}, \"${path}\"\n")
    string(APPEND declarations "HIDDEN_DATA extern const char ${symbol}[];\n"
      "HIDDEN_DATA extern const std::uint64_t ${symbol}_size;\n")
    string(APPEND entries "      EmbeddedFile{\"${file}\", {${symbol}, static_cast<std::size_t>(${symbol}_size)}},\n")
    math(EXPR number "${number} + 1")
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}_files.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [==[
// Written by cmake/embedded_files.cmake.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "nadi/base/embedded_file.h"

__asm__(R"(
  .macro embed name, path
    .global \name, \name\()_size
    .hidden \name, \name\()_size
    \name: .incbin "\path"
    \name\()_end:
    .balign 8
    \name\()_size: .quad \name\()_end - \name
  .endm
  .pushsection .rodata
@symbols@  .popsection
  .purgem embed
)");

#define HIDDEN_DATA __attribute__((visibility("hidden")))
extern "C" {
@declarations@}

namespace nadi::inline @floor@ {

std::span<const EmbeddedFile> @name@_files();

std::span<const EmbeddedFile> @name@_files() {
  static const std::array kFiles{
@entries@  };
  return kFiles;
}

}  // namespace nadi::inline @floor@
]==])
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${ARGN}")
  target_sources(nadi_${room} PRIVATE ${source})
  nadi_compile_alone(${source})
endfunction()
