#include "nadi/torch_file/pickle_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nadi/base/files_for_tests.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::string_literals;

// Without its protocol and STOP.
PickleDocument pickle(const std::string& body, UnknownClasses unknown_classes = UnknownClasses::kKeep) {
  const std::string bytes = "\x80\x02" + body + ".";
  return read_pickle(std::as_bytes(std::span(bytes)), "file.pkl", {.unknown_classes = unknown_classes});
}

std::string failure(const std::string& body, UnknownClasses unknown_classes = UnknownClasses::kKeep) {
  const auto error = error_of([&] { pickle(body, unknown_classes); });
  if (!error) return "no error";
  EXPECT_EQ(error->kind(), ErrorKind::kInput);
  return error->what();
}

std::string text(const std::string& text) {
  return "X"s + static_cast<char>(text.size()) + "\0\0\0"s + text;
}

// A million values of one byte each take some 80 MB.
TEST(PickleMachine, ValuesHaveALimitOfMemory) {
  const std::string bytes = "\x80\x02(" + std::string(1'000'000, 'N') + "t.";
  const auto read = [&](const PickleOptions& options) {
    return error_of([&] { read_pickle(std::as_bytes(std::span(bytes)), "file.pkl", options); });
  };
  EXPECT_FALSE(read({}));
  EXPECT_FALSE(read({.memory = MemoryLimit(200_MiB)}));
  const auto error = read({.memory = MemoryLimit(10_MiB)});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(error->what(), HasSubstr("file.pkl: byte "));
  EXPECT_THAT(error->what(),
              HasSubstr("of memory up to here; the limit for this file of 977 KiB is 10.0 MiB"));
}

TEST(PickleMachine, ReadsNumbers) {
  const PickleDocument read = pickle(
      "(K\xffM\x01\x02J\xff\xff\xff\xff\x8a\x00\x8a\x02\xff\x00\x8a\x01\xff"
      "\x8b\x09\x00\x00\x00\0\0\0\0\0\0\0\0\x40G\x3f\xf8\0\0\0\0\0\0t"s);
  const auto numbers = read.root().elements();
  ASSERT_EQ(numbers.size(), 8u);
  EXPECT_EQ(numbers[0].as_int64(), 255);
  EXPECT_EQ(numbers[1].as_int64(), 0x0201);
  EXPECT_EQ(numbers[2].as_int64(), -1);
  EXPECT_EQ(numbers[3].as_int64(), 0);
  EXPECT_EQ(numbers[4].as_int64(), 255);
  EXPECT_EQ(numbers[5].as_int64(), -1);
  EXPECT_EQ(numbers[6].big_int(), "\0\0\0\0\0\0\0\0\x40"s);  // 2^70
  EXPECT_EQ(numbers[7].as_double(), 1.5);
  EXPECT_EQ(numbers[2].as_double(), -1.0);
}

// The later value, at the place of the first, also when there are many.
TEST(PickleMachine, KeepsTheOrderOfKeysAndTheLastValue) {
  std::string body = "}(";
  for (int i = 0; i < 20; ++i) body += text("key" + std::to_string(i)) + "K" + static_cast<char>(i);
  const PickleDocument read = pickle(body + text("key3") + "K\x63" + "K\x05K\x06u");
  EXPECT_EQ(read.root().size(), 21u);
  EXPECT_EQ(read.root().items()[3].value.as_int64(), 99);
  EXPECT_EQ(read.root().at("key19").as_int64(), 19);
  EXPECT_EQ(read.root().at_key(5).as_int64(), 6);
  EXPECT_FALSE(read.root().find(6));
}

TEST(PickleMachine, DescribesObjects) {
  const PickleDocument read = pickle("cmodule\nClass\n)\x81}" + text("a") + "K\1sb");
  const PickleValue object = read.root();
  EXPECT_TRUE(object.is_a("module.Class"));
  EXPECT_TRUE(object.is_made_by_new());
  EXPECT_EQ(object.at("a").as_int64(), 1);
  EXPECT_THAT(error_of([&] { (void)object.at("a").as_text(); })->what(),
              HasSubstr("file.pkl: 'a' is a whole number, not a text"));
  EXPECT_THAT(error_of([&] { (void)object.as_int64(); })->what(),
              HasSubstr("the value is an object of class 'module.Class', not a whole number"));
  // defaultdict(list, {1: 2}), and slots: the state is a pair.
  const PickleDocument derived = pickle("ccollections\ndefaultdict\nc__builtin__\nlist\n\x85RK\1K\2s");
  EXPECT_EQ(derived.root().object_entries()->at_key(1).as_int64(), 2);
  const PickleDocument slots = pickle("cm\nC\n)\x81N}" + text("x") + "K\7s\x86" + "b");
  EXPECT_EQ(slots.root().at("x").as_int64(), 7);
}

TEST(PickleMachine, NamesThePathOfAValue) {
  const PickleDocument read = pickle("}" + text("model") + "](K\1}" + text("w") + "Nses");
  const PickleValue value = read.root().at("model").element(1).at("w");
  EXPECT_EQ(value.path(), "model/1/w");
  EXPECT_THAT(error_of([&] { (void)value.as_tensor(); })->what(),
              HasSubstr("'model/1/w' is None, not a tensor"));
  EXPECT_THAT(error_of([&] { (void)read.root().at("model").element(2); })->what(),
              HasSubstr("'model': element 2 is missing: there are 2"));
}

TEST(PickleMachine, RefusesUnknownClassesWhereAsked) {
  EXPECT_THAT(failure("cposix\nsystem\n" + text("true") + "\x85R", UnknownClasses::kRefuse),
              HasSubstr("the file names 'posix.system'"));
  EXPECT_THAT(failure("c__builtin__\neval\n", UnknownClasses::kRefuse), HasSubstr("'__builtin__.eval'"));
  EXPECT_EQ(failure("ccollections\nOrderedDict\n)R", UnknownClasses::kRefuse), "no error");
}

TEST(PickleMachine, RefusesWhatIsNoPickle) {
  EXPECT_THAT(failure("0"), HasSubstr("more from its stack than it put there"));
  EXPECT_THAT(failure("(0K\1t"), HasSubstr("a mark that it did not set"));
  EXPECT_THAT(failure("K\1(K\2\x86"), HasSubstr("more from its stack"));  // not below the mark
  EXPECT_THAT(failure("h\7"), HasSubstr("memo entry 7 was never stored"));
  EXPECT_THAT(failure("Nr\xff\xff\xff\x7f"), HasSubstr("memo entry 2147483647 is beyond the size"));
  EXPECT_THAT(failure("X\xff\xff\xff\x7f"), HasSubstr("2147483647 bytes run past the end of the pickle"));
  EXPECT_THAT(failure("\x8e\xff\xff\xff\xff\xff\xff\xff\xff"), HasSubstr("run past the end"));
  EXPECT_THAT(failure("\x8b\xff\xff\xff\xff"), HasSubstr("a length is negative"));
  EXPECT_THAT(failure("\x95\xff\xff\xff\xff\xff\xff\xff\x7f"), HasSubstr("a frame runs past the end"));
  EXPECT_THAT(failure("\x80\x09"), HasSubstr("pickle protocol 9 is not known; 2 to 5 are"));
  EXPECT_THAT(failure("\xfe"), HasSubstr("opcode 0xfe is not one of torch.save's pickles"));
  EXPECT_THAT(failure("K\1)R"), HasSubstr("a whole number is called"));
  EXPECT_THAT(failure("cm\nC\nK\1R"), HasSubstr("arguments must be a tuple"));
  EXPECT_THAT(failure("K\1K\2a"), HasSubstr("elements are appended to a whole number"));
  EXPECT_THAT(failure("]K\1K\2s"), HasSubstr("entries are set in a list"));
  EXPECT_THAT(failure("](K\1u"), HasSubstr("a key has no value"));
  EXPECT_THAT(failure("K\1K\1b"), HasSubstr("a state is set for a whole number"));
  EXPECT_THAT(failure("cm\nC\n)\x81}b}b"), HasSubstr("an object that has one"));
  EXPECT_THAT(failure("K\1Q"), HasSubstr("a storage must be named by a tuple of five"));
  EXPECT_THAT(failure("c_codecs\nencode\n" + text("\xc5\x81") + text("latin1") + "\x86R"),
              HasSubstr("a character that is none"));
  EXPECT_THAT(error_of([] { read_pickle({}, "empty"); })->what(), HasSubstr("the pickle ends without STOP"));
}

// A list of 1,000, made a set 1,000 times: a million elements out of 6 kB.
TEST(PickleMachine, DoesNotMultiplyWhatIsShared) {
  std::string body = "c__builtin__\nset\nq\0]("s + std::string(1000, 'N') + "e\x85q\1";
  for (int i = 0; i < 1000; ++i) body += "h\0h\1R"s;
  EXPECT_THAT(failure(body), HasSubstr("repeats itself to fill the memory"));
}

// Lists within lists, dictionaries within dictionaries, calls within calls.
TEST(PickleMachine, DoesNotRecurse) {
  constexpr int kLevels = 100'000;
  std::string lists = std::string(kLevels, ']') + std::string(kLevels - 1, 'a');
  EXPECT_EQ(failure(lists), "no error");
  std::string dicts;
  for (int i = 0; i < kLevels; ++i) dicts += "}K\1";
  EXPECT_EQ(failure(dicts + "N" + std::string(kLevels, 's')), "no error");
  std::string objects = "Nq\0"s;
  for (int i = 0; i < kLevels; ++i) objects += "q\1cm\nC\nh\1\x85R"s;
  const PickleDocument read = pickle(objects);
  EXPECT_EQ(read.root().path(), "");
  PickleValue innermost = read.root();
  int levels = 0;
  for (; innermost.is_object(); innermost = innermost.arguments().element(0)) ++levels;
  EXPECT_EQ(levels, kLevels);
  EXPECT_THAT(error_of([&] { (void)innermost.as_text(); })->what(),
              HasSubstr("/arguments/0' is None, not a text"));
}

}  // namespace
}  // namespace nadi::inline files
