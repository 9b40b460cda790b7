#include "nadi/cli/commands.h"

#include <array>
#include <memory>

#include "nadi/command_line/command.h"

namespace nadi::inline show {

// Defined in the commands' own files.
std::unique_ptr<Command> make_models_command();
std::unique_ptr<Command> make_devices_command();
std::unique_ptr<Command> make_clusters_command();
std::unique_ptr<Command> make_show_command();
std::unique_ptr<Command> make_trace_command();
std::unique_ptr<Command> make_trace_collective_command();
std::unique_ptr<Command> make_convert_command();
std::unique_ptr<Command> make_check_command();
std::unique_ptr<Command> make_analyze_command();
std::unique_ptr<Command> make_simulate_command();
std::unique_ptr<Command> make_plan_command();
std::unique_ptr<Command> make_draw_command();
std::unique_ptr<Command> make_timeline_command();
std::unique_ptr<Command> make_data_tokenizer_command();
std::unique_ptr<Command> make_data_preprocess_command();
std::unique_ptr<Command> make_data_get_command();
std::unique_ptr<Command> make_data_index_command();
std::unique_ptr<Command> make_data_inspect_command();
std::unique_ptr<Command> make_checkpoint_convert_command();
std::unique_ptr<Command> make_checkpoint_show_command();
std::unique_ptr<Command> make_checkpoint_compare_command();
std::unique_ptr<Command> make_train_command();
std::unique_ptr<Command> make_generate_command();
std::unique_ptr<Command> make_evaluate_command();
std::unique_ptr<Command> make_calibrate_command();
std::unique_ptr<Command> make_compare_command();
std::unique_ptr<Command> make_launch_command();
std::unique_ptr<Command> make_job_init_command();
std::unique_ptr<Command> make_job_schema_command();
std::unique_ptr<Command> make_job_submit_command();
std::unique_ptr<Command> make_job_list_command();
std::unique_ptr<Command> make_job_status_command();
std::unique_ptr<Command> make_job_watch_command();
std::unique_ptr<Command> make_job_logs_command();
std::unique_ptr<Command> make_job_cancel_command();
std::unique_ptr<Command> make_job_resume_command();
std::unique_ptr<Command> make_job_report_command();
std::unique_ptr<Command> make_tune_command();
std::unique_ptr<Command> make_tune_resume_command();
std::unique_ptr<Command> make_tune_show_command();
std::unique_ptr<Command> make_tune_best_command();
std::unique_ptr<Command> make_tune_report_command();
std::unique_ptr<Command> make_doctor_command();
std::unique_ptr<Command> make_completion_command();
std::unique_ptr<Command> make_man_command();

namespace {

constexpr std::array kCommands{
    CommandEntry{.name = "models",
                 .summary = "list the models that are built in",
                 .examples = {"nadi models", "nadi models --json"},
                 .make = &make_models_command},
    CommandEntry{.name = "devices",
                 .summary = "list what this machine can compute on, and the devices that can be simulated",
                 .examples = {"nadi devices", "nadi devices --json"},
                 .make = &make_devices_command},
    CommandEntry{.name = "clusters",
                 .summary = "list the clusters that can be simulated, or show one with its sources",
                 .examples = {"nadi clusters", "nadi clusters dgx-h100x2"},
                 .make = &make_clusters_command},
    CommandEntry{.name = "show",
                 .summary = "show what a step of a model costs, or what a Chakra trace holds",
                 .examples = {"nadi show gpt2 --batch-size 4 --seq-length 512",
                              "nadi show llama3.1-70b --dtype bf16 --tp 8 --pp 4 --rank 31"},
                 .make = &make_show_command},
    CommandEntry{
        .name = "trace",
        .summary = "write a step of a model as a Chakra trace, without running it",
        .examples = {"nadi trace gpt2 --batch-size 4 --seq-length 512 -o out/gpt2",
                     "nadi trace gpt3-175b --step generate --num-output-tokens 20 --tp 8 -o out/gpt3"},
        .make = &make_trace_command},
    CommandEntry{.name = "trace collective",
                 .summary = "write one collective operation as a Chakra trace, for simulators",
                 .examples = {"nadi trace collective all-reduce --op prod --bytes 1MB --ranks 8 -o out/ar",
                              "nadi trace collective send-receive --bytes 64KiB --ranks 2 -o out/sr"},
                 .make = &make_trace_collective_command},
    CommandEntry{
        .name = "convert",
        .summary = "turn traces of PyTorch into Chakra traces, and traces into other formats",
        .examples = {"nadi convert --host run_rank0_host.json --device run_rank0_device.json -o run.0.et",
                     "nadi convert 'run_rank*_host.json' --device 'run_rank*_device.json' -o out/run"},
        .make = &make_convert_command},
    CommandEntry{.name = "check",
                 .summary = "check traces: are they well formed, do ranks agree, will a simulator take them",
                 .examples = {"nadi check run.0.et", "nadi check 'out/run.*.et' --simulator astra-sim"},
                 .make = &make_check_command},
    CommandEntry{
        .name = "analyze",
        .summary = "say what limits a step and where its time went, or what changed between two runs",
        .examples = {"nadi analyze 'run_rank*_device.json'",
                     "nadi analyze out/run.0.et --against out/run.1.et"},
        .make = &make_analyze_command},
    CommandEntry{
        .name = "simulate",
        .summary = "predict how long a step takes on described hardware, with memory, cost and energy",
        .examples = {"nadi simulate gpt2-xl --dp 4 --pp 8 --global-batch-size 64 --micro-batch-size 1 "
                     "--cluster a10-8x4",
                     "nadi simulate gpt2 --dtype bf16 --dp 8 --cluster dgx-a100 --what-if "
                     "link.nvswitch.bandwidth=2x"},
        .make = &make_simulate_command},
    CommandEntry{
        .name = "plan",
        .summary = "find the best way to split a model over a cluster: degrees, stages, placement, memory",
        .examples =
            {"nadi plan gpt2 --cluster dgx-a100 --global-batch-size 32 --schedule 1f1b",
             "nadi plan gpt2 --cluster a10-8x4 --global-batch-size 32 --tp 1 --schedule 1f1b --explain 1"},
        .make = &make_plan_command},
    CommandEntry{
        .name = "draw",
        .summary = "draw the graph of a trace: tensors, operations and communication",
        .examples = {"nadi draw out/gpt2.0.et -o graph.svg", "nadi draw 'out/gpt3.*.et' --comm -o comm.png"},
        .make = &make_draw_command},
    CommandEntry{.name = "timeline",
                 .summary = "draw when each rank did what, as a page for a browser or for Perfetto",
                 .examples = {"nadi timeline 'out/run.*.et' -o timeline.html",
                              "nadi timeline --pipeline outputs/gpt2-tiny_trace -o pipeline.html"},
                 .make = &make_timeline_command},
    CommandEntry{.name = "data tokenizer",
                 .summary = "learn a tokenizer from text",
                 .examples = {"nadi data tokenizer --vocab-size 2048 -o tok",
                              "nadi data tokenizer --type wordpiece --vocab-size 2048 -o tok-bert"},
                 .make = &make_data_tokenizer_command},
    CommandEntry{
        .name = "data preprocess",
        .summary = "turn JSON lines into Megatron's indexed dataset",
        .examples = {"nadi data preprocess --input arxiv.jsonl --output-prefix data/arxiv "
                     "--tokenizer tok --append-eod",
                     "nadi data preprocess --input arxiv.jsonl --output-prefix b --tokenizer tok-bert "
                     "--split-sentences"},
        .make = &make_data_preprocess_command},
    CommandEntry{.name = "data index",
                 .summary = "write Megatron's index maps of a dataset: which tokens each sample has",
                 .examples = {"nadi data index data/arxiv_text_document --num-samples 1600 --seq-length 1024 "
                              "--seed 1234",
                              "nadi data index b_text_sentence --bert --num-samples 100 --seq-length "
                              "512 -o maps"},
                 .make = &make_data_index_command},
    CommandEntry{.name = "data inspect",
                 .summary = "show what a dataset in Megatron's format holds, and its documents",
                 .examples = {"nadi data inspect data/arxiv_text_document",
                              "nadi data inspect data/arxiv_text_document --tokenizer tok --format jsonl"},
                 .make = &make_data_inspect_command},
    CommandEntry{.name = "data get",
                 .summary = "get vocabularies and SQuAD to where training looks; no other command downloads",
                 .examples = {"nadi data get gpt2 bert-base-uncased", "nadi data get squad --from Downloads"},
                 .make = &make_data_get_command},
    CommandEntry{.name = "checkpoint convert",
                 .summary = "convert checkpoints: Hugging Face, Megatron-LM in any split, Nadi",
                 .examples = {"nadi checkpoint convert --load-dir out/gpt2/best_model --save-dir mega "
                              "--saver core --bf16",
                              "nadi checkpoint convert --load-dir out/gpt2/checkpoint-4 --save-dir dist "
                              "--to torch_dist --dry-run"},
                 .make = &make_checkpoint_convert_command},
    CommandEntry{.name = "checkpoint show",
                 .summary = "show what a checkpoint or a file of weights holds, whatever program wrote it",
                 .examples = {"nadi checkpoint show out/gpt2/best_model",
                              "nadi checkpoint show out/gpt2/best_model/model.safetensors --tensors"},
                 .make = &make_checkpoint_show_command},
    CommandEntry{.name = "checkpoint compare",
                 .summary = "compare two checkpoints tensor by tensor, across formats, splits and types",
                 .examples = {"nadi checkpoint compare out/gpt2/best_model out/gpt2/checkpoint-4 --weights",
                              "nadi checkpoint compare out/gpt2/best_model out/gpt2/best_model --json"},
                 .make = &make_checkpoint_compare_command},
    CommandEntry{
        .name = "train",
        .summary = "train a model, on one rank or many, and trace what ran",
        .examples = {"nadi train gpt2-tiny --batch-size 4 --max-seq-length 64 --max-steps 4 "
                     "--save-dir out/gpt2",
                     "nadi train bert-tiny --batch-size 2 --max-seq-length 32 --max-steps 4 --skip-eval "
                     "--enable-tracing"},
        .make = &make_train_command},
    CommandEntry{
        .name = "generate",
        .summary = "continue prompts with a model, and trace what ran",
        .examples =
            {"nadi generate gpt2-tiny --num-input-tokens 10 --num-output-tokens 20 --trace out/gpt2",
             "nadi generate llama-tiny --num-input-tokens 8 --temperature 0.7 --top-k 50 --top-p 0.9"},
        .make = &make_generate_command},
    CommandEntry{.name = "evaluate",
                 .summary = "loss, logits and gradients of a model on given tokens",
                 .examples = {"nadi evaluate qwen3-tiny --tokens ids.json --positions 0:0,1:3 --json",
                              "nadi evaluate out/gpt2/best_model --tokens ids.json --gradients"},
                 .make = &make_evaluate_command},
    CommandEntry{.name = "calibrate",
                 .summary = "measure this machine as simulations want it: ops, communication, shared cores",
                 .examples = {"nadi calibrate --quick --model gpt2-tiny --ranks 1 -o tiny.json",
                              "nadi calibrate --quick --model gpt2-tiny --ranks 1,2 -o out/me.json"},
                 .make = &make_calibrate_command},
    CommandEntry{
        .name = "compare",
        .summary = "compare a measured trace with its prediction on a cluster, op by op",
        .examples = {"nadi compare outputs/gpt2-tiny_trace.et --cluster tiny.json",
                     "nadi compare outputs/gpt2-tiny_trace.et --cluster tiny.json --timeline cmp.html"},
        .make = &make_compare_command},
    CommandEntry{.name = "launch",
                 .summary = "run a command on several ranks",
                 .examples = {"nadi launch -n 2 train gpt2-tiny --batch-size 2 --max-seq-length 32 "
                              "--max-steps 2 --skip-eval",
                              "nadi launch -n 2 --max-restarts 1 --slow rank=1:2x models"},
                 .make = &make_launch_command},
    CommandEntry{
        .name = "job init",
        .summary = "write a job file to begin with, after asking the cluster what it has",
        .examples = {"nadi job init --scheduler local -o job.json", "nadi job init --scheduler slurm"},
        .make = &make_job_init_command},
    CommandEntry{.name = "job schema",
                 .summary = "print the JSON schema of job files, or the variables of a job",
                 .examples = {"nadi job schema", "nadi job schema --variables"},
                 .make = &make_job_schema_command},
    CommandEntry{.name = "job submit",
                 .summary = "submit a job to Slurm or to this machine, or show the script that would run",
                 .examples = {"nadi job submit job.json --dry-run",
                              "nadi job submit job.json --set ranks_per_node=2 --trace 10-12 --dry-run"},
                 .make = &make_job_submit_command},
    CommandEntry{.name = "job list",
                 .summary = "list jobs that wait and run, on Slurm and on this machine, and why they wait",
                 .examples = {"nadi job list", "nadi job list --all --json"},
                 .make = &make_job_list_command},
    CommandEntry{.name = "job status",
                 .summary = "show one job: state, reason, nodes, times, restarts, failed nodes",
                 .examples = {"nadi job status local-20260131-090500-3f2a",
                              "nadi job status jobs/local-20260131-090500-3f2a --json"},
                 .make = &make_job_status_command},
    CommandEntry{.name = "job watch",
                 .summary = "show how a job is: state, progress, loss, use of GPUs, what is wrong with it",
                 .examples = {"nadi job watch log2/10932251 --once",
                              "nadi job watch log2/10932251 log2/10932252 --once --json"},
                 .make = &make_job_watch_command},
    CommandEntry{.name = "job logs",
                 .summary = "print what the nodes of a job wrote",
                 .examples = {"nadi job logs log2/10932251 --node n060 --lines 20",
                              "nadi job logs 10932251 --outputs log2 --err"},
                 .make = &make_job_logs_command},
    CommandEntry{.name = "job cancel",
                 .summary = "end jobs that wait or run",
                 .examples = {"nadi job cancel local-20260131-090500-3f2a",
                              "nadi job cancel local-20260131-091500-0b7c local-20260131-092500-9d01 --json"},
                 .make = &make_job_cancel_command},
    CommandEntry{.name = "job resume",
                 .summary = "submit a job again, to go on where it saved; if asked, without failed nodes",
                 .examples = {"nadi job resume local-20260131-090500-3f2a",
                              "nadi job resume jobs/local-20260131-090500-3f2a --json"},
                 .make = &make_job_resume_command},
    CommandEntry{.name = "job report",
                 .summary = "report what a job did: times, throughput, memory, GPUs, settings, errors",
                 .examples = {"nadi job report log2/10932251 -o report.html",
                              "nadi job report log2/10932251 --compare log2/10932263"},
                 .make = &make_job_report_command},
    CommandEntry{
        .name = "tune",
        .summary = "find the best settings of any command: trials, each with other values",
        .examples =
            {"nadi tune --param n=1..9 --metric 'c=([0-9]+)' --minimize --study tuned.db -- echo c={{n}}",
             "nadi tune --preset nadi-train --dry-run -- nadi train gpt2-tiny --max-steps 2"},
        .make = &make_tune_command},
    CommandEntry{
        .name = "tune resume",
        .summary = "go on with a study, alone or beside others",
        .examples = {"nadi tune resume tuned.db --trials 7", "nadi tune resume tuned.db --workers 2"},
        .make = &make_tune_resume_command},
    CommandEntry{.name = "tune show",
                 .summary = "show the trials of a study, of Nadi or of Optuna, and which parameters matter",
                 .examples = {"nadi tune show tuned.db", "nadi tune show tuned.db --top 3 --json"},
                 .make = &make_tune_show_command},
    CommandEntry{.name = "tune best",
                 .summary = "print the best setting of a study, or its command",
                 .examples = {"nadi tune best tuned.db", "nadi tune best tuned.db --emit command"},
                 .make = &make_tune_best_command},
    CommandEntry{
        .name = "tune report",
        .summary = "draw a study as a page: history, importance, slices, contour, timeline",
        .examples = {"nadi tune report tuned.db -o tune.html", "nadi tune report tuned.db -o again.html"},
        .make = &make_tune_report_command},
    CommandEntry{.name = "doctor",
                 .summary = "say what this machine has and lacks for each command, and what to install",
                 .examples = {"nadi doctor", "nadi doctor --json"},
                 .make = &make_doctor_command},
    CommandEntry{.name = "completion",
                 .summary = "print the script that makes a shell complete nadi's command lines",
                 .examples = {"nadi completion bash", "nadi completion zsh"},
                 .make = &make_completion_command},
    CommandEntry{.name = "man",
                 .summary = "print the manual page of the program or of a command",
                 .examples = {"nadi man", "nadi man trace collective"},
                 .make = &make_man_command},
};

constexpr std::array kGroups{
    GroupEntry{"data", "texts and datasets"},
    GroupEntry{"checkpoint", "checkpoints of any program"},
    GroupEntry{"job", "jobs on Slurm and on this machine"},
};

}  // namespace

const CommandTable& commands() {
  static const CommandTable kTable(kCommands, kGroups);
  return kTable;
}

}  // namespace nadi::inline show
