#include "nadi/data/preprocess.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <system_error>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/data/document_encoder.h"
#include "nadi/data/indexed_dataset_writer.h"
#include "nadi/data/line_blocks.h"
#include "nadi/data/ordered_workers.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

// What travels from the reader through a worker to the writer, and back to be used again.
struct Work {
  const std::string* file = nullptr;
  LineBlock lines = {};
  EncodedDocuments documents = {};
};

// Takes away the folders that were made for files that did not come about.
class MadeFolders {
 public:
  explicit MadeFolders(fs::path folder) {
    std::error_code ignored;
    for (; !folder.empty() && !fs::exists(folder, ignored); folder = folder.parent_path())
      made_.push_back(folder);
  }
  ~MadeFolders() {
    std::error_code ignored;
    for (const fs::path& folder : made_) fs::remove(folder, ignored);  // only when it is empty
  }
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;
  void keep() { made_.clear(); }

 private:
  std::vector<fs::path> made_;  // innermost first
};

void check_keys(const std::vector<std::string>& keys) {
  for (auto key = keys.begin(); key != keys.end(); ++key) {
    if (key->empty() || key->find('/') != std::string::npos)
      throw usage_error(format("'{}' cannot be a part of a file name", *key), "the key names the dataset");
    if (std::find(keys.begin(), key, *key) != key) throw usage_error(format("key '{}' is given twice", *key));
  }
}

DocumentEncoderOptions encoder_options(const PreprocessOptions& options, const Tokenizer& tokenizer) {
  const SpecialTokens& special = tokenizer.special_tokens();
  DocumentEncoderOptions result{
      .keys = options.keys, .split_sentences = options.split_sentences, .gap = options.gap};
  if (options.append_end && !special.end)
    throw usage_error("the tokenizer has no token that ends a document",
                      "tokenizers of BERT have none: do not append it");
  if (options.append_end) result.end_of_document = special.end;
  if (options.add_special_tokens) {
    result.before = special.begin ? special.begin : special.classify;
    if (!special.begin) result.after = special.separate;
  }
  return result;
}

class Run {
 public:
  Run(const PreprocessOptions& options, const Tokenizer& tokenizer,
      const std::function<void(const PreprocessProgress&)>& on_document)
      : options_(options), on_document_(on_document), dtype_(indexed_dtype_for(tokenizer.vocabulary_size())) {
    check_keys(options.keys);
    const DocumentEncoderOptions encoding = encoder_options(options, tokenizer);
    for (int i = 0; i < options.workers; ++i) encoders_.emplace_back(tokenizer, encoding);
    for (const std::string& key : options.keys)
      writers_.emplace_back(
          format("{}_{}_{}", options.output_prefix, key, options.split_sentences ? "sentence" : "document"),
          dtype_, options.overwrite);
    empty_documents_.resize(options.keys.size());
  }

  PreprocessReport run() {
    {
      OrderedWorkers<Work> workers(options_.workers, [&](Work& work, int worker) {
        encoders_[static_cast<std::size_t>(worker)].encode(work.lines, *work.file, work.documents);
      });
      for (const fs::path& input : options_.inputs) read(input, workers);
      while (const auto work = workers.next()) write(work->documents);
    }
    report_progress();  // the last chance to be interrupted, where there is no document at all
    if (progress_.documents == 0) refuse_empty();
    IndexedDatasetWriter::commit_together(writers_);
    return report();
  }

 private:
  void read(const fs::path& input, OrderedWorkers<Work>& workers) {
    names_.push_back(input.string());
    LineBlockReader reader(input, {.on_signal = [&] { report_progress(); }});
    for (std::unique_ptr<Work> work;;) {
      if (work == nullptr) work = std::make_unique<Work>();
      if (!reader.next(work->lines)) return;
      work->file = &names_.back();
      std::unique_ptr<Work> used;
      if (workers.is_full()) {
        used = workers.next();
        write(used->documents);
      }
      workers.submit(std::move(work));
      work = std::move(used);
    }
  }

  void write(const EncodedDocuments& block) {
    struct Position {
      std::size_t token = 0;
      std::size_t sequence = 0;
    };
    std::vector<Position> positions(block.keys.size());
    for (std::size_t document = 0; document < block.line_bytes.size(); ++document) {
      for (std::size_t key = 0; key < block.keys.size(); ++key) {
        const EncodedTexts& texts = block.keys[key];
        Position& at = positions[key];
        const auto sequences = static_cast<std::size_t>(texts.sequences[document]);
        const auto lengths = std::span(texts.lengths).subspan(at.sequence, sequences);
        std::size_t tokens = 0;
        for (const std::int64_t length : lengths) tokens += static_cast<std::size_t>(length);
        writers_[key].add_document(std::span(texts.tokens).subspan(at.token, tokens), lengths);
        empty_documents_[key] += sequences == 0;
        at.token += tokens;
        at.sequence += sequences;
      }
      ++progress_.documents;
      progress_.read += Bytes{block.line_bytes[document]};
      report_progress();
    }
  }

  [[noreturn]] void refuse_empty() const {
    const std::size_t files = options_.inputs.size();
    const Place place{.file = files == 1 ? options_.inputs[0].string()
                                         : options_.inputs[0].parent_path().string()};
    throw input_error(place,
                      files == 1 ? "the file is empty: there is no document"
                                 : format("all {} files are empty: there is no document", files),
                      R"(a document is a line: {"text": "..."})");
  }

  void report_progress() const {
    if (on_document_) on_document_(progress_);
  }

  PreprocessReport report() const {
    PreprocessReport report{.documents = progress_.documents,
                            .read = progress_.read,
                            .token_type = dtype_ == IndexedDType::kU16 ? "uint16" : "int32",
                            .datasets = {}};
    for (std::size_t key = 0; key < writers_.size(); ++key)
      report.datasets.push_back({.key = options_.keys[key],
                                 .bin = writers_[key].bin_path(),
                                 .idx = writers_[key].idx_path(),
                                 .sequences = writers_[key].sequences(),
                                 .tokens = writers_[key].tokens(),
                                 .empty_documents = empty_documents_[key]});
    return report;
  }

  const PreprocessOptions& options_;
  const std::function<void(const PreprocessProgress&)>& on_document_;
  IndexedDType dtype_;
  std::vector<DocumentEncoder> encoders_;      // by worker
  std::vector<IndexedDatasetWriter> writers_;  // by key
  std::vector<std::int64_t> empty_documents_;
  std::deque<std::string> names_;  // of the inputs; blocks point to them
  PreprocessProgress progress_;
};

}  // namespace

PreprocessReport preprocess(const PreprocessOptions& options, const Tokenizer& tokenizer,
                            const std::function<void(const PreprocessProgress&)>& on_document) {
  MadeFolders folders(fs::path(options.output_prefix + "_").parent_path());
  const PreprocessReport report = Run(options, tokenizer, on_document).run();
  folders.keep();
  return report;
}

std::vector<fs::path> find_json_lines(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return {path};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    const fs::path extension = entry.path().extension();
    if (extension == ".jsonl" || extension == ".json") files.push_back(entry.path());
  }
  if (files.empty())
    throw input_error({.file = path.string()}, "the folder has no file that ends with .jsonl or .json");
  std::ranges::sort(files);
  return files;
}

Bytes total_size(std::span<const fs::path> files) {
  Bytes total;
  for (const fs::path& file : files) {
    std::error_code failed;
    const std::uintmax_t size = fs::file_size(file, failed);
    if (!failed) total += Bytes{static_cast<std::int64_t>(size)};
  }
  return total;
}

}  // namespace nadi::inline files
