// nadi data get
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/version.h"
#include "nadi/cli/train_flags.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/download/get_data.h"
#include "nadi/report/got_data_report.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {
namespace {

std::string described_data() {
  std::string text;
  for (const PublicData& data : public_data())
    text += format("{}{}: {}{}", text.empty() ? "" : "; ", data.name, data.about,
                   data.package.empty() ? ", only with --from" : format(", npm package {}", data.package));
  return text;
}

}  // namespace

void add_data_get_flags(Flags& flags) {
  flags.set_positional({.name = "DATA", .help = described_data(), .many = true});
  flags.value("--from", "WHERE",
              "where the files are, in place of a package: http(s)://..., a folder, or a file",
              "the npm package, by npm's own settings");
  flags.value("--cache-dir", "FOLDER", "where they go: the folder that 'nadi train' searches",
              kDefaultCacheDir);
  flags.toggle("--force", "replace other files that have their names");
  flags.toggle("--json", "print JSON: see docs/json.md");
}

void run_data_get(const Flags& flags, Console& console) {
  std::vector<const PublicData*> wanted;
  for (const std::string& name : flags.positionals()) wanted.push_back(&public_data_named(name));
  GetDataOptions options{.cache = flags.text("--cache-dir").value_or(kDefaultCacheDir),
                         .from = flags.text("--from").value_or(""),
                         .overwrite = flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse,
                         .note = [&](const std::string& what) { console.info() << "note: " << what << "\n"; },
                         .wait = [&] { console.check_interrupted(); }};
  Json all = Json::array();
  for (const PublicData* data : wanted) {
    const GotData got = get_data(*data, options);
    if (flags.given("--json"))
      all.push_back(got_json(*data, got));
    else
      print_got(*data, got, console.out);
  }
  if (flags.given("--json"))
    console.out << dump_json({{"nadi_version", version()}, {"data", std::move(all)}});
}

}  // namespace nadi::inline show
