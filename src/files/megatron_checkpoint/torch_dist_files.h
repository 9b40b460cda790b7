// The files of a torch_dist folder, planned: every size is known, and what fills them are blocks of a whole
// model.
//
//   const std::vector<TargetFile> files = torch_dist_files(model, layout, target, {.files = 8});
//   AtomicFolder folder(save_dir / iteration_folder_name(target.iteration));
//   fill_files(model, files, folder, {.threads = 4});          // checkpoint_conversion/file_filling.h
//   folder.commit();
//
// Names are those within the folder of the iteration. Megatron-LM loads it with --no-load-rng, since there
// are no random states; without an optimizer with --no-load-optim, too. For each layer's linear modules there
// is an
// `_extra_state` of [None], which Megatron asks for.
#pragma once

#include <vector>

#include "nadi/megatron_checkpoint/megatron_args_writer.h"
#include "nadi/megatron_checkpoint/target_file.h"
#include "nadi/megatron_checkpoint/torch_dist_chunks.h"

namespace nadi::inline files {

// The target says whether there is an optimizer, and which; `cut` how many files there are and how large a
// chunk is.
std::vector<TargetFile> torch_dist_files(const WholeModel& model, const ShardLayout& layout,
                                         const MegatronTarget& target, const TorchDistCut& cut = {});

}  // namespace nadi::inline files
