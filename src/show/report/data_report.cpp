#include "nadi/report/data_report.h"

#include <algorithm>

#include "nadi/base/format.h"
#include "nadi/base/version.h"
#include "nadi/data/dataset_figures.h"
#include "nadi/data/indexed_dataset.h"
#include "nadi/data/learn_tokenizer.h"
#include "nadi/data/write_index_maps.h"

namespace nadi::inline show {
namespace {

constexpr double kMegabyte = 1e6;

Json names_json(const std::vector<std::filesystem::path>& paths) {
  Json names = Json::array();
  for (const std::filesystem::path& path : paths) names.push_back(path.string());
  return names;
}

}  // namespace

std::string tokenizer_text(const LearnedTokenizer& learned) {
  return format("{}: {} tokens, learnt from {} texts, {}\n", learned.folder.string(),
                with_thousands(learned.vocabulary), with_thousands(learned.texts.texts),
                to_string(learned.texts.bytes));
}

Json tokenizer_json(const LearnedTokenizer& learned) {
  return {{"nadi_version", version()},
          {"type", learned.kind},
          {"input", learned.input ? Json(learned.input->string()) : Json(nullptr)},
          {"texts", learned.texts.texts},
          {"text_bytes", learned.texts.bytes.count()},
          {"vocabulary", learned.vocabulary},
          {"files", names_json(learned.files)}};
}

std::string preprocess_text(const PreprocessRun& run) {
  const PreprocessReport& report = run.report;
  std::string text = format("{} documents, {}, in {:.1f} s: {:.1f} MB/s\n", with_thousands(report.documents),
                            to_string(report.read), run.seconds,
                            static_cast<double>(report.read.count()) / run.seconds / kMegabyte);
  for (const PreprocessedDataset& dataset : report.datasets) {
    text += format("{}, .idx: {} tokens ({}) in {} sequences\n", dataset.bin.string(),
                   with_thousands(dataset.tokens), report.token_type, with_thousands(dataset.sequences));
    if (dataset.empty_documents > 0)
      text += format("  {} of the documents have no tokens\n", with_thousands(dataset.empty_documents));
  }
  return text;
}

Json preprocess_json(const PreprocessRun& run) {
  const PreprocessReport& report = run.report;
  Json datasets = Json::array();
  for (const PreprocessedDataset& dataset : report.datasets)
    datasets.push_back({{"key", dataset.key},
                        {"bin", dataset.bin.string()},
                        {"idx", dataset.idx.string()},
                        {"sequences", dataset.sequences},
                        {"tokens", dataset.tokens},
                        {"empty_documents", dataset.empty_documents}});
  return {{"nadi_version", version()},       {"input", run.input},
          {"tokenizer", run.tokenizer},      {"vocabulary", run.vocabulary},
          {"documents", report.documents},   {"input_bytes", report.read.count()},
          {"workers", run.workers},          {"seconds", run.seconds},
          {"token_type", report.token_type}, {"datasets", std::move(datasets)}};
}

std::string index_maps_text(const IndexMaps& maps) {
  std::string text = format("{}: {} samples of {} documents", maps.dataset, with_thousands(maps.samples),
                            with_thousands(maps.documents));
  if (maps.epochs) text += format(", {} times", with_thousands(*maps.epochs));
  text += "\n";
  for (const std::filesystem::path& file : maps.files) text += file.string() + "\n";
  return text;
}

Json index_maps_json(const IndexMaps& maps, const IndexMapOptions& options) {
  return {{"nadi_version", version()},
          {"dataset", maps.dataset},
          {"kind", to_string(options.kind)},
          {"split", options.weights},
          {"part", kDatasetParts.at(options.part).name},
          {"seed", options.seed},
          {"seq_length", options.seq_length},
          {"documents", maps.documents},
          {"epochs", maps.epochs ? Json(*maps.epochs) : Json(nullptr)},
          {"samples", maps.samples},
          {"files", names_json(maps.files)}};
}

std::string dataset_text(const IndexedDataset& dataset, const DatasetFigures& figures) {
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    text += format("  {:<14} {}\n", name, value);
  };
  line("documents", with_thousands(dataset.documents()) +
                        (figures.empty_documents > 0
                             ? format(", {} of them empty", with_thousands(figures.empty_documents))
                             : ""));
  line("sequences", with_thousands(dataset.sequences()) + (dataset.has_modes() ? ", with modes" : ""));
  line("tokens", with_thousands(dataset.tokens()));
  line("lengths", format("{} to {}, {:.1f} on average", with_thousands(figures.shortest),
                         with_thousands(figures.longest), figures.mean_length));
  line("largest token", figures.largest_token < 0 ? "none" : with_thousands(figures.largest_token));
  line("type", std::string(dataset.dtype().name));
  line("files", format(".idx of {}, .bin of {}; they fit together", to_string(dataset.index_bytes()),
                       to_string(dataset.data_bytes())));
  line("index maps", figures.index_maps.empty() ? "none" : figures.index_maps.front());
  for (std::size_t i = 1; i < figures.index_maps.size(); ++i) line("", figures.index_maps[i]);
  return text;
}

Json dataset_json(const IndexedDataset& dataset, const DatasetFigures& figures) {
  return {{"nadi_version", version()},
          {"dataset", dataset.prefix()},
          {"dtype", dataset.dtype().name},
          {"documents", dataset.documents()},
          {"empty_documents", figures.empty_documents},
          {"sequences", dataset.sequences()},
          {"tokens", dataset.tokens()},
          {"shortest", figures.shortest},
          {"longest", figures.longest},
          {"mean_length", figures.mean_length},
          {"largest_token", figures.largest_token < 0 ? Json(nullptr) : Json(figures.largest_token)},
          {"has_modes", dataset.has_modes()},
          {"index_bytes", dataset.index_bytes().count()},
          {"data_bytes", dataset.data_bytes().count()},
          {"index_maps", figures.index_maps}};
}

std::string document_text(const std::vector<std::string>& texts) {
  std::string lines;
  for (const std::string& text : texts) lines += text + "\n";
  const auto controls = [](char letter) {
    return (static_cast<unsigned char>(letter) < ' ' && letter != '\n' && letter != '\t') || letter == 127;
  };
  std::replace_if(lines.begin(), lines.end(), controls, '?');
  return lines;
}

std::string document_json_line(const std::vector<std::string>& texts) {
  const Json line{{"text", texts.size() == 1 ? Json(texts.front()) : Json(texts)}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string document_tokens(const IndexedDataset& dataset, std::int64_t document) {
  std::string lines;
  for (std::int64_t i = dataset.first_sequence(document); i < dataset.first_sequence(document + 1); ++i)
    lines += format("{}\n", fmt::join(dataset.tokens(i), " "));
  return lines;
}

}  // namespace nadi::inline show
