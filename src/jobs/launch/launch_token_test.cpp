#include "nadi/launch/launch_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <thread>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline jobs {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

EnvironmentLookup with(std::map<std::string, std::string> variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

std::string refusal(const EnvironmentLookup& environment) {
  try {
    launch_token(environment);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    return std::string(error.what()) + " | " + error.hint();
  }
  return "no error";
}

TEST(LaunchToken, IsMadeOnceForAllLaunchesOfAUser) {
  const TemporaryFolder home;
  const EnvironmentLookup environment = with({{"HOME", home.path().string()}});
  // Many at once: all of them must know one token.
  std::vector<LaunchToken> tokens(8);
  std::vector<std::thread> threads;
  for (LaunchToken& token : tokens) threads.emplace_back([&] { token = launch_token(environment); });
  for (std::thread& thread : threads) thread.join();
  const fs::path file = home / ".config/nadi/launch_token";
  for (const LaunchToken& token : tokens) EXPECT_EQ(token.text + "\n", read_text(file));
  EXPECT_EQ(tokens.front().text.size(), 64u);
  EXPECT_EQ(tokens.front().place, file.string());
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(std::distance(fs::directory_iterator(file.parent_path()), {}), 1) << "no drafts are left";
}

TEST(LaunchToken, MayBeGivenInTheEnvironment) {
  EXPECT_EQ(launch_token(with({{kTokenVariable, "sixteen letters!"}})).text, "sixteen letters!");
  EXPECT_EQ(refusal(with({{kTokenVariable, "short"}})),
            "NADI_LAUNCH_TOKEN: a token of 5 letters; it must have 16 at least | the same secret for all "
            "launches of the job, which nobody can guess");
  EXPECT_THAT(refusal(with({})), HasSubstr("there is no home folder"));
}

TEST(LaunchToken, IsNotTakenFromAFileThatOthersCanRead) {
  const TemporaryFolder home;
  const fs::path file = home / "nadi/launch_token";
  write_text(file, "a token that everybody can read\n");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read);
  EXPECT_EQ(refusal(with({{"XDG_CONFIG_HOME", home.path().string()}})),
            file.string() +
                ": the token must belong to this user and be readable for nobody else | chmod 600 " +
                file.string() + ", or remove the file: a new one is made");
}

TEST(LaunchToken, ProvesItselfToTheOtherSideAnewEachTime) {
  const LaunchToken token{.text = "sixteen letters!"}, other{.text = "sixteen letters?"};
  const std::string proof = proof_of(token, MeetingSide::kHost, "1", "2");
  EXPECT_TRUE(same_proof(proof, proof_of(token, MeetingSide::kHost, "1", "2")));
  EXPECT_FALSE(same_proof(proof, proof_of(token, MeetingSide::kGuest, "1", "2"))) << "sent back as it came";
  EXPECT_FALSE(same_proof(proof, proof_of(token, MeetingSide::kHost, "1", "3"))) << "another challenge";
  EXPECT_FALSE(same_proof(proof, proof_of(other, MeetingSide::kHost, "1", "2"))) << "another token";
  EXPECT_FALSE(same_proof(proof, proof.substr(1)));
  EXPECT_NE(random_digits(), random_digits());
}

}  // namespace
}  // namespace nadi::inline jobs
