#include "nadi/command_line/flag_hints.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "nadi/testing/source_folder.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;

// The texts of all sources outside cli/, with string literals that are continued on the next line joined.
std::string library_sources() {
  std::string texts;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(source_folder() / "src")) {
    const std::string path = entry.path().string();
    if (path.find("/src/show/cli/") == std::string::npos && path.ends_with(".cpp") &&
        !path.ends_with("_test.cpp"))
      texts += read_text(entry.path());
  }
  std::string joined;
  for (std::size_t at = 0; at < texts.size(); ++at) {
    if (texts[at] == '"') {
      const std::size_t next = texts.find_first_not_of(" \n", at + 1);
      if (next != std::string::npos && next > at + 1 && texts[next] == '"' &&
          texts.substr(at, next - at).find('\n') != std::string::npos) {
        at = next;
        continue;
      }
    }
    joined += texts[at];
  }
  return joined;
}

TEST(FlagHints, ReplaceTheWordsOfTheLibrary) {
  EXPECT_EQ(hint_with_flags("read the file leniently to skip the rest"), "use --lenient to skip the rest");
  EXPECT_EQ(hint_with_flags("nothing to replace"), "nothing to replace");
}

// A hint that is worded anew in a library must be worded anew here, or it loses its flag.
TEST(FlagHints, AreOfHintsThatTheLibraryGives) {
  const std::string sources = library_sources();
  for (const FlagWording& wording : flag_wordings())
    EXPECT_NE(sources.find(wording.library), std::string::npos) << wording.library;
}

}  // namespace
}  // namespace nadi::inline show
