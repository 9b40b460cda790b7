#include "nadi/command_line/flag_hints.h"

namespace nadi::inline show {
namespace {

constexpr FlagWording kWordings[]{
    {"read the file leniently", "use --lenient"},
    {"declare that times are in nanoseconds", "use --time-unit ns"},
    {"compute in bf16", "add --dtype bf16"},
    {"calibrate this machine with as many ranks",
     "nadi calibrate --ranks N measures this machine with as many"},
    {"give it as a profile", "give it with --device"},
    {"give it as a trace of the host", "give it with --host"},
    {"choose the format chakra-json", "pass --format chakra-json"},
    {"name a file to convert", "nadi convert run_kineto.json -o run.0.et"},
    {"it is data-parallel ranks x micro-batches x micro-batch size",
     "it is --dp x micro-batches x --micro-batch-size"},
    {"the global batch is data-parallel ranks x micro-batches x micro-batch size",
     "--global-batch-size is --dp x micro-batches x --micro-batch-size"},
    {"give the size of the global batch", "the size of the batch is --global-batch-size"},
    {"say how many sequences all ranks take per step", "--global-batch-size 64 are 64 sequences per step"},
    {"a step that is split has more", "--tp, --cp, --dp and --pp make more"},
    {"name the cluster it is predicted on", "name it with --cluster; 'nadi clusters' lists what is known"},
    {"use another optimizer", "use another --optimizer"},
    {"use fused attention", "leave --attention unfused out"},
    {"use several tensor-parallel ranks, or no sequence parallelism",
     "add --tp, or leave --sequence-parallel out"},
    {"give the model type;", "name it with --model-type;"},
    {"choose another folder for the index maps",
     "choose another folder for the index maps with --data-cache-path"},
    {"give the traces of one run, one for each rank",
     "give the traces of one run, one for each rank; 'nadi analyze --against' compares two runs"},
    {"run the step and record it", "run the step and record it with 'nadi train --enable-tracing'"},
    {"it is in the settings that a job prints at its start",
     "it is in the settings that a job prints at its start; --stages says it, too"},
    {"they follow from the global batch, the micro-batch and the data-parallel size",
     "they follow from the global batch, the micro-batch and the data-parallel size; --micro-batches says "
     "it, "
     "too"},
    {"convert all of them to Chakra traces first",
     "turn all of them into Chakra traces with 'nadi convert' first"},
    {"make the dataset with a sequence for each sentence", "make the dataset with --split-sentences"},
    {"a lower learning rate or a longer warm-up", "a lower --learning-rate or more --warmup-steps"},
    {"go on with a fresh optimizer", "go on with a fresh optimizer: --no-load-optim"},
    {"a new run from its weights", "a new run with --init-from"},
    {"leave the optimizer state out", "leave the optimizer state out with --no-optimizer"},
    {"name the keys that have the text", "name the keys that have the text with --json-keys"},
    {"in which all steps have one batch size",
     "in which all steps have one batch size: --trace-wait, --trace-active"},
    {"name the tokenizer that the dataset was made with",
     "name the tokenizer that the dataset was made with: --tokenizer, or Megatron's flags for one"},
    {"say that it may be replaced", "--force replaces it"},
    {"allow more memory if you trust the file", "--max-memory SIZE allows more, if you trust the file"},
    {"and say in which folder they are", "and name their folder with --from; --from URL gets them itself"},
    {"choose another port for all nodes", "choose another --master-port for all nodes"},
    {"other machines have another node number", "other machines have another --node-rank"},
    {"start the launch of node 0 on the machine that the master address names",
     "start the launch with --node-rank 0 on the machine that --master-addr names"},
    {"start a launch for each node; all of them reach the master address over TCP",
     "start a launch with --node-rank N for each of them; all machines reach --master-addr over TCP; "
     "--join-timeout waits longer"},
    {"alike but for the number of the node", "alike but for --node-rank and --nproc-per-node"},
    {"the name or number of the machine of node 0",
     "--master-addr is the name or number of the machine of node 0"},
    {"write the traces of fewer ranks, or of fewer tensors",
     "write the traces of fewer ranks with --ranks 0,8-15, or without tensors with --tensors none; "
     "--max-bytes "
     "SIZE sets another limit"},
    {"a report is made of folders of other scripts, too",
     "'nadi job report' takes folders of other scripts, too"},
    {"name another folder of jobs", "--outputs names another folder"},
    {"say where the folders of jobs are", "--outputs says where the folders of jobs are"},
    {"name the ranks whose traces are written", "--ranks 0,8-15 writes the traces of these ranks"},
    {"write the traces of fewer ranks, or raise the limit",
     "write fewer with --ranks; --max-bytes SIZE sets another limit"},
    {"say whether less of it is better, or more", "pass --minimize or --maximize"},
    {"name a parameter and its values", "--param NAME=VALUES, --space FILE or --preset NAME says what"},
    {"another name begins another", "--name begins another"},
    {"leave the number of GPUs out", "leave --gpus out"},
    {"plan on a cluster", "plan with --cluster"},
    {"name a tokenizer, or give a prompt of tokens",
     "give --tokenizer FOLDER, --prompt-tokens, or --num-input-tokens N for random tokens"},
    {"compare two of them", "--compare shows two of them"},
    {"start as many ranks as the plan needs", "start as many ranks as the plan needs: nadi launch -n N ..."},
};

}  // namespace

std::span<const FlagWording> flag_wordings() {
  return kWordings;
}

std::string hint_with_flags(std::string hint) {
  for (const FlagWording& wording : kWordings)
    if (const std::size_t at = hint.find(wording.library); at != std::string::npos)
      hint.replace(at, wording.library.size(), wording.program);
  return hint;
}

}  // namespace nadi::inline show
