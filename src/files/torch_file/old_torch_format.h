// The format of torch.save before PyTorch 1.6, without an archive: five pickles (a magic number, the version
// of the format, properties of the machine, the object, the keys of the storages), then for each key the
// number of elements and the elements.
#pragma once

#include <cstddef>
#include <span>

#include "nadi/torch_file/pickle_machine.h"

namespace nadi::inline files {

// Reads the object into the arena, and finds its storages in `bytes`.
void open_old_torch_format(PickleArena& arena, std::span<const std::byte> bytes,
                           const PickleOptions& options);

}  // namespace nadi::inline files
