// Hugging Face's files, read and written, and everything that can be wrong with them.

#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/base/json.h"
#include "nadi/text/tokenizer.h"
#include "nadi/text/tokenizers_for_tests.h"

namespace nadi::inline files {
namespace {

using Ids = std::vector<TokenId>;

constexpr std::string_view kMerges = "#version: 0.2\nh e\nl l\nhe ll\n";
const std::vector<std::string> kFurther{"he", "ll", "hell", "<|endoftext|>"};

Json byte_level_json() {
  return {{"version", "1.0"},
          {"added_tokens",
           {{{"id", 259},
             {"content", "<|endoftext|>"},
             {"special", true},
             {"normalized", false},
             {"lstrip", false}}}},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}}},
          {"model",
           {{"type", "BPE"},
            {"vocab", Json::parse(byte_vocabulary_json(kFurther))},
            {"merges", {"h e", "l l", "he ll"}}}}};
}

Json wordpiece_json() {
  return {{"version", "1.0"},
          {"added_tokens", {{{"id", 0}, {"content", "[UNK]"}, {"special", true}, {"normalized", false}}}},
          {"normalizer",
           {{"type", "BertNormalizer"},
            {"clean_text", true},
            {"handle_chinese_chars", true},
            {"strip_accents", nullptr},
            {"lowercase", true}}},
          {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
          {"model",
           {{"type", "WordPiece"},
            {"unk_token", "[UNK]"},
            {"continuing_subword_prefix", "##"},
            {"max_input_chars_per_word", 100},
            {"vocab", {{"[UNK]", 0}, {"run", 1}, {"##ning", 2}}}}}};
}

std::unique_ptr<Tokenizer> load(const std::vector<std::pair<std::string, std::string>>& files) {
  const TemporaryFolder folder;
  write_files(folder, files);
  return load_tokenizer(folder.path());
}

std::unique_ptr<Tokenizer> load_json(const Json& tokenizer_json) {
  return load({{"tokenizer.json", tokenizer_json.dump()}});
}

// The Error that loading ends with: its file without the folder, its line, and its message.
struct Failure {
  std::string file;
  std::optional<std::int64_t> line;
  std::string message;
};

Failure failure_of(const std::vector<std::pair<std::string, std::string>>& files) {
  try {
    load(files);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput) << error.what();
    return {std::filesystem::path(error.place().file).filename(), error.place().line, error.message()};
  }
  return {"", std::nullopt, "no Error"};
}

std::string message_of(const Json& tokenizer_json) {
  const Failure failure = failure_of({{"tokenizer.json", tokenizer_json.dump(1)}});
  EXPECT_EQ(failure.file, "tokenizer.json");
  return failure.message;
}

// The same tokenizer: tokens, special tokens and files.
void expect_same(const Tokenizer& a, const Tokenizer& b) {
  EXPECT_EQ(a.vocabulary_size(), b.vocabulary_size());
  EXPECT_EQ(a.files(), b.files());
  EXPECT_EQ(a.special_tokens().end, b.special_tokens().end);
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const std::string text = random_text(seed, 60) + "<|endoftext|> hello[MASK]";
    ASSERT_EQ(a.encode(text), b.encode(text)) << text;
  }
  for (TokenId id = 0; id < a.vocabulary_size(); ++id) ASSERT_EQ(a.is_special(id), b.is_special(id));
}

TEST(TokenizerFiles, Gpt2Folder) {
  const auto tokenizer =
      load({{"vocab.json", byte_vocabulary_json(kFurther)}, {"merges.txt", std::string(kMerges)}});
  EXPECT_EQ(tokenizer->encode("hello<|endoftext|>"), (Ids{258, 'o' - '!', 259}));
  EXPECT_EQ(tokenizer->special_tokens().end, 259);
}

TEST(TokenizerFiles, Gpt2FolderWithoutSpecialTokens) {
  const auto tokenizer =
      load({{"vocab.json", byte_vocabulary_json({"he"})}, {"merges.txt", "#version: 0.2\r\nh e\r\n\r\n"}});
  EXPECT_EQ(tokenizer->special_tokens().end, std::nullopt);
  EXPECT_EQ(tokenizer->encode("he"), (Ids{256}));
  EXPECT_GT(tokenizer->encode("<|endoftext|>").size(), 1u);
}

TEST(TokenizerFiles, BertFolder) {
  const std::string vocabulary = "[PAD]\n[UNK]\nrun\n##ning\nRun\né\n";
  EXPECT_EQ(load({{"vocab.txt", vocabulary}})->encode("Running É"), (Ids{2, 3, 1}));  // "e" is unknown
  EXPECT_EQ(
      load({{"vocab.txt", vocabulary}, {"tokenizer_config.json", R"({"do_lower_case": false, "x": 1})"}})
          ->encode("Running é"),
      (Ids{4, 3, 5}));
}

TEST(TokenizerFiles, TokenizerJson) {
  EXPECT_EQ(load_json(byte_level_json())->encode("hello<|endoftext|>"), (Ids{258, 'o' - '!', 259}));
  EXPECT_EQ(load_json(wordpiece_json())->encode("Running wild"), (Ids{1, 2, 0}));
  const TemporaryFolder folder;  // the file itself, under another name
  write_text(folder / "mine.json", wordpiece_json().dump());
  EXPECT_EQ(load_tokenizer(folder.path() / "mine.json")->encode("run"), (Ids{1}));
}

TEST(TokenizerFiles, TokenizerJsonInOlderAndNewerSpellings) {
  Json older = byte_level_json();
  older["model"].erase("type");
  expect_same(*load_json(older), *load_json(byte_level_json()));
  Json newer = byte_level_json();
  newer["model"]["merges"] = Json::parse(R"([["h", "e"], ["l", "l"], ["he", "ll"]])");
  newer["pre_tokenizer"]["use_regex"] = true;
  expect_same(*load_json(newer), *load_json(byte_level_json()));
}

TEST(TokenizerFiles, Llama3) {
  Json json = byte_level_json();
  json["pre_tokenizer"] = {
      {"type", "Sequence"},
      {"pretokenizers",
       {{{"type", "Split"},
         {"pattern",
          {{"Regex",
            R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}}},
         {"behavior", "Isolated"},
         {"invert", false}},
        {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}}}}};
  json["model"]["ignore_merges"] = true;
  json["added_tokens"].push_back({{"id", 260}, {"content", "<|begin_of_text|>"}, {"special", true}});
  const auto tokenizer = load_json(json);
  EXPECT_EQ(tokenizer->encode("<|begin_of_text|>hell"), (Ids{260, 258}));
  EXPECT_EQ(tokenizer->special_tokens().begin, 260);
  EXPECT_EQ(tokenizer->encode("12345").size(), 5u);
  const auto again = load(tokenizer->files());
  expect_same(*tokenizer, *again);
  for (const auto& [name, contents] : tokenizer->files()) EXPECT_NE(name, "vocab.json");
}

TEST(TokenizerFiles, Qwen2) {
  Json json = byte_level_json();
  json["normalizer"] = {{"type", "NFC"}};
  json["pre_tokenizer"] = {
      {"type", "Sequence"},
      {"pretokenizers",
       {{{"type", "Split"},
         {"pattern",
          {{"Regex",
            R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}}},
         {"behavior", "Isolated"},
         {"invert", false}},
        {{"type", "ByteLevel"},
         {"add_prefix_space", false},
         {"trim_offsets", false},
         {"use_regex", false}}}}};
  json["model"]["continuing_subword_prefix"] = "";
  json["model"]["end_of_word_suffix"] = "";
  const auto tokenizer = load_json(json);
  EXPECT_EQ(tokenizer->encode("hell"), (Ids{258}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("e\u0301")), "\u00e9");  // composed
  EXPECT_EQ(load_json(byte_level_json())->decode(load_json(byte_level_json())->encode("e\u0301")), "e\u0301");
  expect_same(*tokenizer, *load(tokenizer->files()));
  EXPECT_EQ(load(tokenizer->files())->encode("e\u0301"), tokenizer->encode("e\u0301"));
  json["normalizer"] = {{"type", "NFKC"}};
  EXPECT_THROW(load_json(json), Error);
}

TEST(TokenizerFiles, WhatIsWrittenIsReadAgain) {
  for (const Json& json : {byte_level_json(), wordpiece_json()}) {
    const auto tokenizer = load_json(json);
    const auto files = tokenizer->files();
    expect_same(*tokenizer, *load(files));
    std::vector<std::pair<std::string, std::string>> without_tokenizer_json;
    for (const auto& file : files) {
      if (file.first != "tokenizer.json") without_tokenizer_json.push_back(file);
    }
    expect_same(*tokenizer, *load(without_tokenizer_json));
  }
  if (real_gpt2() != nullptr) expect_same(*real_gpt2(), *load(real_gpt2()->files()));
  if (real_bert() != nullptr) expect_same(*real_bert(), *load(real_bert()->files()));
}

TEST(TokenizerFiles, RealVocabulariesAreWrittenAsTheyWere) {
  const auto data = real_data();
  if (!data || real_gpt2() == nullptr || real_bert() == nullptr)
    GTEST_SKIP() << "real vocabularies are not here";
  const auto file_of = [](const Tokenizer& tokenizer, std::string_view wanted) {
    for (const auto& [name, contents] : tokenizer.files()) {
      if (name == wanted) return contents;
    }
    return std::string("none");
  };
  EXPECT_EQ(file_of(*real_gpt2(), "merges.txt"), read_text(*data / "vocab/gpt2-merges.txt"));
  EXPECT_EQ(nlohmann::json::parse(file_of(*real_gpt2(), "vocab.json")),
            nlohmann::json::parse(read_text(*data / "vocab/gpt2-vocab.json")));
  EXPECT_EQ(Json::parse(file_of(*real_gpt2(), "tokenizer_config.json"))["tokenizer_class"], "GPT2Tokenizer");
  EXPECT_EQ(file_of(*real_bert(), "vocab.txt"), read_text(*data / "vocab/bert-base-uncased-vocab.txt"));
  EXPECT_EQ(Json::parse(file_of(*real_bert(), "tokenizer_config.json"))["tokenizer_class"], "BertTokenizer");
}

TEST(TokenizerFiles, HasTokenizer) {
  const TemporaryFolder folder;
  EXPECT_FALSE(has_tokenizer(folder.path()));
  write_text(folder / "vocab.json", "{}");
  EXPECT_FALSE(has_tokenizer(folder.path()));
  write_text(folder / "merges.txt", "");
  EXPECT_TRUE(has_tokenizer(folder.path()));
}

TEST(BrokenTokenizerFiles, NothingThere) {
  EXPECT_EQ(failure_of({}).message, "the folder has no tokenizer");
  EXPECT_EQ(failure_of({{"vocab.json", "{}"}}).message, "the folder has no tokenizer");
  EXPECT_THROW(load_tokenizer("/nowhere/at/all"), Error);
}

TEST(BrokenTokenizerFiles, VocabJson) {
  const auto failure = [](const std::string& vocabulary) {
    return failure_of({{"vocab.json", vocabulary}, {"merges.txt", std::string(kMerges)}});
  };
  EXPECT_EQ(failure("").file, "vocab.json");
  EXPECT_EQ(failure(byte_vocabulary_json(kFurther).substr(0, 700)).file, "vocab.json");  // cut short
  EXPECT_NE(failure("{\"a\": 0,\n\"b\": 0}").message.find("given to two tokens, 'a' and 'b'"),
            std::string::npos);
  EXPECT_EQ(failure("{\"a\": 0,\n\"b\": 0}").line, 2);
  EXPECT_NE(failure("{\"a\": -1}").message.find("is not between 0 and"), std::string::npos);
  EXPECT_NE(failure("{\"a\": 99999999999}").message.find("is not between 0 and"), std::string::npos);
  EXPECT_NE(failure("{\"a\": \"x\"}").line, std::nullopt);
  EXPECT_EQ(failure("{\"\xFF\": 0}").file, "vocab.json");
  EXPECT_EQ(failure("[]").file, "vocab.json");
  std::string hole = byte_vocabulary_json(kFurther);
  hole.replace(hole.find(":259}"), 5, ":300}");
  EXPECT_EQ(failure(hole).message, "the vocabulary has a hole: 260 tokens, and none with number 259");
  std::string no_bang = byte_vocabulary_json(kFurther);
  no_bang.replace(no_bang.find("\"!\""), 3, "\"!!\"");
  EXPECT_EQ(failure(no_bang).message, "no token for byte 0x21 ('!')");
}

TEST(BrokenTokenizerFiles, MergesTxt) {
  const auto failure = [](const std::string& merges) {
    return failure_of({{"vocab.json", byte_vocabulary_json(kFurther)}, {"merges.txt", merges}});
  };
  EXPECT_EQ(failure("#version: 0.2\nh e\nhe xy\n").message,
            "merge of 'he' and 'xy': 'xy' is not in the vocabulary");
  EXPECT_EQ(failure("#version: 0.2\nh e\nhe xy\n").line, 3);
  EXPECT_EQ(failure("#version: 0.2\nh e\nhe xy\n").file, "merges.txt");
  EXPECT_EQ(failure("e h\n").message, "merge of 'e' and 'h': 'eh' is not in the vocabulary");
  EXPECT_EQ(failure("h e\nh e\n").message, "merge of 'h' and 'e' appears twice");
  EXPECT_EQ(failure("he\n").message, "'he' is not two tokens with a space between them");
  EXPECT_EQ(failure("h e l\n").line, 1);
  EXPECT_EQ(failure("h e\n\nl l\n").line, 2);
  EXPECT_EQ(failure("h e\n\xC3\n").message, "the line is not UTF-8");
  EXPECT_EQ(failure("h e\n\xC3\n").line, 2);
}

TEST(BrokenTokenizerFiles, VocabTxt) {
  const auto failure = [](const std::string& vocabulary) { return failure_of({{"vocab.txt", vocabulary}}); };
  EXPECT_EQ(failure("").message, "the vocabulary is empty");
  EXPECT_EQ(failure("run\n").message, "there is no token '[UNK]'");
  EXPECT_EQ(failure("[UNK]\nrun\nrun\n").message, "token 'run' has two numbers, 1 and 2");
  EXPECT_EQ(failure("[UNK]\nrun\nrun\n").line, 3);
  EXPECT_EQ(failure("[UNK]\n\nrun\n").message, "a token is empty");
  EXPECT_EQ(failure("[UNK]\n\xE6\n").line, 2);
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "vocab.txt");
  EXPECT_THROW(load_tokenizer(folder.path()), Error);
}

TEST(BrokenTokenizerFiles, TooLarge) {
  const TemporaryFolder folder;
  write_text(folder / "vocab.txt", "[UNK]\n");
  std::filesystem::resize_file(folder.path() / "vocab.txt", (std::uintmax_t{64} << 20) + 1);
  try {
    load_tokenizer(folder.path());
    FAIL() << "no Error";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "the file is larger than 64 MiB, too large for a vocabulary");
  }
}

TEST(BrokenTokenizerFiles, TokenizerJsonOfOtherKinds) {
  Json json = byte_level_json();
  json["model"]["type"] = "Unigram";
  EXPECT_EQ(message_of(json), "a model of type 'Unigram' is not supported");
  json["model"] = Json::object();
  EXPECT_EQ(message_of(json), "a model of unknown type");
  json = byte_level_json();
  json["normalizer"] = {{"type", "NFKC"}};
  EXPECT_EQ(message_of(json), "this normalizer is not supported");
  json = byte_level_json();
  json["model"]["dropout"] = 0.1;
  EXPECT_EQ(message_of(json), "'dropout' other than off is not supported");
  json = byte_level_json();
  json["model"]["end_of_word_suffix"] = "</w>";
  EXPECT_EQ(message_of(json), "'end_of_word_suffix' other than off is not supported");
  json = byte_level_json();
  json["pre_tokenizer"]["type"] = "Metaspace";
  EXPECT_EQ(message_of(json), "pre-tokenizer 'Metaspace' is not supported");
  json = byte_level_json();
  json["pre_tokenizer"]["add_prefix_space"] = true;
  EXPECT_EQ(message_of(json), "'add_prefix_space' other than off is not supported");
  json = byte_level_json();
  json["pre_tokenizer"]["use_regex"] = false;
  EXPECT_EQ(message_of(json), "text is not split at all, which is not supported");
  json = byte_level_json();
  json["added_tokens"][0]["lstrip"] = true;
  EXPECT_EQ(message_of(json), "'lstrip' other than off is not supported");
  json = wordpiece_json();
  json["normalizer"]["type"] = "Lowercase";
  EXPECT_EQ(message_of(json), "normalizer 'Lowercase' is not supported");
  json = wordpiece_json();
  json["pre_tokenizer"]["type"] = "Whitespace";
  EXPECT_EQ(message_of(json), "pre-tokenizer 'Whitespace' is not supported");
}

TEST(BrokenTokenizerFiles, TokenizerJsonWithUnknownSplit) {
  Json json = byte_level_json();
  const Json byte_level{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  Json split{
      {"type", "Split"}, {"pattern", {{"Regex", R"(\w+)"}}}, {"behavior", "Isolated"}, {"invert", false}};
  json["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {split, byte_level}}};
  EXPECT_EQ(message_of(json), "unknown split pattern");
  split["behavior"] = "Removed";
  json["pre_tokenizer"]["pretokenizers"][0] = split;
  EXPECT_EQ(message_of(json), "only the behavior 'Isolated' is supported");
  json["pre_tokenizer"]["pretokenizers"] = {byte_level};
  EXPECT_EQ(message_of(json), "only a sequence of Split and ByteLevel is supported");
}

TEST(BrokenTokenizerFiles, TokenizerJsonThatContradictsItself) {
  Json json = byte_level_json();
  json["added_tokens"][0]["id"] = 3;
  EXPECT_EQ(message_of(json), "token '<|endoftext|>' has two numbers, 259 and 3");
  json = byte_level_json();
  json["added_tokens"][0]["content"] = "<|other|>";
  EXPECT_EQ(message_of(json), "number 259 is given to two tokens, '<|endoftext|>' and '<|other|>'");
  json = byte_level_json();
  json["added_tokens"][0] = {{"id", 400}, {"content", "<|other|>"}};
  EXPECT_EQ(message_of(json), "the vocabulary has a hole: 261 tokens, and none with number 260");
  json = byte_level_json();
  json["model"]["merges"][0] = {"h", "e", "l"};
  EXPECT_EQ(message_of(json), "a merge of 3 tokens instead of 2");
  json = byte_level_json();
  json["model"]["merges"][0] = {"h ", "e"};
  EXPECT_EQ(message_of(json), "merge of 'h ' and 'e': a space is written as 'Ġ'");
  json = wordpiece_json();
  json["model"]["unk_token"] = "<unk>";
  EXPECT_EQ(message_of(json), "'<unk>' is not in the vocabulary");
  json = wordpiece_json();
  json["model"]["max_input_chars_per_word"] = 0;
  EXPECT_EQ(message_of(json), "must be positive");
  json = wordpiece_json();
  json["model"]["continuing_subword_prefix"] = "";
  EXPECT_EQ(message_of(json), "an empty prefix is not supported");
  json = wordpiece_json();
  json["model"].erase("vocab");
  EXPECT_NE(message_of(json).find("vocab"), std::string::npos);
}

// A file that breaks off is an Error wherever it does.
TEST(BrokenTokenizerFiles, CutShortAnywhere) {
  const std::string whole = wordpiece_json().dump();
  const TemporaryFolder folder;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_text(folder / "tokenizer.json", whole.substr(0, size));
    ASSERT_THROW(load_tokenizer(folder.path()), Error) << size;
  }
}

}  // namespace
}  // namespace nadi::inline files
