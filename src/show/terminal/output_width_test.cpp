#include "nadi/terminal/output_width.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "nadi/terminal/output_stream.h"

namespace nadi::inline show {
namespace {

TEST(OutputWidth, WhatTheEnvironmentSays) {
  const char* before = std::getenv("COLUMNS");
  const std::string kept = before == nullptr ? "" : before;
  constexpr int kNoTerminal = -1;
  const OutputStream out(kNoTerminal, "nothing");
  unsetenv("COLUMNS");
  EXPECT_EQ(output_width(out), 100);
  EXPECT_EQ(table_width(out), kNoWidthLimit) << "tables in files are whole";
  setenv("COLUMNS", "80", 1);
  EXPECT_EQ(output_width(out), 80);
  EXPECT_EQ(table_width(out), 80);
  setenv("COLUMNS", "5", 1);
  EXPECT_EQ(output_width(out), 40);
  setenv("COLUMNS", "100000", 1);
  EXPECT_EQ(output_width(out), 200);
  for (const char* wrong : {"", "wide", "80x", "-3"}) {
    setenv("COLUMNS", wrong, 1);
    EXPECT_EQ(output_width(out), 100) << wrong;
  }
  setenv("COLUMNS", "80", 1);
  EXPECT_EQ(output_width(std::ostringstream()), 100);
  EXPECT_EQ(table_width(std::ostringstream()), 100);
  std::ostringstream narrow;
  set_output_width(narrow, 60);
  EXPECT_EQ(output_width(narrow), 60);
  EXPECT_EQ(table_width(narrow), 60);
  if (before == nullptr)
    unsetenv("COLUMNS");
  else
    setenv("COLUMNS", kept.c_str(), 1);
}

}  // namespace
}  // namespace nadi::inline show
