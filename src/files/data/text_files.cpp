#include "nadi/data/text_files.h"

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/nearest.h"
#include "nadi/data/line_reader.h"
#include "nadi/data/squad.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

TextSource lines_of(const fs::path& path, std::string_view /*key*/) {
  // Shared by the copies of the source: std::function needs what can be copied.
  const auto lines = std::make_shared<LineReader>(path);
  return [lines](std::string& text) {
    if (!lines->next()) return false;
    text = lines->line();
    return true;
  };
}

std::string text_of_line(const LineReader& lines, const std::string& key) {
  try {
    const JsonDocument document = parse_json(std::string(lines.line()), lines.place().file);
    return document.root().at(key).as_string();
  } catch (const Error& error) {
    // The document is one line: its line 1 is this one.
    Place place = lines.place();
    place.column = error.place().column;
    throw input_error(std::move(place), error.message(), error.hint());
  }
}

TextSource json_lines_of(const fs::path& path, std::string_view key) {
  const auto lines = std::make_shared<LineReader>(path);  // shared as above
  return [lines, name = std::string(key)](std::string& text) {
    while (lines->next()) {
      if (lines->line().find_first_not_of(" \t") == std::string_view::npos) continue;
      text = text_of_line(*lines, name);
      return true;
    }
    return false;
  };
}

TextSource squad_texts_of(const fs::path& path, std::string_view /*key*/) {
  return texts_of(read_squad(path));
}

struct TextFormat {
  std::string_view extension;
  TextSource (*open)(const fs::path& path, std::string_view key);
};

constexpr std::array kFormats{
    TextFormat{".txt", &lines_of},
    TextFormat{".jsonl", &json_lines_of},
    TextFormat{".json", &squad_texts_of},
};

const TextFormat& format_of(const fs::path& path) {
  const std::string extension = path.extension().string();
  std::array<std::string_view, kFormats.size()> known;
  for (std::size_t i = 0; i < kFormats.size(); ++i) {
    if (kFormats[i].extension == extension) return kFormats[i];
    known[i] = kFormats[i].extension;
  }
  throw input_error({.file = path.string()},
                    extension.empty() ? "the name does not tell what kind of text the file has"
                                      : format("files that end with {} are not known as text", extension),
                    did_you_mean(extension, known));
}

}  // namespace

TextSource read_texts(const fs::path& path, std::string_view key) {
  return [file = path.string(), source = format_of(path).open(path, key),
          empty = true](std::string& text) mutable {
    while (source(text)) {
      if (text.empty()) continue;
      empty = false;
      return true;
    }
    if (empty) throw input_error({.file = file}, "there is no text in the file");
    return false;
  };
}

TextSource texts_of(SquadSet set) {
  // Shared, so that copies of the source need not copy the texts.
  const auto shared = std::make_shared<const SquadSet>(std::move(set));
  return [shared, next = std::size_t{0}](std::string& text) mutable {
    const std::size_t paragraphs = shared->paragraphs.size();
    if (next == paragraphs + shared->questions.size()) return false;
    text = next < paragraphs ? shared->paragraphs[next].context : shared->questions[next - paragraphs].text;
    ++next;
    return true;
  };
}

}  // namespace nadi::inline files
