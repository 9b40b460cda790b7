#include "nadi/text/tokenizers_for_tests.h"

#include <random>
#include <sstream>

#include "nadi/base/json.h"
#include "nadi/testing/source_folder.h"
#include "nadi/text/byte_alphabet.h"
#include "nadi/text/utf8.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

// The files of a real vocabulary under the names that load_tokenizer() looks for.
std::unique_ptr<Tokenizer> load_renamed(std::initializer_list<std::pair<const char*, const char*>> files) {
  const auto data = real_data();
  if (!data) return nullptr;
  const TemporaryFolder folder;
  for (const auto& [real, name] : files) {
    if (!fs::exists(*data / "vocab" / real)) return nullptr;
    fs::create_symlink(fs::absolute(*data / "vocab" / real), folder.path() / name);
  }
  return load_tokenizer(folder.path());
}

}  // namespace

void write_files(const fs::path& folder, const std::vector<std::pair<std::string, std::string>>& files) {
  for (const auto& [name, contents] : files) write_text(folder / name, contents);
}

std::optional<fs::path> real_data() {
  const fs::path path = shared_data();
  if (!fs::exists(path)) return std::nullopt;
  return path;
}

const Tokenizer* real_gpt2() {
  static const auto tokenizer =
      load_renamed({{"gpt2-vocab.json", "vocab.json"}, {"gpt2-merges.txt", "merges.txt"}});
  return tokenizer.get();
}

const Tokenizer* real_bert() {
  static const auto tokenizer = load_renamed({{"bert-base-uncased-vocab.txt", "vocab.txt"}});
  return tokenizer.get();
}

std::string byte_vocabulary_json(const std::vector<std::string>& further) {
  Json vocabulary = Json::object();
  for (const std::uint8_t byte : byte_alphabet_order())
    vocabulary[to_byte_alphabet(std::string(1, static_cast<char>(byte)))] = vocabulary.size();
  for (const std::string& token : further) vocabulary[token] = vocabulary.size();
  return vocabulary.dump();
}

std::string random_text(std::uint32_t seed, std::size_t characters) {
  struct Range {
    char32_t first;
    char32_t last;
  };
  static constexpr std::array kRanges{
      Range{'a', 'z'},         Range{'A', 'Z'},          Range{'0', '9'},         Range{' ', ' '},
      Range{' ', '@'},         Range{0x00, 0x20},        Range{'\'', '\''},       Range{'l', 'v'},
      Range{'\n', '\r'},       Range{0x7F, 0xFF},        Range{0x100, 0x17F},     Range{0x300, 0x36F},
      Range{0x391, 0x3C9},     Range{0x410, 0x44F},      Range{0x5D0, 0x5EA},     Range{0x620, 0x66F},
      Range{0x900, 0x97F},     Range{0xE01, 0xE5B},      Range{0x1100, 0x1112},   Range{0x1680, 0x1681},
      Range{0x180B, 0x180E},   Range{0x1E00, 0x1EFF},    Range{0x2000, 0x2070},   Range{0x2150, 0x2189},
      Range{0x2460, 0x2473},   Range{0x3000, 0x3029},    Range{0x3041, 0x30FF},   Range{0x4E00, 0x4EFF},
      Range{0xAC00, 0xAC80},   Range{0xF900, 0xF910},    Range{0xFE00, 0xFE0F},   Range{0xFEFF, 0xFEFF},
      Range{0xFFFD, 0xFFFD},   Range{0x1D400, 0x1D7FF},  Range{0x1F300, 0x1F64F}, Range{0x20000, 0x20010},
      Range{0xE0001, 0xE0020}, Range{0x10FFFE, 0x10FFFF}};
  std::mt19937 random(seed);
  const auto below = [&](std::size_t bound) { return random() % bound; };
  // A few kinds per text, so that runs and neighbours of the same kinds come up often.
  std::vector<Range> kinds;
  for (std::size_t i = 0, count = 1 + below(5); i < count; ++i)
    kinds.push_back(kRanges[below(kRanges.size())]);
  std::string text;
  for (std::size_t i = 0; i < characters; ++i) {
    const Range range = kinds[below(kinds.size())];
    append_utf8(range.first + static_cast<char32_t>(below(range.last - range.first + 1)), text);
  }
  return text;
}

}  // namespace nadi::inline files
