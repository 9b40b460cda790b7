// Damages the files that Nadi reads, in thousands of ways, and runs the commands that read them.
//
//   reader_mutations [--count N] [--only NAME] [--seed N] [--findings FOLDER]
//
// Each run must end by itself with one of the documented exit codes (0, 2, 3, 4, 5; 1 for commands that
// compare or check), within 20 s of processor time and 2 GiB of memory. An end by a signal, another exit
// code, or more time or memory than that is a finding: its file is kept in FOLDER, and the program ends with
// exit code 1.
//
// Commands run inside this program, in children that do a batch of damages each: a process for each damage
// would take ten times as long. A child that dies is followed by another one, which goes on behind the
// damage.
//
// Sources are files that Nadi makes here, files of the repository, and real ones of ../shared/data where they
// are.
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "mutations.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/testing/source_folder.h"
#include "nadi/text/sentencepiece_for_tests.h"

namespace nadi {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr rlim_t kMostMemory = rlim_t{2} << 30;    // bytes
constexpr int kMostSeconds = 20;                   // of processor time, for one damage
constexpr std::chrono::seconds kLongestWait{240};  // for one damage: it may wait for a busy machine
constexpr int kBatch = 200;

std::string read_bytes(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_bytes(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// A reader of Nadi's.
struct Reader {
  std::string_view name;
  // Makes the sources in the folder that it runs in; words of commands for that are for run().
  void (*make)();
  // Which of the files are damaged: names, or names of folders whose files are.
  std::vector<std::string> damaged;
  // Commands that read them, in turns. {} is the file that was damaged; others name it themselves.
  std::vector<std::string> commands;
  bool may_fail = false;  // exit code 1 is documented
};

fs::path repository() {
  return source_folder();
}

void copy_here(const fs::path& from, const fs::path& to) {
  if (fs::exists(from))
    fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
}

// Every file of a folder that has at most so many bytes, under its own name.
void copy_small(const fs::path& folder, const fs::path& to, std::uintmax_t most) {
  if (!fs::exists(folder)) return;
  fs::create_directories(to);
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file() && entry.file_size() <= most && entry.path().extension() != ".md")
      fs::copy_file(entry.path(), to / entry.path().filename(), fs::copy_options::overwrite_existing);
}

void must(std::string_view command) {
  const CliRun done = run(command);
  if (done.code == 0) return;
  std::fprintf(stderr, "nadi %.*s: exit code %d\n%s", static_cast<int>(command.size()), command.data(),
               done.code, done.err.c_str());
  std::exit(1);
}

void make_trace() {
  write_bytes("tiny.json", kTinyConfig);
  must("trace tiny.json --seq-length 4 --dp 2 --global-batch-size 2 -o step");
}
void make_old_trace() {
  copy_small(shared_data() / "chakra" / "all_gather_4npus_1MB", "old", 100'000);
  copy_small(repository() / "src" / "traces" / "chakra" / "corpus" / "fuzz_chakra_reader", "old", 100'000);
}
void make_trace_json() {
  make_trace();
  must("convert step.0.et -o json/step.0.json --format chakra-json");
  must("convert step.0.et -o json/step.0.jsonl --format chakra-json");
  copy_small(repository() / "src" / "traces" / "chakra" / "corpus" / "fuzz_chakra_json", "json", 100'000);
}
void make_node_link() {
  make_trace();
  must("draw step.0.et -o graph.json --format json --collapse none");
}
void make_profiles() {
  copy_small(repository() / "examples" / "traces", ".", 100'000);
  copy_small(repository() / "src" / "traces" / "pytorch" / "corpus" / "fuzz_kineto_reader", "profiles",
             100'000);
}
// Files of a few kilobytes each: one that holds megabytes takes half a second, and has no other places to be damaged.
void make_compressed() {
  copy_small(repository() / "src" / "ground" / "input" / "corpus" / "fuzz_chunked_input", "packed", 100'000);
  copy_small(repository() / "src" / "traces" / "pytorch" / "corpus" / "fuzz_kineto_reader", "packed",
             100'000);
  copy_small(repository() / "examples" / "traces", "packed", 100'000);
  for (const char* file : {"packed/run_rank0_host.json", "packed/run_rank0_device.json"})
    if (std::system((std::string("gzip -f ") + file).c_str()) != 0) std::exit(1);
}
void make_nsys_export() {
  copy_small(repository() / "src" / "traces" / "pytorch" / "corpus" / "fuzz_nsys_profile", "exports",
             100'000);
}
void make_workloads() {
  copy_small(repository() / "src" / "traces" / "convert" / "corpus" / "fuzz_layer_workload", "workloads",
             100'000);
}
void make_foreign_clusters() {
  copy_small(repository() / "src" / "describe" / "cluster" / "corpus" / "fuzz_foreign_cluster", ".", 100'000);
}
void make_kinds() {
  copy_here(repository() / "examples" / "traces" / "run_rank0_device.json", "profile.json");
  write_bytes(
      "kinds.json",
      R"({"my_kernel": "matrix product", "ampere_sgemm": "attention", "elementwise": "copy and fill"})");
}
void make_torch_files() {
  copy_small(repository() / "src" / "files" / "torch_file" / "corpus" / "fuzz_torch_file", "files", 100'000);
  copy_small(shared_data() / "torch-files", "files", 10'000);
  for (const auto& entry : fs::directory_iterator("files"))
    if (entry.path().extension() == ".json") fs::remove(entry.path());
}
void make_config() {
  write_bytes("config.json", kTinyConfig);
}
constexpr std::string_view kSquad =
    R"({"version": "v2.0", "data": [{"title": "t", "paragraphs": [{"context": "a b c",
 "qas": [{"id": "1", "question": "q", "answers": [{"text": "b", "answer_start": 2}], "is_impossible": false}]}]}]})";

void make_checkpoint() {
  write_bytes("tiny.json", R"({"model_type": "gpt2", "vocab_size": 512, "n_positions": 32, "n_embd": 8,
 "n_layer": 1, "n_head": 2})");
  write_bytes("squad.json", kSquad);
  must(
      "train tiny.json --data squad.json --max-steps 1 --batch-size 1 --seq-length 8 --skip-eval --save-dir "
      "run");
}
void make_safetensors() {
  copy_small(repository() / "src" / "files" / "checkpoint" / "corpus" / "fuzz_safetensors_reader", "files",
             100'000);
  make_checkpoint();
  fs::copy_file("run/checkpoint-1/model.safetensors", "files/model.safetensors");
}
void make_shards() {
  make_checkpoint();
  must("checkpoint convert --load-dir run --save-dir shards --to hf --max-shard-size 10KB");
}
void make_megatron_checkpoint() {
  make_checkpoint();
  must("checkpoint convert --load-dir run --save-dir mega --saver mcore --target-tensor-parallel-size 2");
}
void make_distributed_checkpoint() {
  make_checkpoint();
  must("checkpoint convert --load-dir run --save-dir dist --to torch_dist");
}
void make_byte_level_tokenizer() {
  copy_here(repository() / "examples" / "text" / "documents.jsonl", "documents.jsonl");
  must("data tokenizer --vocab-size 300 -o tok");
}
void make_word_tokenizer() {
  copy_here(repository() / "examples" / "text" / "documents.jsonl", "documents.jsonl");
  must("data tokenizer --vocab-size 300 --type wordpiece -o tok");
}
void make_sentencepiece() {
  copy_here(repository() / "examples" / "text" / "documents.jsonl", "documents.jsonl");
  fs::create_directory("tok");
  write_bytes("tok/tokenizer.model", SentencePieceModelForTests().bytes());
}
void make_documents() {
  make_byte_level_tokenizer();
}
void make_dataset() {
  make_byte_level_tokenizer();
  must("data preprocess --input documents.jsonl --tokenizer tok -o set --append-eod");
}
void make_cluster() {
  copy_here(repository() / "examples" / "clusters" / "a100x1-a10x7.json", "cluster.json");
}
void make_layer_times() {
  make_config();
  write_bytes(
      "times.csv",
      "file,n_entries,unit,embedding_s,layer_median_s,layer_min_s,layer_max_s,last_entry_s,all_values\n"
      "T5_A100_1.npy,3,\"s fwd, per sample (mbs=1)\",0.0002,0.001,0.001,0.001,0.002,0.0002 0.001 0.002\n");
}
void make_plan() {
  must("plan gpt2-tiny --cluster dgx-a100 --global-batch-size 8 --seq-length 32 --emit plan.json");
}
void make_fleet() {
  copy_here(repository() / "examples" / "fleet.json", "fleet.json");
}
void make_jobs() {
  copy_small(repository() / "examples" / "jobs", "jobs", 100'000);
}
void make_shell_settings() {
  copy_here(repository() / "examples" / "jobs" / "old", "old");
}
void make_job_logs() {
  copy_here(repository() / "examples" / "logs" / "10932251", "10932251");
}
void make_space() {
  write_bytes("space.json", R"({"parameters": {
    "tensor": {"values": [1, 2, 4, 8], "default": 1, "flag": "--tensor-model-parallel-size"},
    "recompute": {"values": ["none", "full"], "flag": "--recompute-granularity", "omit": ["none"]},
    "layers": {"range": [1, 32], "when": "recompute == 'full'", "flag": "--recompute-num-layers"},
    "threads": {"values": [1, 2], "environment": "OMP_NUM_THREADS"}},
  "derived": {"data": "8 // tensor"},
  "constraints": [{"expression": "8 % tensor == 0", "because": "they must divide"}]})");
}
void make_studies() {
  copy_small(repository() / "src" / "tuning" / "study" / "corpus" / "fuzz_study_journal", "studies", 100'000);
  must("tune --param x=1:4 --trials 3 --metric exit-code --study studies/made.db --no-logs -- test {{x}}");
}
// A model with few weights: those of bert-tiny take a hundred times as long to draw as the file to read.
void make_squad() {
  write_bytes("squad.json", kSquad);
  write_bytes("tiny.json", R"({"model_type": "bert", "vocab_size": 512, "max_position_embeddings": 16,
 "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16,
 "type_vocab_size": 2})");
  must("data tokenizer --input squad.json --vocab-size 300 --type wordpiece -o tok");
}

const std::vector<Reader>& readers() {
  static const std::vector<Reader> kReaders{
      {"chakra",
       make_trace,
       {"step.0.et"},
       {"check {}", "show {}", "convert {} -o out/x.json --format chakra-json --force"},
       true},
      {"chakra-old", make_old_trace, {"old"}, {"check {}", "show {}", "check {} --lenient"}, true},
      {"chakra-json", make_trace_json, {"json"}, {"check {}", "check {} --lenient"}, true},
      {"node-link", make_node_link, {"graph.json"}, {"check {}", "draw {} -o out.dot --force"}, true},
      {"kineto",
       make_profiles,
       {"run_rank0_device.json", "profiles"},
       {"analyze {}", "analyze {} --lenient", "timeline {} -o out.html --force"}},
      {"nsys-export", make_nsys_export, {"exports"}, {"analyze {}", "timeline {} -o out.html --force"}},
      {"kinds", make_kinds, {"kinds.json"}, {"analyze profile.json --kinds {}"}},
      {"pytorch-host",
       make_profiles,
       {"run_rank0_host.json"},
       {"convert --host {} -o out.et --force", "convert --host {} -o out.et --lenient --force"}},
      {"compressed",
       make_compressed,
       {"packed"},
       {"convert --host {} -o out.et --force", "analyze {} --lenient"}},
      {"text-workload",
       make_workloads,
       {"workloads"},
       {"convert {} --ranks 8 -o out/x --force", "convert {} -o out/x --model-group 2 --ranks 4 --force"}},
      {"safetensors", make_safetensors, {"files"}, {"checkpoint show {} --tensors"}},
      {"torch-save",
       make_torch_files,
       {"files"},
       {"checkpoint show {} --tensors", "checkpoint compare {} {}"},
       true},
      {"model-config", make_config, {"config.json"}, {"show {}"}},
      {"checkpoint", make_checkpoint, {"run"}, {"checkpoint show run", "checkpoint show run --tensors"}},
      {"checksums",
       make_checkpoint,
       {"run/checkpoint-1/nadi_checksums.json"},
       {"checkpoint show run --verify", "checkpoint convert --load-dir run --save-dir out --to hf --force"}},
      {"weight-shards",
       make_shards,
       {"shards"},
       {"checkpoint show shards --verify", "checkpoint show shards --tensors"}},
      {"megatron-checkpoint", make_megatron_checkpoint, {"mega"}, {"checkpoint show mega"}},
      {"torch-dist",
       make_distributed_checkpoint,
       {"dist"},
       {"checkpoint show dist", "checkpoint show dist --tensors"}},
      {"byte-level-tokenizer",
       make_byte_level_tokenizer,
       {"tok"},
       {"data preprocess --input documents.jsonl --tokenizer tok -o out --force"}},
      {"wordpiece-tokenizer",
       make_word_tokenizer,
       {"tok"},
       {"data preprocess --input documents.jsonl --tokenizer tok -o out --force"}},
      {"sentencepiece-model",
       make_sentencepiece,
       {"tok/tokenizer.model"},
       {"data preprocess --input documents.jsonl --tokenizer tok -o out --force"}},
      {"json-lines",
       make_documents,
       {"documents.jsonl"},
       {"data preprocess --input {} --tokenizer tok -o out --force",
        "data tokenizer --input {} --vocab-size 300 -o t --force"}},
      {"indexed-dataset",
       make_dataset,
       {"set_text_document.idx", "set_text_document.bin"},
       {"data inspect set_text_document",
        "data index set_text_document --num-samples 8 --seq-length 8 --seed 1 -o maps --force"}},
      {"cluster", make_cluster, {"cluster.json"}, {"clusters {}", "simulate gpt2-tiny --cluster {}"}},
      {"infragraph", make_foreign_clusters, {"graph.json"}, {"simulate gpt2-tiny --cluster {},h100"}},
      {"astra-system",
       make_foreign_clusters,
       {"system.json"},
       {"simulate gpt2-tiny --cluster {},network.yml"}},
      {"astra-network",
       make_foreign_clusters,
       {"network.yml"},
       {"simulate gpt2-tiny --cluster system.json,{}"}},
      {"layer-times",
       make_layer_times,
       {"times.csv"},
       {"simulate config.json --cluster dgx-a100 --layer-times {}"}},
      {"plan", make_plan, {"plan.json"}, {"show --plan {}"}},
      {"fleet",
       make_fleet,
       {"fleet.json"},
       {"plan gpt2-tiny --fleet {} --global-batch-size 8 --seq-length 32"}},
      {"job-file", make_jobs, {"jobs"}, {"job submit {} --dry-run"}},
      {"shell-settings",
       make_shell_settings,
       {"old/_00_conf.sh"},
       {"job submit --from {} --script old/_02_homo_job.sh --dry-run"}},
      {"sbatch-script",
       make_shell_settings,
       {"old/_02_homo_job.sh"},
       {"job submit --from old/_00_conf.sh --script {} --dry-run"}},
      {"job-logs",
       make_job_logs,
       {"10932251"},
       {"job report 10932251", "timeline 10932251/n061.out -o out.html --force"}},
      {"space", make_space, {"space.json"}, {"tune --space {} --metric runtime --dry-run -- test x"}},
      {"study", make_studies, {"studies"}, {"tune show {}", "tune best {}"}, true},
      {"squad",
       make_squad,
       {"squad.json"},
       {"train tiny.json --data {} --tokenizer tok --max-steps 1 --batch-size 1 --max-seq-length 16 "
        "--skip-eval "
        "--threads 1",
        "data tokenizer --input {} --vocab-size 300 --type wordpiece -o t --force"}},
  };
  return kReaders;
}

// What a batch and its parent both see.
struct Shared {
  std::atomic<int> current = 0;  // the damage that is worked on
  std::array<std::atomic<int>, 256> codes = {};
  std::atomic<int> beyond_memory = 0;
  std::atomic<int> unexpected = 0;  // exit codes
  std::atomic<int> same = 0;        // the damage left the file as it was
  std::atomic<long> most_kilobytes = 0;
};

struct Tally {
  int done = 0, signals = 0, beyond = 0, unexpected = 0;
  double seconds = 0;
};

class MutationRun {
 public:
  MutationRun(const Reader& reader, int count, std::uint64_t seed, fs::path findings)
      : reader_(reader), count_(count), seed_(seed), findings_(std::move(findings)) {
    void* page = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) std::abort();
    shared_ = new (page) Shared;
  }
  ~MutationRun() { munmap(shared_, sizeof(Shared)); }

  Tally run() {
    const auto start = Clock::now();
    const TemporaryFolder folder;
    fs::current_path(folder.path());
    if (!make_sources()) return {.unexpected = 1};
    find_files();
    if (!reads_undamaged()) return {.unexpected = 1};
    for (int first = 0; first < count_;) first = run_batch(first, std::min(first + kBatch, count_));
    tally_.done = count_;
    tally_.beyond += shared_->beyond_memory;
    tally_.unexpected += shared_->unexpected;
    tally_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    print();
    fs::current_path("/");
    return tally_;
  }

 private:
  // In a child: a command may start threads, which a child of this program would not have.
  bool make_sources() const {
    const pid_t child = fork();
    if (child == 0) {
      reader_.make();
      std::_Exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status == 0) return true;
    std::printf("%-22.*s the sources cannot be made\n", static_cast<int>(reader_.name.size()),
                reader_.name.data());
    return false;
  }

  void find_files() {
    for (const std::string& name : reader_.damaged) {
      if (!fs::is_directory(name)) {
        files_.emplace_back(name);
        continue;
      }
      for (const auto& entry : fs::recursive_directory_iterator(name))
        if (entry.is_regular_file() && !entry.is_symlink()) files_.push_back(entry.path());
    }
    std::ranges::sort(files_);
    for (const fs::path& file : files_) originals_.push_back(read_bytes(file));
  }

  // Whether every command succeeds with some file as it is: else damages would be tried on nothing.
  bool reads_undamaged() const {
    bool all = true;
    for (std::size_t turn = 0; turn < reader_.commands.size(); ++turn) {
      const pid_t child = fork();
      if (child == 0) {
        std::string errors;
        for (std::size_t file = 0; file < files_.size(); ++file) {
          const CliRun done = nadi::run(command_of(static_cast<int>(turn * files_.size() + file)));
          if (done.code == 0) std::_Exit(0);
          errors = done.err;
        }
        std::printf("%s\n%s", reader_.commands[turn].c_str(), errors.c_str());
        std::fflush(stdout);
        std::_Exit(1);
      }
      int status = 0;
      waitpid(child, &status, 0);
      all = all && status == 0;
    }
    if (!all)
      std::printf("%-22.*s refuses undamaged files\n", static_cast<int>(reader_.name.size()),
                  reader_.name.data());
    return all;
  }

  // Gives the first damage that is left to do.
  int run_batch(int first, int end) {
    shared_->current = first;
    const pid_t child = fork();
    if (child == 0) work(first, end);
    int seen = first, status = 0;
    struct rusage usage {};
    auto since = Clock::now();
    while (wait4(child, &status, WNOHANG, &usage) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (const int now = shared_->current; now != seen) seen = now, since = Clock::now();
      if (Clock::now() - since < kLongestWait) continue;
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      break;
    }
    shared_->most_kilobytes = std::max<long>(shared_->most_kilobytes, usage.ru_maxrss);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return end;
    const int at = shared_->current;
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const bool slow = signal == SIGPROF || signal == SIGKILL;
    ++(slow ? tally_.beyond : tally_.signals);
    keep(at, slow ? "over 20 s" : signal != 0 ? strsignal(signal) : "left the program");
    restore();
    return at + 1;
  }

  [[noreturn]] void work(int first, int end) {
    const struct rlimit memory { .rlim_cur = kMostMemory, .rlim_max = kMostMemory };
    setrlimit(RLIMIT_DATA, &memory);
    const struct rlimit no_core {};
    setrlimit(RLIMIT_CORE, &no_core);
    for (int number = first; number < end; ++number) {
      shared_->current = number;
      const struct itimerval timer {
        .it_interval = {}, .it_value = {.tv_sec = kMostSeconds, .tv_usec = 0 }
      };
      setitimer(ITIMER_PROF, &timer, nullptr);
      try_one(number);
    }
    std::_Exit(0);
  }

  std::size_t file_of(int number) const { return static_cast<std::size_t>(number) % files_.size(); }
  std::string damaged(int number) const {
    return Mutator(seed_).mutate(originals_[file_of(number)], static_cast<std::uint64_t>(number));
  }
  std::string command_of(int number) const {
    const auto turn = static_cast<std::size_t>(number) / files_.size() % reader_.commands.size();
    std::string command = reader_.commands[turn];
    for (std::size_t at; (at = command.find("{}")) != std::string::npos;)
      command.replace(at, 2, files_[file_of(number)].string());
    return command;
  }

  void try_one(int number) {
    const std::size_t file = file_of(number);
    write_bytes(files_[file], damaged(number));
    const CliRun done = nadi::run(command_of(number));
    write_bytes(files_[file], originals_[file]);
    ++shared_->codes[static_cast<std::size_t>(done.code) & 0xff];
    if (done.err.find("out of memory: the program had") != std::string::npos) {
      ++shared_->beyond_memory;
      keep(number, "over 2 GiB");
    }
    const bool allowed =
        done.code == 0 || (done.code >= 2 && done.code <= 5) || (done.code == 1 && reader_.may_fail);
    if (allowed) return;
    ++shared_->unexpected;
    keep(number, "exit code " + std::to_string(done.code) + ": " + done.err.substr(0, 200));
  }

  void restore() const {
    for (std::size_t i = 0; i < files_.size(); ++i) write_bytes(files_[i], originals_[i]);
  }

  void keep(int number, const std::string& why) const {
    std::string name(reader_.name);
    name += "." + std::to_string(number);
    fs::create_directories(findings_);
    write_bytes(findings_ / name, damaged(number));
    std::printf("finding: %s (%s): nadi %s: %s\n", name.c_str(), files_[file_of(number)].c_str(),
                command_of(number).c_str(), why.c_str());
    std::fflush(stdout);
  }

  void print() const {
    std::string codes;
    for (std::size_t code = 0; code < shared_->codes.size(); ++code)
      if (const int count = shared_->codes[code])
        codes += (codes.empty() ? "" : ", ") + std::to_string(code) + ": " + std::to_string(count);
    std::printf(
        "%-22.*s %6d damages of %2zu files: %d signals, %d beyond 20 s or 2 GiB, %d unexpected; codes %s; "
        "%.1f s, %ld MB\n",
        static_cast<int>(reader_.name.size()), reader_.name.data(), tally_.done, files_.size(),
        tally_.signals, tally_.beyond, tally_.unexpected, codes.c_str(), tally_.seconds,
        shared_->most_kilobytes / 1024);
    std::fflush(stdout);
  }

  const Reader& reader_;
  int count_;
  std::uint64_t seed_;
  fs::path findings_;
  Shared* shared_;
  Tally tally_;
  std::vector<fs::path> files_;
  std::vector<std::string> originals_;
};

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

int main_of(std::vector<std::string> words) {
  int count = 200;
  std::uint64_t seed = 1;
  std::string only;
  fs::path findings = fs::current_path() / "mutation-findings";
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    const std::optional<std::uint64_t> number = number_of(words[i + 1]);
    if (words[i] == "--count" && number)
      count = static_cast<int>(*number);
    else if (words[i] == "--seed" && number)
      seed = *number;
    else if (words[i] == "--only")
      only = words[i + 1];
    else if (words[i] == "--findings")
      findings = fs::absolute(words[i + 1]);
    else
      return std::fprintf(stderr, "unknown: %s %s\n", words[i].c_str(), words[i + 1].c_str()), 2;
  }
  int bad = 0, ran = 0;
  for (const Reader& reader : readers()) {
    if (!only.empty() && reader.name != only) continue;
    const Tally tally = MutationRun(reader, count, seed, findings).run();
    bad += tally.signals + tally.beyond + tally.unexpected;
    ++ran;
  }
  if (ran == 0) return std::fprintf(stderr, "no reader is called %s\n", only.c_str()), 2;
  std::printf("%d readers, %d damages each: %d findings\n", ran, count, bad);
  return bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace nadi

int main(int argc, char** argv) {
  return nadi::main_of({argv + 1, argv + argc});
}
