#include <sentencepiece_processor.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <system_error>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/read_error.h"
#include "nadi/base/units.h"
#include "nadi/text/sentencepiece_files.h"
#include "nadi/text/sentencepiece_model.h"
#include "nadi/text/utf8.h"

// The library has this function and no header that declares it.
namespace sentencepiece::logging {
void SetMinLogLevel(int level);
}

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModelFile = "tokenizer.model", kConfigFile = "tokenizer_config.json";
// Larger than any model: those of 256,000 pieces have 5 MB.
constexpr std::uintmax_t kMostBytes = std::uintmax_t{256} << 20;
constexpr std::array<std::string_view, 3> kKindNames{"llama2", "gpt", "megatron"};

std::string read_bytes(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  std::ifstream in(path, std::ios::binary);
  if (error || !in) throw read_error(path.string(), error ? error.value() : errno);
  if (size > kMostBytes)
    throw input_error({.file = path.string()},
                      format("a SentencePiece model of {} bytes; the limit is {}", size, kMostBytes));
  std::string bytes(size, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(size));
  if (static_cast<std::uintmax_t>(in.gcount()) != size)
    throw input_error({.file = path.string()}, "cannot be read");
  return bytes;
}

class SentencePieceTokenizer : public Tokenizer {
 public:
  SentencePieceTokenizer(std::string model, SentencePieceKind kind, const std::string& file)
      : model_(std::move(model)), kind_(kind) {
    space_at_cut_ = check_sentencepiece_model(model_, file);
    constexpr int kFatalOnly = 3;  // what is wrong with a file is said in our own words
    sentencepiece::logging::SetMinLogLevel(kFatalOnly);
    const auto status = processor_.LoadFromSerializedProto(model_);
    if (!status.ok())
      throw input_error({.file = file}, format("no SentencePiece model: {}", status.error_message()));
    size_ = processor_.GetPieceSize();
    const auto of = [](int id) { return id < 0 ? std::nullopt : std::optional<TokenId>(id); };
    special_.unknown = of(processor_.unk_id());
    special_.padding = of(processor_.pad_id());
    special_.end = of(processor_.eos_id());
    if (kind == SentencePieceKind::kLlama2) special_.begin = of(processor_.bos_id());
    if (kind == SentencePieceKind::kMegatron) add_megatron_tokens();
  }

  using Tokenizer::encode;
  void encode(std::string_view text, std::vector<TokenId>& ids) const override {
    require_utf8(text);
    while (!added_.empty()) {
      // The first of them in the text, and of several there the one that was added first.
      const Added* found = nullptr;
      std::size_t place = std::string_view::npos;
      for (const Added& token : added_) {
        const std::size_t at = text.find(token.text);
        if (at < place) found = &token, place = at;
      }
      if (found == nullptr) break;
      encode_pieces(text.substr(0, place), ids);
      ids.push_back(found->id);
      text.remove_prefix(place + found->text.size());
    }
    encode_pieces(text, ids);
  }

  std::string decode(std::span<const TokenId> ids) const override {
    for (const TokenId id : ids)
      if (id < 0 || id >= vocabulary_size())
        throw input_error({}, format("token {} is outside of the vocabulary of {}", id, vocabulary_size()));
    std::string text;
    std::vector<int> pieces;  // not decoded yet
    bool first = true;
    const auto flush = [&] {
      if (!pieces.empty()) text += decode_pieces(pieces, first);
      pieces.clear();
    };
    for (std::size_t i = 0; i < ids.size();) {
      if (ids[i] >= size_) {  // as Megatron does
        flush();
        text += " " + text_of(ids[i]) + " ";
        first = true;
        ++i;
        continue;
      }
      // Bytes that are no whole character are given as they are, where the library would put U+FFFD.
      std::string bytes;
      std::size_t end = i;
      while (end < ids.size() && ids[end] < size_ && processor_.IsByte(ids[end]))
        bytes += byte_of(ids[end++]);
      if (find_invalid_utf8(bytes) != std::string_view::npos) {
        flush();
        text += bytes;
        first = false;
        i = end;
        continue;
      }
      end = std::max(end, i + 1);
      for (; i < end; ++i) pieces.push_back(ids[i]);
    }
    flush();
    return text;
  }

  std::int64_t vocabulary_size() const override { return size_ + static_cast<std::int64_t>(new_tokens_); }
  const SpecialTokens& special_tokens() const override { return special_; }
  bool is_special(TokenId id) const override {
    return id >= size_ || processor_.IsControl(id) || processor_.IsUnknown(id) ||
           std::ranges::any_of(added_, [&](const Added& token) { return token.id == id; });
  }

  std::vector<std::pair<std::string, std::string>> files() const override {
    Json config{{"tokenizer_class", "LlamaTokenizer"},
                {"add_bos_token", kind_ == SentencePieceKind::kLlama2},
                {"add_eos_token", false},
                {"nadi_kind", kKindNames[static_cast<std::size_t>(kind_)]}};
    return {{std::string(kModelFile), model_}, {std::string(kConfigFile), config.dump(2) + "\n"}};
  }

 private:
  struct Added {
    std::string text;
    TokenId id;
  };

  // Part by part: the library holds some 250 bytes for each byte of a text.
  void encode_pieces(std::string_view text, std::vector<TokenId>& ids) const {
    for (const std::string_view part : cut_text(text, space_at_cut_, kPart)) encode_part(part, ids);
  }

  void encode_part(std::string_view text, std::vector<TokenId>& ids) const {
    if (text.size() > kMostUncut)
      throw input_error({},
                        format("a text of {} bytes cannot be cut at the spaces between its words; the limit "
                               "is {}, since SentencePiece takes some 250 bytes of memory for each",
                               with_thousands(static_cast<std::int64_t>(text.size())),
                               with_thousands(static_cast<std::int64_t>(kMostUncut))),
                        "is it text? break it into lines");
    std::vector<int> pieces;
    const auto status = processor_.Encode(text, &pieces);
    if (!status.ok()) throw input_error({}, format("SentencePiece: {}", status.error_message()));
    ids.insert(ids.end(), pieces.begin(), pieces.end());
  }

  // The library leaves out the space that stands in front of a text's first piece. Behind other text that
  // space has to stay: a letter in front keeps it.
  std::string decode_pieces(const std::vector<int>& pieces, bool first) const {
    const auto decoded = [&](const std::vector<int>& ids) {
      std::string text;
      const auto status = processor_.Decode(ids, &text);
      if (!status.ok()) throw input_error({}, format("SentencePiece: {}", status.error_message()));
      return text;
    };
    if (first) return decoded(pieces);
    std::vector<int> behind{processor_.PieceToId("<0x41>")};
    behind.insert(behind.end(), pieces.begin(), pieces.end());
    return decoded(behind).substr(1);
  }

  // A byte's piece is called "<0xE4>".
  char byte_of(TokenId id) const {
    const std::string& piece = processor_.IdToPiece(id);
    return static_cast<char>(std::stoi(piece.substr(3, 2), nullptr, 16));
  }

  std::string text_of(TokenId id) const {
    for (const Added& token : added_)
      if (token.id == id) return token.text;
    return "";
  }

  TokenId add(const std::string& text) {
    int id = processor_.PieceToId(text);
    const bool known = id != processor_.unk_id() || (id >= 0 && processor_.IdToPiece(id) == text);
    const auto before = std::ranges::find(added_, text, &Added::text);
    if (before != added_.end()) return before->id;
    if (!known) id = size_ + new_tokens_++;
    added_.push_back({text, id});
    return id;
  }

  void add_megatron_tokens() {
    special_.classify = add("<CLS>");
    special_.separate = add("<SEP>");
    special_.end = add("<EOD>");
    special_.mask = add("<MASK>");
    const auto own = [&](int id, const char* otherwise) {
      return add(id < 0 ? std::string(otherwise) : processor_.IdToPiece(id));
    };
    special_.padding = own(processor_.pad_id(), "<PAD>");
    own(processor_.bos_id(), "<BOS>");
    own(processor_.eos_id(), "<EOS>");
  }

  // Texts of usual length are one part, so that their tokens are the library's own.
  static constexpr std::size_t kPart = std::size_t{256} << 10;
  static constexpr std::size_t kMostUncut = std::size_t{4} << 20;

  std::string model_;
  SentencePieceKind kind_;
  SpaceAtCut space_at_cut_ = SpaceAtCut::kNowhere;
  sentencepiece::SentencePieceProcessor processor_;
  TokenId size_ = 0;        // pieces of the model
  TokenId new_tokens_ = 0;  // behind them
  std::vector<Added> added_;
  SpecialTokens special_;
};

// What a tokenizer_config.json says; other programs' say whether a token begins a text.
SentencePieceKind kind_of(const fs::path& path, SentencePieceKind otherwise) {
  const JsonDocument document = read_json(path);
  const JsonValue root = document.root();
  if (const auto kind = root.find("nadi_kind")) {
    const auto found = std::ranges::find(kKindNames, kind->as_string());
    if (found == kKindNames.end())
      throw error_at(*kind, format("a tokenizer of kind '{}' is not known", kind->as_string()),
                     "llama2, gpt or megatron");
    return static_cast<SentencePieceKind>(found - kKindNames.begin());
  }
  if (const auto begins = root.find("add_bos_token"); begins && begins->is_bool())
    return begins->as_bool() ? SentencePieceKind::kLlama2 : SentencePieceKind::kGpt;
  return otherwise;
}

}  // namespace

std::unique_ptr<Tokenizer> read_sentencepiece(const SentencePieceFiles& files) {
  std::string model = read_bytes(files.model);
  const SentencePieceKind kind = files.config.empty() ? files.kind : kind_of(files.config, files.kind);
  return std::make_unique<SentencePieceTokenizer>(std::move(model), kind, files.model.string());
}

std::unique_ptr<Tokenizer> read_sentencepiece_folder(const fs::path& folder) {
  const fs::path config = folder / kConfigFile;
  std::error_code ignored;
  return read_sentencepiece(
      {.model = folder / kModelFile, .config = fs::exists(config, ignored) ? config : fs::path()});
}

bool has_sentencepiece() {
  return true;
}

}  // namespace nadi::inline files
