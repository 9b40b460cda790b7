// How fast `nadi data preprocess` is with one worker and with two, and whether its memory stays flat: JSON
// lines of English text (the contexts of a SQuAD file where one is found, made-up words otherwise) through
// GPT-2's tokenizer (vocab/gpt2 where scripts/get_vocab.sh put it, else one trained on the text).
//
//   preprocess_bench [MEGABYTES]     100 if nothing is said; run in the root of the repository
//
// A program of its own rather than a loop: what it measures is one large file.

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/data/preprocess.h"
#include "nadi/data/squad.h"
#include "nadi/text/bpe_trainer.h"
#include "nadi/text/tokenizer.h"

namespace nadi {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> documents() {
  std::vector<std::string> texts;
  if (const fs::path squad = "../shared/data/squad/dev-v2.0-excerpt.json"; fs::exists(squad)) {
    for (const SquadParagraph& paragraph : read_squad(squad).paragraphs) texts.push_back(paragraph.context);
    return texts;
  }
  for (std::size_t i = 0; i < 200; ++i) {
    std::string& text = texts.emplace_back();
    for (std::size_t word = 0; word < 300; ++word)
      text += "abcdefghijklmnopqrstuvwxyz"[(i * word) % 26] + std::to_string(word * i % 997) + " words ";
  }
  return texts;
}

void write_lines(const fs::path& path, const std::vector<std::string>& texts, std::int64_t bytes) {
  std::ofstream out(path, std::ios::binary);
  for (std::size_t i = 0; out.tellp() < bytes; ++i)
    out << Json{{"id", i}, {"text", texts[i % texts.size()]}}.dump() << '\n';
}

struct rusage used() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

double cpu_seconds() {
  const struct rusage usage = used();
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int run(std::int64_t megabytes) {
  const fs::path folder = fs::temp_directory_path() / ("nadi_preprocess_bench." + std::to_string(getpid()));
  fs::create_directory(folder);
  const std::vector<std::string> texts = documents();
  const auto tokenizer =
      has_tokenizer("vocab/gpt2") ? load_tokenizer("vocab/gpt2") : train_bpe(text_of(texts), {});
  write_lines(folder / "in.jsonl", texts, megabytes * 1'000'000);
  for (const int workers : {1, 2}) {
    const auto start = std::chrono::steady_clock::now();
    const double cpu_start = cpu_seconds();
    const PreprocessReport report = preprocess({.inputs = {folder / "in.jsonl"},
                                                .output_prefix = (folder / "out").string(),
                                                .append_end = true,
                                                .workers = workers,
                                                .overwrite = Overwrite::kAllow},
                                               *tokenizer);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const double megabytes_read = static_cast<double>(report.read.count()) / 1e6;
    std::cout << workers << " workers: " << megabytes_read / seconds.count() << " MB/s, "
              << megabytes_read / (cpu_seconds() - cpu_start) << " MB per second of a core, "
              << report.datasets[0].tokens << " tokens; peak memory so far " << used().ru_maxrss / 1000
              << " MB\n";
  }
  fs::remove_all(folder);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace nadi

int main(int argc, char** argv) {
  return nadi::run(argc > 1 ? std::atoll(argv[1]) : 100);
}
