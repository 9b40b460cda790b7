// Texts that would run something, expand or fall apart where they are not quoted. Whatever is executed makes
// the file kHostileMark in the current folder.
#pragma once

#include <string>
#include <vector>

namespace nadi::inline jobs {

inline constexpr const char* kHostileMark = "hostile_was_here";

inline std::vector<std::string> hostile_texts() {
  const std::string mark = std::string("touch ") + kHostileMark;
  return {"$(" + mark + ")",
          "`" + mark + "`",
          "; " + mark + " #",
          "'; " + mark + "; '",
          "\"; " + mark + "; \"",
          "' $(" + mark + ") '",
          "\n" + mark + "\n",
          "a\n#SBATCH --wrap=\"" + mark + "\"",
          "EOF\n" + mark + "\nEOF",
          "&& " + mark,
          "| " + mark,
          "$HOME",
          "${HOME",
          "$((1+1))",
          "*",
          "?",
          "[a-z]*",
          "{a,b}",
          "~",
          "~root",
          "!!",
          "!$",
          "\\",
          "\\'",
          "\\\"",
          "'",
          "''",
          "\"",
          "-n",
          "--",
          "--help",
          "-e",
          " ",
          "  two  spaces  ",
          "\t",
          "\r\n",
          "#comment",
          "a#b",
          "%j",
          "%N%%",
          ">" + std::string(kHostileMark),
          "<(" + mark + ")",
          "=ls",
          "a=b",
          "caf\xc3\xa9 \xe2\x80\x9cquotes\xe2\x80\x9d",
          "\xff\xfe",
          std::string(5000, '\'')};
}

}  // namespace nadi::inline jobs
