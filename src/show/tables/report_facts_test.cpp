#include "nadi/tables/report_facts.h"

#include <gtest/gtest.h>

namespace nadi::inline show {
namespace {

std::vector<ReportFact> facts_for_tests() {
  return {{{"file", "file", CellKind::kText}, std::string("a.et")},
          {{"bytes", "size", CellKind::kBytes}, std::int64_t{1'500'000}, {"1.50 MB", "(1,500,000 bytes)"}},
          {{"whole", "whole", CellKind::kYesNo}, true},
          {{"dropped", "dropped", CellKind::kCount, Shown::kUnlessZero}, std::int64_t{0}},
          {{"rank", "rank", CellKind::kCount}},
          {{"nodes", "", CellKind::kCount, Shown::kToPrograms}, std::int64_t{12}},
          {{"", "note", CellKind::kText}, std::string("for people")}};
}

TEST(ReportFacts, ForPeople) {
  EXPECT_EQ(facts_text(facts_for_tests(), 8),
            "file    a.et\n"
            "size    1.50 MB (1,500,000 bytes)\n"
            "whole   yes\n"
            "note    for people\n");
}

TEST(ReportFacts, ForPrograms) {
  EXPECT_EQ(facts_json(facts_for_tests()).dump(),
            R"({"file":"a.et","bytes":1500000,"whole":true,"dropped":0,"rank":null,"nodes":12})");
}

}  // namespace
}  // namespace nadi::inline show
