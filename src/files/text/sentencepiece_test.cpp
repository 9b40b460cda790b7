#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/text/sentencepiece_files.h"
#include "nadi/text/sentencepiece_for_tests.h"
#include "nadi/text/sentencepiece_model.h"
#include "nadi/text/tokenizer.h"
#include "nadi/text/tokenizers_for_tests.h"

#if NADI_TEST_WITH_SENTENCEPIECE
#include <sentencepiece_processor.h>
#endif

namespace nadi::inline files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The Error that a call ends with.
template <class Call>
std::optional<Error> failure_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

#if NADI_TEST_WITH_SENTENCEPIECE

std::unique_ptr<Tokenizer> load(const std::string& model,
                                SentencePieceKind kind = SentencePieceKind::kLlama2) {
  const TemporaryFolder folder;
  write_text(folder / "tokenizer.model", model);
  return read_sentencepiece({.model = folder.path() / "tokenizer.model", .kind = kind});
}

// Numbers of the test's model: 3 + byte, then pieces from 259 on.
constexpr TokenId kFirstPiece = 259;

TEST(SentencePiece, EncodesAsLlama2) {
  const auto tokenizer = load(SentencePieceModelForTests().bytes());
  EXPECT_EQ(tokenizer->vocabulary_size(), kFirstPiece + 24);
  // "▁hello" and "▁world" are the pieces 19 and 22; "数据" is the last.
  EXPECT_THAT(tokenizer->encode("hello world"), ElementsAre(kFirstPiece + 19, kFirstPiece + 22));
  EXPECT_THAT(tokenizer->encode("数据"), ElementsAre(kFirstPiece + 0, kFirstPiece + 23));
  // What has no piece is bytes: U+1F642 is F0 9F 99 82.
  EXPECT_THAT(tokenizer->encode("🙂"),
              ElementsAre(kFirstPiece + 0, 3 + 0xF0, 3 + 0x9F, 3 + 0x99, 3 + 0x82));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("hello  world 🙂é数据")), "hello  world 🙂é数据");
  const SpecialTokens& special = tokenizer->special_tokens();
  EXPECT_EQ(special.begin, 1);
  EXPECT_EQ(special.end, 2);
  EXPECT_EQ(special.unknown, 0);
  EXPECT_EQ(special.padding, std::nullopt);
  EXPECT_TRUE(tokenizer->is_special(2));
  EXPECT_FALSE(tokenizer->is_special(3));
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{1, kFirstPiece + 19, 2}), "hello");
}

// Tokens are decoded one or two at a time where text is generated: bytes within a character come as they are.
TEST(SentencePiece, BytesWithinACharacterAreGivenAsTheyAre) {
  const auto tokenizer = load(SentencePieceModelForTests().bytes());
  using Ids = std::vector<TokenId>;
  EXPECT_EQ(tokenizer->decode(Ids{3 + 0xF0}), "\xF0");
  EXPECT_EQ(tokenizer->decode(Ids{3 + 0xF0, 3 + 0x9F}), "\xF0\x9F");
  EXPECT_EQ(tokenizer->decode(Ids{3 + 0xF0, 3 + 0x9F, 3 + 0x99, 3 + 0x82}), "🙂");
  EXPECT_EQ(tokenizer->decode(Ids{3 + 0xF0, kFirstPiece + 22}), "\xF0 world") << "the space stays";
  EXPECT_EQ(tokenizer->decode(Ids{kFirstPiece + 19, 3 + 0xF0, kFirstPiece + 22}), "hello\xF0 world");
}

TEST(SentencePiece, GptHasNoBegin) {
  const auto tokenizer = load(SentencePieceModelForTests().bytes(), SentencePieceKind::kGpt);
  EXPECT_EQ(tokenizer->special_tokens().begin, std::nullopt);
  EXPECT_EQ(tokenizer->special_tokens().end, 2);
}

// <CLS>, <SEP>, <EOD>, <MASK> and, since the model has no padding, <PAD> come behind its 283 tokens.
TEST(SentencePiece, MegatronsHasTokensOfItsOwn) {
  const auto tokenizer = load(SentencePieceModelForTests().bytes(), SentencePieceKind::kMegatron);
  const TokenId pieces = kFirstPiece + 24;
  EXPECT_EQ(tokenizer->vocabulary_size(), pieces + 5);
  EXPECT_EQ(tokenizer->special_tokens().classify, pieces);
  EXPECT_EQ(tokenizer->special_tokens().end, pieces + 2);
  EXPECT_EQ(tokenizer->special_tokens().mask, pieces + 3);
  EXPECT_EQ(tokenizer->special_tokens().padding, pieces + 4);
  EXPECT_TRUE(tokenizer->is_special(pieces + 4));
  EXPECT_THAT(tokenizer->encode("hello<EOD>world</s>"),
              ElementsAre(kFirstPiece + 19, pieces + 2, kFirstPiece + 22, 2));
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{kFirstPiece + 19, pieces + 2, kFirstPiece + 22}),
            "hello <EOD> world");
}

// A unigram model with a normaliser, where the program that trains them is there.
const std::optional<std::string>& trained_unigram() {
  static const std::optional<std::string> model = []() -> std::optional<std::string> {
    const TemporaryFolder folder;
    std::string corpus;
    for (int i = 0; i < 200; ++i) corpus += "hello world, the model reads tokens\nﬁne ½ ｆｕｌｌ\n";
    write_text(folder / "corpus.txt", corpus);
    const std::string prefix = (folder.path() / "unigram").string();
    const std::string command = "spm_train --input=" + (folder.path() / "corpus.txt").string() +
                                " --model_prefix=" + prefix +
                                " --vocab_size=60 --hard_vocab_limit=false >/dev/null 2>&1";
    if (std::system(command.c_str()) == 0) return read_text(prefix + ".model");
    std::cout << "spm_train is not there: only the model of this test is tried\n";
    return std::nullopt;
  }();
  return model;
}

TEST(SentencePiece, IsWhatTheLibraryIsOnRandomText) {
  std::vector<std::string> models{SentencePieceModelForTests().bytes()};
  if (trained_unigram()) models.push_back(*trained_unigram());
  for (const std::string& model : models) {
    const auto tokenizer = load(model);
    sentencepiece::SentencePieceProcessor library;
    ASSERT_TRUE(library.LoadFromSerializedProto(model).ok());
    int same_text = 0;
    for (std::uint32_t seed = 0; seed < 400; ++seed) {
      const std::string text = random_text(seed, 1 + seed % 60);
      std::vector<int> ids;
      ASSERT_TRUE(library.Encode(text, &ids).ok());
      ASSERT_EQ(tokenizer->encode(text), ids) << text;
      std::string decoded;
      ASSERT_TRUE(library.Decode(ids, &decoded).ok());
      ASSERT_EQ(tokenizer->decode(ids), decoded) << text;
      same_text += decoded == text ? 1 : 0;
    }
    // With byte fallback and without a normaliser a text survives, unless it has the library's own sign for a
    // space.
    if (&model == &models[0]) {
      EXPECT_EQ(same_text, 400);
    }
  }
}

// "hello world. hell or hello" has spaces at 5, 12, 17 and 20. The first from byte 8 on is at 12; the rest is
// "hell or hello" with spaces at 4 and 7: none from byte 8 on.
TEST(SentencePieceModel, LongTextsAreCutBetweenWords) {
  const std::string text = "hello world. hell or hello";
  EXPECT_THAT(cut_text(text, SpaceAtCut::kDropped, 8), ElementsAre("hello world.", "hell or hello"));
  EXPECT_THAT(cut_text(text, SpaceAtCut::kDropped, 6), ElementsAre("hello world.", "hell or", "hello"));
  EXPECT_THAT(cut_text(text, SpaceAtCut::kKept, 6), ElementsAre("hello world.", " hell or", " hello"));
  EXPECT_THAT(cut_text(text, SpaceAtCut::kNowhere, 6), ElementsAre(text));
  EXPECT_THAT(cut_text("two  spaces and one, here", SpaceAtCut::kDropped, 3),
              ElementsAre("two  spaces", "and", "one, here"));
}

// What the library makes of a long text as a whole, which is cut here.
TEST(SentencePiece, LongTextsHaveTheTokensOfTheWhole) {
  const std::string model = SentencePieceModelForTests().bytes();
  const auto tokenizer = load(model);
  sentencepiece::SentencePieceProcessor library;
  ASSERT_TRUE(library.LoadFromSerializedProto(model).ok());
  std::string text;
  for (std::uint32_t seed = 0; text.size() < 700'000; ++seed) text += random_text(seed, 40) + " hello world";
  std::vector<int> ids;
  ASSERT_TRUE(library.Encode(text, &ids).ok());
  EXPECT_EQ(tokenizer->encode(text), ids);
}

TEST(SentencePiece, TextWithoutSpacesHasALimit) {
  const auto tokenizer = load(SentencePieceModelForTests().bytes());
  const std::string text(5 << 20, 'h');
  const auto error = failure_of([&] { tokenizer->encode(text); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kInput);
  EXPECT_THAT(error->what(),
              HasSubstr("a text of 5,242,880 bytes cannot be cut at the spaces between its words; the limit "
                        "is 4,194,304"));
}

// A model that was trained with pieces of several words.
TEST(SentencePieceModel, TextsAreNotCutWherePiecesMayCross) {
  SentencePieceModelForTests plain, crossing;
  EXPECT_EQ(check_sentencepiece_model(plain.bytes(), "m"), SpaceAtCut::kDropped);
  crossing.piece("o▁w", -100, SentencePieceModelForTests::kNormal);
  EXPECT_EQ(check_sentencepiece_model(crossing.bytes(), "m"), SpaceAtCut::kNowhere);
}

TEST(SentencePiece, IsWrittenAndReadAgain) {
  for (const auto kind :
       {SentencePieceKind::kLlama2, SentencePieceKind::kGpt, SentencePieceKind::kMegatron}) {
    const auto tokenizer = load(SentencePieceModelForTests().bytes(), kind);
    const TemporaryFolder folder;
    write_files(folder, tokenizer->files());
    EXPECT_TRUE(has_tokenizer(folder.path()));
    const auto again = load_tokenizer(folder.path());
    EXPECT_EQ(again->vocabulary_size(), tokenizer->vocabulary_size());
    EXPECT_EQ(again->special_tokens().begin, tokenizer->special_tokens().begin);
    EXPECT_EQ(again->special_tokens().end, tokenizer->special_tokens().end);
    EXPECT_EQ(again->files(), tokenizer->files());
    EXPECT_EQ(load_tokenizer(folder.path() / "tokenizer.model")->encode("hello"), tokenizer->encode("hello"));
  }
}

// Llama 2's folder at Hugging Face has both files. The other one of the two says the same in another way.
TEST(SentencePiece, IsTakenWhereTokenizerJsonHasByteFallback) {
  const TemporaryFolder folder;
  write_text(folder / "tokenizer.model", SentencePieceModelForTests().bytes());
  write_text(folder / "tokenizer.json",
             R"({"model": {"type": "BPE", "byte_fallback": true, "vocab": {}, "merges": []}})");
  write_text(folder / "tokenizer_config.json", R"({"add_bos_token": false, "model_max_length": 4096})");
  const auto tokenizer = load_tokenizer(folder.path());
  EXPECT_THAT(tokenizer->encode("hello"), ElementsAre(kFirstPiece + 19));
  EXPECT_EQ(tokenizer->special_tokens().begin, std::nullopt);
}

TEST(SentencePiece, RefusesWhatIsNoText) {
  const auto tokenizer = load(SentencePieceModelForTests().bytes());
  EXPECT_EQ(failure_of([&] { tokenizer->encode("a\xFF"); })->kind(), ErrorKind::kInput);
  EXPECT_THAT(failure_of([&] { tokenizer->decode(std::vector<TokenId>{5000}); })->message(),
              HasSubstr("token 5000 is outside of the vocabulary of 283"));
  EXPECT_THAT(failure_of([&] { tokenizer->decode(std::vector<TokenId>{-1}); })->message(),
              HasSubstr("token -1"));
}

// Each is an Error (input) or a tokenizer; none ends the program.
void expect_harmless(const std::string& model) {
  const auto error = failure_of([&] {
    const auto tokenizer = load(model);
    const std::vector<TokenId> ids = tokenizer->encode("hello world é 数据 🙂");
    tokenizer->decode(ids);
  });
  if (error) {
    EXPECT_EQ(error->kind(), ErrorKind::kInput) << error->what();
  }
}

TEST(SentencePiece, DamagedFilesAreErrors) {
  const std::string model = SentencePieceModelForTests().bytes();
  for (std::size_t size = 0; size < model.size(); size += 7) expect_harmless(model.substr(0, size));
  std::uint32_t random = 12345;
  const auto next = [&] { return random = random * 1664525U + 1013904223U, random >> 8; };
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = model;
    for (std::uint32_t changes = 1 + next() % 4; changes > 0; --changes)
      damaged[next() % damaged.size()] = static_cast<char>(next());
    expect_harmless(damaged);
  }
  // Most of this one is the normaliser's table.
  for (int i = 0; trained_unigram() && i < 400; ++i) {
    std::string damaged = *trained_unigram();
    for (std::uint32_t changes = 1 + next() % 64; changes > 0; --changes)
      damaged[(next() << 8 | (next() & 0xFF)) % damaged.size()] = static_cast<char>(next());
    expect_harmless(damaged);
  }
  EXPECT_EQ(failure_of([] { load(""); })->kind(), ErrorKind::kInput);
  EXPECT_EQ(failure_of([] { load("IQ== 0\nIg== 1\n"); })->kind(), ErrorKind::kInput)
      << "tiktoken's, of Llama 3";
  const auto missing = failure_of([] { read_sentencepiece({.model = "nowhere/tokenizer.model"}); });
  EXPECT_THAT(missing->what(), HasSubstr("nowhere/tokenizer.model: no such file"));
}

#else

TEST(SentencePiece, IsSaidToBeMissing) {
  EXPECT_FALSE(has_sentencepiece());
  const auto error = failure_of([] { read_sentencepiece({.model = "tokenizer.model"}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(error->hint(), HasSubstr("libsentencepiece-dev"));
}

#endif

// A table of one block of 256 units whose first leads to itself, and a text of one zero byte.
std::string table(std::uint32_t first_unit, const std::string& texts = std::string(1, '\0')) {
  std::string bytes(4 + 256 * 4, '\0');
  const std::uint32_t size = 256 * 4;
  std::memcpy(bytes.data(), &size, 4);
  std::memcpy(bytes.data() + 4, &first_unit, 4);
  return bytes + texts;
}

TEST(SentencePieceModel, TheNormaliserStaysWithinItsTable) {
  const auto message = [](const std::string& given) -> std::string {
    SentencePieceModelForTests model;
    model.set_table(given);
    const auto error = failure_of([&] { check_sentencepiece_model(model.bytes(), "m"); });
    if (!error) return "no error";
    EXPECT_EQ(error->kind(), ErrorKind::kInput);
    EXPECT_TRUE(error->place().byte.has_value());
    return error->message();
  };
  EXPECT_EQ(message(table(0)), "no error");
  EXPECT_EQ(message(table(255U << 10)), "no error");
  EXPECT_THAT(message(table(256U << 10)), HasSubstr("leads outside of itself"));
  EXPECT_THAT(message(table(1U << 10 | 1U << 9)), HasSubstr("leads outside of itself")) << "offset 1 << 8";
  // Unit 0 has a value, which is in unit 1: 0x80000005 is text 5 of one.
  std::string valued = table(1U << 10 | 1U << 8);
  const std::uint32_t five = 0x80000005U;
  std::memcpy(valued.data() + 8, &five, 4);
  EXPECT_THAT(message(valued), HasSubstr("leads outside of its texts"));
  EXPECT_EQ(message(valued + "abcd" + std::string(1, '\0')), "no error");
  EXPECT_THAT(message(table(0, "abc")), HasSubstr("have no end"));
  EXPECT_THAT(message("ab"), HasSubstr("cut off"));
  EXPECT_THAT(message(table(0).substr(0, 500)), HasSubstr("another size"));
}

}  // namespace
}  // namespace nadi::inline files
