#include "nadi/data/squad_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <utility>

#include "nadi/base/error.h"

namespace nadi::inline files {
namespace {

using testing::SizeIs;

// `paragraphs` different contexts with two questions each.
SquadSet make_set(std::size_t paragraphs) {
  SquadSet set{.version = "1.1"};
  for (std::size_t p = 0; p < paragraphs; ++p) {
    const std::string name = std::to_string(p);
    set.paragraphs.push_back({.title = "T", .context = "context " + name});
    for (const char* letter : {"a", "b"})
      set.questions.push_back({.id = letter + name, .text = "question about " + name, .paragraph = p});
  }
  return set;
}

std::set<std::string> contexts_of(const SquadSet& set) {
  std::set<std::string> contexts;
  for (const SquadQuestion& question : set.questions)
    contexts.insert(set.paragraphs.at(question.paragraph).context);
  return contexts;
}

std::set<std::string> ids_of(const SquadSet& set) {
  std::set<std::string> ids;
  for (const SquadQuestion& question : set.questions) ids.insert(question.id);
  return ids;
}

TEST(SquadSplit, SetsAFractionOfTheContextsAside) {
  // 0.2 of 10 contexts are 2, with 2 questions each.
  const SquadSplit split = split_squad(make_set(10), {.fraction = 0.2, .seed = 3});
  EXPECT_THAT(split.validation.paragraphs, SizeIs(2));
  EXPECT_THAT(split.validation.questions, SizeIs(4));
  EXPECT_THAT(split.train.paragraphs, SizeIs(8));
  EXPECT_THAT(split.train.questions, SizeIs(16));
  EXPECT_EQ(split.train.version, "1.1");
  for (const SquadSet* side : {&split.train, &split.validation}) {
    for (const SquadQuestion& question : side->questions) {
      const std::string number = question.id.substr(1);
      EXPECT_EQ(side->paragraphs.at(question.paragraph).context, "context " + number);
    }
  }
  std::set<std::string> ids = ids_of(split.train);
  ids.merge(ids_of(split.validation));
  EXPECT_THAT(ids, SizeIs(20));
}

TEST(SquadSplit, DependsOnTheSeedOnly) {
  const auto validation = [](std::uint64_t seed) {
    return ids_of(split_squad(make_set(50), {.fraction = 0.2, .seed = seed}).validation);
  };
  EXPECT_EQ(validation(1), validation(1));
  EXPECT_NE(validation(1), validation(2));
}

TEST(SquadSplit, AContextThatIsGivenTwiceIsOnOneSide) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SquadSet set = make_set(6);
    for (SquadParagraph& paragraph : set.paragraphs)
      paragraph.context = &paragraph - set.paragraphs.data() < 3 ? "first" : "second";
    const SquadSplit split = split_squad(std::move(set), {.fraction = 0.5, .seed = seed});
    EXPECT_THAT(split.train.questions, SizeIs(6));
    EXPECT_NE(contexts_of(split.train), contexts_of(split.validation));
    EXPECT_THAT(contexts_of(split.train), SizeIs(1));
  }
}

TEST(SquadSplit, LeavesAtLeastOneContextOnEachSide) {
  EXPECT_THAT(split_squad(make_set(5), {.fraction = 0.01}).validation.paragraphs, SizeIs(1));
  EXPECT_THAT(split_squad(make_set(5), {.fraction = 0.99}).train.paragraphs, SizeIs(1));
}

TEST(SquadSplit, ParagraphsWithoutQuestionsAreOnNeitherSide) {
  SquadSet set = make_set(3);
  set.paragraphs.insert(set.paragraphs.begin(), {.title = "T", .context = "unasked"});
  for (SquadQuestion& question : set.questions) ++question.paragraph;
  const SquadSplit split = split_squad(std::move(set), {.fraction = 0.34});
  EXPECT_THAT(split.validation.paragraphs, SizeIs(1));
  EXPECT_THAT(split.train.paragraphs, SizeIs(2));
}

TEST(SquadSplit, RefusesWhatCannotBeSplit) {
  const auto kind_of = [](std::size_t paragraphs, double fraction) {
    try {
      split_squad(make_set(paragraphs), {.fraction = fraction});
    } catch (const Error& error) {
      return error.kind();
    }
    ADD_FAILURE() << "accepted";
    return ErrorKind::kEnvironment;
  };
  EXPECT_EQ(kind_of(1, 0.5), ErrorKind::kInput);
  EXPECT_EQ(kind_of(4, 0), ErrorKind::kUsage);
  EXPECT_EQ(kind_of(4, 1), ErrorKind::kUsage);
  EXPECT_EQ(kind_of(4, std::numeric_limits<double>::quiet_NaN()), ErrorKind::kUsage);
}

}  // namespace
}  // namespace nadi::inline files
