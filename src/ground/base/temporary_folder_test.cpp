#include "nadi/base/temporary_folder.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/testing/temporary_variable.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline ground {
namespace {

namespace fs = std::filesystem;

TEST(TemporaryFolder, GoesWithEverythingInIt) {
  fs::path path;
  {
    const TemporaryFolder folder("purpose"), other("purpose");
    path = folder.path();
    EXPECT_NE(path, other.path());
    EXPECT_TRUE(path.filename().string().starts_with("nadi-purpose-")) << path;
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    fs::create_directory(folder / "within");
    write_text(folder / "within/a.txt", "a");
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(TemporaryFolder, GoesWithAnException) {
  fs::path path;
  try {
    const TemporaryFolder folder;
    path = folder.path();
    throw environment_error("full");
  } catch (const Error&) {
  }
  EXPECT_FALSE(path.empty());
  EXPECT_FALSE(fs::exists(path));
}

TEST(TemporaryFolder, NamesTheFolderThatCannotHoldIt) {
  const TemporaryFolder folder;
  write_text(folder / "file", "");
  for (const char* missing : {"missing", "file"}) {
    const TemporaryVariable variable("TMPDIR", (folder / missing).string());
    try {
      const TemporaryFolder none("purpose");
      FAIL() << missing;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
      EXPECT_NE(error.hint().find("TMPDIR"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace nadi::inline ground
