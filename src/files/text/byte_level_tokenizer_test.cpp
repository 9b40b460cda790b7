#include "nadi/text/byte_level_tokenizer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "nadi/base/error.h"
#include "nadi/text/byte_alphabet.h"
#include "nadi/text/tokenizers_for_tests.h"

namespace nadi::inline files {
namespace {

using Ids = std::vector<TokenId>;

// The bytes, and "he" 256, "ll" 257, "hell" 258, "Ġhe" 259, <|endoftext|> 260.
ByteLevelVocabulary small_vocabulary() {
  ByteLevelVocabulary vocabulary;
  for (const std::uint8_t byte : byte_alphabet_order())
    vocabulary.tokens.push_back(to_byte_alphabet(std::string(1, static_cast<char>(byte))));
  const auto id_of = [&](std::string_view token) {
    return static_cast<TokenId>(std::find(vocabulary.tokens.begin(), vocabulary.tokens.end(), token) -
                                vocabulary.tokens.begin());
  };
  for (const auto& [left, right] :
       std::vector<std::pair<std::string, std::string>>{{"h", "e"}, {"l", "l"}, {"he", "ll"}, {"Ġ", "he"}}) {
    vocabulary.merges.push_back({id_of(left), id_of(right), static_cast<TokenId>(vocabulary.tokens.size())});
    vocabulary.tokens.push_back(left + right);
  }
  vocabulary.added.push_back({.text = std::string(kEndOfText), .id = 260, .special = true});
  vocabulary.tokens.emplace_back(kEndOfText);
  vocabulary.splitter = &gpt2_splitter();
  return vocabulary;
}

TEST(ByteAlphabet, WritesWhatCannotBeSeen) {
  EXPECT_EQ(to_byte_alphabet(" a\n"), "ĠaĊ");
  EXPECT_EQ(to_byte_alphabet("é"), "Ã©");
  EXPECT_EQ(from_byte_alphabet("ĠaĊ"), " a\n");
  EXPECT_EQ(from_byte_alphabet("a b"), std::nullopt);  // a space stands for no byte
  EXPECT_EQ(from_byte_alphabet("東"), std::nullopt);
  EXPECT_EQ(byte_alphabet_order()[0], '!');
  EXPECT_EQ(byte_alphabet_order()[188], 0);  // 94 + 12 + 82 bytes stand for themselves
}

TEST(ByteLevelTokenizer, MergesWithinPieces) {
  const auto tokenizer = make_byte_level_tokenizer(small_vocabulary());
  const TokenId o = 'o' - '!';
  EXPECT_EQ(tokenizer->encode("hello"), (Ids{258, o}));
  // " hello": h e, then l l, then he ll, which comes before Ġ he.
  EXPECT_EQ(tokenizer->encode("hello hello"), (Ids{258, o, 188 + 32, 258, o}));
  EXPECT_EQ(tokenizer->encode("hello he"), (Ids{258, o, 259}));
  EXPECT_EQ(tokenizer->encode(""), Ids{});
  EXPECT_EQ(tokenizer->decode(Ids{258, o, 259}), "hello he");
  EXPECT_EQ(tokenizer->vocabulary_size(), 261);
}

TEST(ByteLevelTokenizer, SpecialTokensStandInTheText) {
  const auto tokenizer = make_byte_level_tokenizer(small_vocabulary());
  EXPECT_EQ(tokenizer->encode("he<|endoftext|>he"), (Ids{256, 260, 256}));
  EXPECT_EQ(tokenizer->decode(Ids{256, 260, 256}), "he<|endoftext|>he");
  EXPECT_EQ(tokenizer->special_tokens().end, 260);
  EXPECT_EQ(tokenizer->special_tokens().padding, std::nullopt);
  EXPECT_TRUE(tokenizer->is_special(260));
  EXPECT_FALSE(tokenizer->is_special(256));
  EXPECT_FALSE(tokenizer->is_special(-1));
  EXPECT_FALSE(tokenizer->is_special(261));
}

TEST(ByteLevelTokenizer, IgnoreMergesTakesWholePieces) {
  ByteLevelVocabulary vocabulary = small_vocabulary();
  vocabulary.tokens.emplace_back("xyz");  // 261; no merge leads to it
  const TokenId x = 'x' - '!';
  EXPECT_EQ(make_byte_level_tokenizer(vocabulary)->encode("xyz"), (Ids{x, x + 1, x + 2}));
  vocabulary.ignore_merges = true;
  EXPECT_EQ(make_byte_level_tokenizer(vocabulary)->encode("xyz"), (Ids{261}));
  EXPECT_EQ(make_byte_level_tokenizer(vocabulary)->encode("xyzx"), (Ids{x, x + 1, x + 2, x}));
}

TEST(ByteLevelTokenizer, RefusesWhatIsNoTextAndNoToken) {
  const auto tokenizer = make_byte_level_tokenizer(small_vocabulary());
  try {
    tokenizer->encode("he\xFF");
    FAIL() << "no Error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_EQ(error.place().byte, 2);
  }
  for (const TokenId id : {-1, 261}) {
    try {
      tokenizer->decode(Ids{id});
      FAIL() << "no Error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_NE(error.message().find("outside of the vocabulary of 261"), std::string::npos);
    }
  }
}

TEST(ByteLevelTokenizer, ReadsBackAnyText) {
  const auto small = make_byte_level_tokenizer(small_vocabulary());
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    const std::string text = random_text(seed, seed % 100);
    ASSERT_EQ(small->decode(small->encode(text)), text) << "seed " << seed;
    if (real_gpt2() != nullptr) {
      ASSERT_EQ(real_gpt2()->decode(real_gpt2()->encode(text)), text) << "seed " << seed;
    }
  }
}

TEST(ByteLevelTokenizer, HalfACharacterIsDecodedAsItIs) {
  const auto tokenizer = make_byte_level_tokenizer(small_vocabulary());
  const Ids ids = tokenizer->encode("é");
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_EQ(tokenizer->decode(Ids{ids[0]}), "\xC3");
}

TEST(RealGpt2, EncodesAsPublished) {
  const Tokenizer* gpt2 = real_gpt2();
  if (gpt2 == nullptr) GTEST_SKIP() << "GPT-2's vocabulary is not here";
  EXPECT_EQ(gpt2->vocabulary_size(), 50257);
  EXPECT_EQ(gpt2->special_tokens().end, 50256);
  EXPECT_EQ(gpt2->encode("Hello world"), (Ids{15496, 995}));
  EXPECT_EQ(gpt2->encode("Hello, world!"), (Ids{15496, 11, 995, 0}));
  EXPECT_EQ(gpt2->encode("The quick brown fox jumps over the lazy dog"),
            (Ids{464, 2068, 7586, 21831, 18045, 625, 262, 16931, 3290}));
  EXPECT_EQ(gpt2->encode("<|endoftext|>"), (Ids{50256}));
  // Two line ends are a token; where a word follows, the last is left to it and stays alone.
  EXPECT_EQ(gpt2->encode("\n\n"), (Ids{628}));
  EXPECT_EQ(gpt2->encode("\n\n!"), (Ids{198, 198, 0}));
}

// Megatron-LM's tokens of Wikipedia articles, made with Hugging Face's or its own tokenizer: decoded and
// encoded again they must be the same. The format is Megatron's indexed dataset.
TEST(RealGpt2, AgreesWithMegatron) {
  const Tokenizer* gpt2 = real_gpt2();
  const auto data = real_data();
  if (gpt2 == nullptr || !data || !std::filesystem::exists(*data / "megatron"))
    GTEST_SKIP() << "GPT-2's vocabulary or Megatron's files are not here";
  const std::string index = read_text(*data / "megatron/my-gpt2_text_document.idx");
  const std::string tokens = read_text(*data / "megatron/my-gpt2_text_document.bin");
  constexpr std::size_t kHeader = 34;
  ASSERT_GT(index.size(), kHeader);
  ASSERT_EQ(index[17], 8);  // tokens of 16 bits
  std::uint64_t documents = 0;
  std::memcpy(&documents, index.data() + 18, sizeof documents);
  ASSERT_EQ(documents, 35u);
  std::size_t at = 0;
  for (std::uint64_t document = 0; document < documents; ++document) {
    std::int32_t length = 0;
    std::memcpy(&length, index.data() + kHeader + 4 * document, sizeof length);
    ASSERT_LE(at + 2 * static_cast<std::size_t>(length), tokens.size());
    Ids ids;
    for (std::int32_t i = 0; i < length; ++i, at += 2) {
      std::uint16_t token = 0;
      std::memcpy(&token, tokens.data() + at, sizeof token);
      ids.push_back(token);
    }
    ASSERT_EQ(gpt2->encode(gpt2->decode(ids)), ids) << "document " << document;
  }
  EXPECT_EQ(at, tokens.size());
}

TEST(RealGpt2, IsSharedByThreads) {
  const Tokenizer* gpt2 = real_gpt2();
  if (gpt2 == nullptr) GTEST_SKIP() << "GPT-2's vocabulary is not here";
  const std::string text = random_text(7, 20000);
  const Ids expected = gpt2->encode(text);
  std::vector<Ids> results(4);
  std::vector<std::thread> threads;
  for (Ids& result : results) threads.emplace_back([&] { gpt2->encode(text, result); });
  for (std::thread& thread : threads) thread.join();
  for (const Ids& result : results) EXPECT_EQ(result, expected);
}

}  // namespace
}  // namespace nadi::inline files
