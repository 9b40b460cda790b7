// Scripts are evaluated here and by a real bash, which must agree.
#include "nadi/shell/shell_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/shell/shell_arithmetic.h"
#include "nadi/testing/text_files.h"
#include "nadi/testing/working_folder.h"

namespace nadi::inline jobs {
namespace {

using testing::HasSubstr;

std::optional<std::string> small_environment(const std::string& name) {
  if (name == "HOME") return "/home/a";
  if (name == "GIVEN") return "from outside";
  return std::nullopt;
}

ShellSettings settings_of(const std::string& text) {
  return parse_shell_settings(text, "conf.sh", &small_environment);
}

std::string settings_error(const std::string& text) {
  try {
    settings_of(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// "NAME=value" lines of the variables, as bash has them after the script.
std::string in_bash(const std::string& script, const std::vector<ShellSetting>& settings) {
  std::string text = script + "\n";
  for (const ShellSetting& setting : settings)
    text += format("printf '%s=%s\\n' {} \"${}\"\n", setting.name, setting.name);
  write_text("in_bash.sh", text);
  FILE* const bash = popen("env -i HOME=/home/a GIVEN='from outside' bash --norc in_bash.sh 2>&1", "r");
  std::string printed;
  for (std::array<char, 4096> block{}; std::fgets(block.data(), block.size(), bash) != nullptr;)
    printed += block.data();
  pclose(bash);
  return printed;
}

TEST(ShellSettings, AreThoseOfBash) {
  const WorkingFolder folder;
  for (const char* script : {
           "A=1 # a comment\nB=$A$A\nC=\"${A} and '$B'\"\nD='$A'\nE=x#y\n",
           "export A=1 B=\"two words\"; readonly C=3\n  D=4;E=5\nF=\n",
           "A=a\\ b\nB=\"a\\\"b\\$c\\d\"\nC='a'\"b\"c\nD=\"a\nb\"\nE=a\\\nb\n",
           "A=5\nB=$((A * 2 + 1))\nC=$(( (A + 1) * (A - 1) ))\nD=$((A > 3 ? 7 : 1/0))\nE=\"$((A*A))x\"\n",
           "A=\nB=${A:-d}\nC=${A-d}\nD=${N:-${B}e}\nE=${B:+yes}\nF=${N+no}\nG=${N:=set}\nH=$N\n",
           "A=dir/name.tar.gz\nB=${A%.*}\nC=${A%%.*}\nD=${A#*/}\nE=${A##*.}\nF=${#A}\nG=${A:4:3}\nH=${A: "
           "-2}\nI=${A^^}\n",
           "A=${GIVEN}\nB=~/x\nC=\"~\"\nD=$HOME\n",
           "A=1\nA=2\nB=$A\nA+=3\nC=$A\nunset B\nD=${B-gone}\n",
           "declare -i A=2*3\n((B = A + 1, C = B ** 2))\nlet D=C+1 'E = D'\n: ${F:=6}\n",
           "M=xl\nif [ \"$M\" = xl ]; then L=48; elif [ $M == small ]; then L=12\nelse L=0; fi\n",
           "N=4\nif [[ $N -gt 8 || $N == [3-5] ]]; then A=many\nfi\nif (( N == 8 )); then B=1; else B=2; fi\n"
           "if ! [ -n \"$N\" ]; then A=none; fi\n",
           "M=small\ncase $M in\n  xl|\"large\") L=48 ;;\n  s*) L=12\n  W=768;;\n  *) L=0 ;;\nesac\n",
           "A=1\n[ $A = 1 ] && B=yes\n[ $A = 2 ] && B=no || C=other\ntrue && D=4; false || E=5\n",
           "\tA='1'   \n\n  # B=2\n B=\"3\" ; C=4   # end\n",
           "A=\"${N:-\"a b\"}\"\nB=\"x${N-'q'}\"\nC=$\nD=a$\n",
           "A=1\nif false; then A=$(false; echo 9); fi\n",
           "A=1\nexit 0\nA=2\n",
       }) {
    const ShellSettings read = settings_of(script);
    std::string ours;
    for (const ShellSetting& setting : read.settings) ours += format("{}={}\n", setting.name, setting.value);
    const std::string stops = std::string(script).find("exit") == std::string::npos ? script : "A=1\n";
    EXPECT_EQ(ours, in_bash(stops, read.settings)) << script;
    EXPECT_FALSE(read.settings.empty());
  }
}

TEST(ShellSettings, ArithmeticIsThatOfBash) {
  const WorkingFolder folder;
  std::string script;
  int number = 0;
  for (const char* expression :
       {"1+2*3",     "(1+2)*3",   "-2**2",       "2**3**2",   "7/2",
        "-7/2",      "-7%3",      "1<<10>>3",    "5&3|8^1",   "!0+!5",
        "~5",        "1&&0||1",   "3<4==1",      "0x1F",      "017",
        "2#1011",    "36#z",      "1?2:3?4:5",   "0?2:0?4:5", "a=4,a*2",
        "a+=1",      "a++ + ++a", "a--",         "b",         "9223372036854775807+1",
        "x*y",       "1 , 2",     " ( ( 3 ) ) ", "",          "10 % 4 * 2",
        "6 - 2 - 1", "a<<=2",     "1!=2",        "- - 3",     "+4",
        "1||1/0",    "0&&1/0",    "x>y?x:y"})
    script += format("R{}=$(({}))\n", number++, expression);
  script = "x=6\ny=x+1\na=3\n" + script;
  const ShellSettings read = settings_of(script);
  std::string ours;
  for (const ShellSetting& setting : read.settings) ours += format("{}={}\n", setting.name, setting.value);
  EXPECT_EQ(ours, in_bash(script, read.settings));
}

TEST(ShellSettings, NothingIsExecutedAndCommandsAreNamed) {
  const WorkingFolder folder;
  EXPECT_EQ(settings_error("A=1\nX=$(touch was_here)\n"),
            "conf.sh:2: X needs the output of the command 'touch was_here', and nothing is executed here");
  EXPECT_THAT(settings_error("X=`touch was_here`\n"), HasSubstr("X needs the output of the command"));
  EXPECT_THAT(settings_error("X=\"a${N:-$(touch was_here)}\"\n"), HasSubstr("conf.sh:1: X needs the output"));
  EXPECT_THAT(settings_error("X=$((1 + $(touch was_here)))\n"), HasSubstr("the command 'touch was_here'"));
  const ShellSettings read =
      settings_of("touch was_here\nmkdir -p a && echo b | cat > c\nA=1 touch was_here\n. other.sh\nB=2\n");
  std::string named;
  for (const ShellCommand& command : read.commands) named += format("{}:{} ", command.line, command.name);
  EXPECT_EQ(named, "1:touch 2:mkdir 2:echo 2:cat 3:touch 4:. ");
  ASSERT_EQ(read.settings.size(), 1U);
  EXPECT_EQ(read.settings[0].line, 5);
  EXPECT_FALSE(std::filesystem::exists("was_here"));
}

TEST(ShellSettings, DotsStandForLinesThatWereLeftOut) {
  const ShellSettings read = settings_of(".\n.\n.\nA=1\n...\nB=2\n");
  EXPECT_EQ(read.dots, (std::vector<std::int64_t>{1, 2, 3, 5}));
  EXPECT_EQ(read.find("B")->value, "2");
  EXPECT_TRUE(read.commands.empty());
}

TEST(ShellSettings, WhatIsNotSetIsEmptyAndSaid) {
  const ShellSettings read = settings_of("A=1\nB=x$NOBODY\n");
  EXPECT_EQ(read.find("B")->value, "x");
  ASSERT_EQ(read.unset.size(), 1U);
  EXPECT_EQ(read.unset[0].name, "NOBODY");
  EXPECT_EQ(read.unset[0].line, 2);
}

TEST(ShellSettings, WhatOnlyAShellCanDoIsRefused) {
  EXPECT_THAT(settings_error("for i in 1 2; do A=$i; done\n"), HasSubstr("conf.sh:1: 'for' needs a shell"));
  EXPECT_THAT(settings_error("f() { A=1; }\n"), HasSubstr("'f' is a function"));
  EXPECT_THAT(settings_error("\nA=(1 2)\n"), HasSubstr("conf.sh:2: A is an array"));
  EXPECT_THAT(settings_error("declare -a A\n"), HasSubstr("makes an array"));
  EXPECT_THAT(settings_error("grep -q x y && A=1\n"),
              HasSubstr("whether 'A=1' happens depends on a command"));
  EXPECT_THAT(settings_error("if grep -q x y; then A=1; fi\n"),
              HasSubstr("the condition 'grep -q x y' is a command"));
  EXPECT_THAT(settings_error("cat <<E\nA=1\nE\n"), HasSubstr("a here-document"));
  EXPECT_THAT(settings_error("A=$1\n"), HasSubstr("'$1': this use of '$' is not read"));
  EXPECT_THAT(settings_error("A=${B/x/y}\n"), HasSubstr("this use of '$' is not read"));
  EXPECT_THAT(settings_error("A=${B:?who}\n"), HasSubstr("B is not set: who"));
}

TEST(ShellSettings, DamageIsRefusedWithItsLine) {
  EXPECT_THAT(settings_error("A=\"1\n"), HasSubstr("a quote without an end"));
  EXPECT_THAT(settings_error("A='1\n"), HasSubstr("a quote without an end"));
  EXPECT_THAT(settings_error("A=${B\n"), HasSubstr("without an end"));
  EXPECT_THAT(settings_error("if true; then A=1\n"), HasSubstr("'fi' is expected"));
  EXPECT_THAT(settings_error("fi\n"), HasSubstr("'fi' is not expected here"));
  EXPECT_THAT(settings_error("A=$((1/0))\n"), HasSubstr("division by 0"));
  EXPECT_THAT(settings_error("A=$((1 +))\n"), HasSubstr("missing at its end"));
  EXPECT_THAT(settings_error("A=$((1 2))\n"), HasSubstr("'2' is not expected"));
  EXPECT_THAT(settings_error("x=y\ny=x\nA=$((x))\n"), HasSubstr("conf.sh:3: arithmetic"));
  EXPECT_THAT(settings_error("A=$((" + std::string(5000, '(') + "1))\n"), HasSubstr("conf.sh:1"));
  EXPECT_THAT(settings_error("[ a -gt 1 ] && A=1\n"), HasSubstr("'a' is compared as a number"));
}

// Each line doubles the value: 2^17 bytes in line 18.
TEST(ShellSettings, ValuesDoNotGrowWithoutEnd) {
  std::string doubling = "A=x\n", many = "A=" + std::string(60'000, 'x') + "\n";
  for (int i = 0; i < 40; ++i) doubling += "A=$A$A\n";
  EXPECT_THAT(settings_error(doubling), HasSubstr("conf.sh:18: a value is longer than 65,536 bytes"));
  for (int i = 0; i < 400; ++i) many += "A" + std::to_string(i) + "=$A\n";
  EXPECT_THAT(settings_error(many), HasSubstr("the values of all variables are too long"));
}

}  // namespace
}  // namespace nadi::inline jobs
