// Writes a page that needs nothing but itself: style, script, a head in JSON and any number of blocks of
// bytes, compressed. The page can be opened from a disk or an e-mail; it asks nothing of any network.
//
//   HtmlPage page("timeline.html", Overwrite::kRefuse, timeline_bundle(), "gpt2 on 8 ranks");
//   page.head(R"({"ranks": 8})");          // once, first
//   page.begin_block("starts");            // any number of blocks, each in any number of pieces
//   page.write(bytes);
//   page.end_block();
//   page.commit();                         // only now the file exists
//
// In the page, web/page_data.js gives both back: pageHead() and readBlock('starts').
//
// Texts from traces go into the head or a block, never into the HTML: the head is escaped so that no text
// ends its element, and a Content-Security-Policy lets nothing run but the bundled script, by its hash, and
// lets nothing be requested. Blocks are deflated and written as base64 in elements of at most 1 MiB, which
// the browser does not run. Memory stays below 3 MiB whatever the size of the page. Without zlib in the
// build, blocks are not compressed.
//
// Errors: those of AtomicFile.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "nadi/base/atomic_file.h"
#include "nadi/draw/page_bundle.h"

namespace nadi::inline show {

class HtmlPage {
 public:
  HtmlPage(std::filesystem::path path, Overwrite overwrite, const PageBundle& bundle, std::string_view title);
  ~HtmlPage();
  HtmlPage(const HtmlPage&) = delete;
  HtmlPage& operator=(const HtmlPage&) = delete;

  // JSON text. What is not UTF-8 in it is replaced by U+FFFD.
  void head(std::string_view json);

  // Names are made of a-z, 0-9, '_' and '.'.
  void begin_block(std::string_view name);
  void write(std::string_view bytes);
  void end_block();
  void block(std::string_view name, std::string_view bytes);

  void commit();
  Bytes size() const { return file_.size(); }

 private:
  class Packer;

  void write_chunk(std::string_view bytes, bool last);

  AtomicFile file_;
  const PageBundle& bundle_;
  std::unique_ptr<Packer> packer_;
  std::string block_;        // name of the block that is open, or empty
  std::string packed_;       // its packed bytes that are not written yet
  std::uint64_t plain_ = 0;  // its bytes before packing
};

// Text with what has a meaning in HTML escaped, bytes that are not UTF-8 as U+FFFD, control characters as
// spaces.
std::string escape_html(std::string_view text);

}  // namespace nadi::inline show
