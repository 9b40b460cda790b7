#include "nadi/draw/html_page.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "nadi/base/base64.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/base/version.h"
#include "nadi/draw/markup_letter.h"

#if NADI_WITH_ZLIB
#include <zlib.h>
#endif

namespace nadi::inline show {
namespace {

// Divides by 3, so that base64 pads only at the end of a block.
constexpr std::size_t kChunk = 768 * 1024;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// As a Content-Security-Policy names a hash.
std::string hash_source(std::string_view hexadecimal) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hexadecimal.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(std::string(hexadecimal.substr(i, 2)), nullptr, 16)));
  std::string source = "'sha256-";
  append_base64(source, bytes);
  return source + "'";
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const char c = text.front();
    std::size_t length = 1;
    if (static_cast<unsigned char>(c) >= 0x80) {
      length = utf8_character(text);
      escaped += length == 0 ? kReplacement : text.substr(0, length);
    } else {
      append_markup_letter(escaped, static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return escaped;
}

#if NADI_WITH_ZLIB
class HtmlPage::Packer {
 public:
  static constexpr std::string_view kName = "deflate-raw";

  Packer() {
    constexpr int kLevel = 6, kRaw = -15, kMemory = 9;
    if (deflateInit2(&stream_, kLevel, Z_DEFLATED, kRaw, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
      throw environment_error("zlib could not be started: no memory?");
  }
  ~Packer() { deflateEnd(&stream_); }
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  // Appends what of the packed bytes comes out; all of them at the end.
  void pack(std::string_view bytes, bool end, std::string& packed) {
    std::array<char, 64 * 1024> buffer;
    do {
      const std::size_t step = std::min<std::size_t>(bytes.size(), 1 << 30);
      // zlib does not write through next_in; its type dates from before const.
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream_.avail_in = static_cast<uInt>(step);
      bytes.remove_prefix(step);
      do {
        stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
        stream_.avail_out = static_cast<uInt>(buffer.size());
        const int result = deflate(&stream_, end && bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
        check(result != Z_STREAM_ERROR, "a stream of zlib that is not in order");
        packed.append(buffer.data(), buffer.size() - stream_.avail_out);
      } while (stream_.avail_out == 0);
    } while (!bytes.empty());
    if (end) deflateReset(&stream_);
  }

 private:
  z_stream stream_ = {};
};
#else
class HtmlPage::Packer {
 public:
  static constexpr std::string_view kName = "stored";

  void pack(std::string_view bytes, bool, std::string& packed) { packed += bytes; }
};
#endif

HtmlPage::HtmlPage(std::filesystem::path path, Overwrite overwrite, const PageBundle& bundle,
                   std::string_view title)
    : file_(std::move(path), overwrite), bundle_(bundle), packer_(std::make_unique<Packer>()) {
  file_.write("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
  file_.write(
      fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {}; "
                  "style-src {}; img-src data: blob:; base-uri 'none'; form-action 'none'\">\n",
                  hash_source(bundle.script_sha256), hash_source(bundle.style_sha256)));
  file_.write("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
  file_.write("<meta name=\"referrer\" content=\"no-referrer\">\n<link rel=\"icon\" href=\"data:,\">\n");
  file_.write(fmt::format("<meta name=\"generator\" content=\"Nadi {}\">\n<title>{}</title>\n<style>",
                          escape_html(version()), escape_html(title)));
  file_.write(bundle.style);
  file_.write("</style>\n</head>\n<body>\n<div id=\"page\"><p class=\"opening\">Opening…</p></div>\n");
  file_.write("<noscript>This page is drawn by the script that it holds: please allow scripts.</noscript>\n");
}

HtmlPage::~HtmlPage() = default;

void HtmlPage::head(std::string_view json) {
  std::string escaped;
  while (!json.empty()) {
    std::size_t length = 1;
    if (static_cast<unsigned char>(json.front()) >= 0x80) {
      length = utf8_character(json);
      const std::string_view character = json.substr(0, length);
      // Ends of lines in older JavaScript.
      if (character == "\xE2\x80\xA8") {
        escaped += "\\u2028";
      } else if (character == "\xE2\x80\xA9") {
        escaped += "\\u2029";
      } else {
        escaped += length == 0 ? kReplacement : character;
      }
    } else if (json.front() == '<') {
      escaped += "\\u003c";
    } else {
      escaped += json.front();
    }
    json.remove_prefix(std::max<std::size_t>(length, 1));
  }
  file_.write("<script type=\"application/json\" id=\"head\">");
  file_.write(escaped);
  file_.write("</script>\n");
}

void HtmlPage::begin_block(std::string_view name) {
  check(block_.empty() && !name.empty() &&
            name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") == std::string_view::npos,
        "a block within a block, or a name of other letters");
  block_ = name;
  plain_ = 0;
}

void HtmlPage::write(std::string_view bytes) {
  check(!block_.empty(), "bytes outside a block");
  plain_ += bytes.size();
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kChunk);
    packer_->pack(piece, false, packed_);
    bytes.remove_prefix(piece.size());
    // One chunk stays, so that the last one written is the last one of the block.
    while (packed_.size() > kChunk) {
      write_chunk(std::string_view(packed_).substr(0, kChunk), false);
      packed_.erase(0, kChunk);
    }
  }
}

void HtmlPage::end_block() {
  check(!block_.empty(), "the end of a block that was not begun");
  packer_->pack({}, true, packed_);
  std::string_view rest = packed_;
  for (; rest.size() > kChunk; rest.remove_prefix(kChunk)) write_chunk(rest.substr(0, kChunk), false);
  write_chunk(rest, true);
  packed_.clear();
  block_.clear();
}

void HtmlPage::block(std::string_view name, std::string_view bytes) {
  begin_block(name);
  write(bytes);
  end_block();
}

void HtmlPage::write_chunk(std::string_view bytes, bool last) {
  file_.write(fmt::format("<script type=\"application/octet-stream\" data-block=\"{}\"", block_));
  if (last) file_.write(fmt::format(" data-coding=\"{}\" data-bytes=\"{}\"", Packer::kName, plain_));
  std::string text = ">";
  append_base64(text, bytes);
  file_.write(text);
  file_.write("</script>\n");
}

void HtmlPage::commit() {
  check(block_.empty(), "a block that was not ended");
  file_.write("<script>");
  file_.write(bundle_.script);
  file_.write("</script>\n</body>\n</html>\n");
  file_.commit();
}

}  // namespace nadi::inline show
