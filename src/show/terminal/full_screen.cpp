#include "nadi/terminal/full_screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "nadi/base/ascii.h"
#include "nadi/base/error.h"

namespace nadi::inline show {
namespace {

constexpr std::string_view kEnter =
    "\033[?1049h\033[?25l\033[?7l";  // alternate screen, no cursor, no wrapping
constexpr std::string_view kLeave = "\033[?7h\033[?25h\033[?1049l";
constexpr std::string_view kClear = "\033[2J";

struct KeyBytes {
  std::string_view bytes;
  ScreenKey key;
};
constexpr KeyBytes kKeys[] = {
    {"\033[A", ScreenKey::kUp},      {"\033OA", ScreenKey::kUp},
    {"\033[B", ScreenKey::kDown},    {"\033OB", ScreenKey::kDown},
    {"\033[C", ScreenKey::kDown},    {"\033[D", ScreenKey::kUp},
    {"\033OC", ScreenKey::kDown},    {"\033OD", ScreenKey::kUp},
    {"\033[5~", ScreenKey::kPageUp}, {"\033[6~", ScreenKey::kPageDown},
    {"\033[H", ScreenKey::kHome},    {"\033[1~", ScreenKey::kHome},
    {"\033[F", ScreenKey::kEnd},     {"\033[4~", ScreenKey::kEnd},
    {"\033[Z", ScreenKey::kBackTab}, {"\t", ScreenKey::kTab},
    {"q", ScreenKey::kQuit},         {"Q", ScreenKey::kQuit},
    {"\004", ScreenKey::kQuit},      {"e", ScreenKey::kErrors},
    {"E", ScreenKey::kErrors},       {"k", ScreenKey::kUp},
    {"j", ScreenKey::kDown},         {"?", ScreenKey::kHelp},
    {"h", ScreenKey::kHelp},
};

}  // namespace

ScreenKey take_key(std::string& bytes) {
  if (bytes.empty()) return ScreenKey::kNone;
  for (const auto& [text, key] : kKeys)
    if (bytes.starts_with(text)) {
      bytes.erase(0, text.size());
      return key;
    }
  if (bytes[0] != '\033') {
    bytes.erase(0, 1);
    return ScreenKey::kOther;
  }
  // An unknown escape sequence: up to its letter.
  std::size_t end = 1;
  if (bytes.size() > 1 && (bytes[1] == '[' || bytes[1] == 'O')) {
    end = 2;
    while (end < bytes.size() && (is_digit(bytes[end]) || bytes[end] == ';')) ++end;
    if (end < bytes.size()) ++end;
  }
  bytes.erase(0, end);
  return ScreenKey::kOther;
}

std::string screen_text(std::string_view text, std::size_t columns) {
  std::string shown;
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size() && used < columns; ++used) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      shown += byte < 0x20 || byte == 0x7F ? ' ' : text[at];
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    while (end < text.size() && is_continuation(text[end])) ++end;
    // U+00A1 to U+024F, Latin letters and signs: two bytes, one column. U+00AD is invisible.
    const bool latin = end - at == 2 && ((byte == 0xC2 && static_cast<unsigned char>(text[at + 1]) > 0xA0 &&
                                          static_cast<unsigned char>(text[at + 1]) != 0xAD) ||
                                         (byte >= 0xC3 && byte <= 0xC8));
    // The sign for what was left out, which we write ourselves.
    const bool ellipsis = text.substr(at, end - at) == "\u2026";
    shown += latin || ellipsis ? std::string(text.substr(at, end - at)) : "?";
    at = end;
  }
  return shown;
}

bool FullScreen::is_possible(int input, int output) {
  const char* const kind = std::getenv("TERM");
  return isatty(input) == 1 && isatty(output) == 1 && kind != nullptr && *kind != '\0' &&
         std::string_view(kind) != "dumb";
}

FullScreen::FullScreen(int input, int output) : input_(input), output_(output) {
  if (tcgetattr(input_, &before_) != 0) throw environment_error("the terminal does not tell its mode");
  termios mode = before_;
  // Keys one by one and not shown. Ctrl-C stays a signal; Ctrl-Z and Ctrl-S would leave the screen as it is.
  mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
  mode.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
  mode.c_cc[VSUSP] = _POSIX_VDISABLE;
  mode.c_cc[VMIN] = 0;
  mode.c_cc[VTIME] = 0;
  if (tcsetattr(input_, TCSADRAIN, &mode) != 0) throw environment_error("the terminal's mode cannot be set");
  write(std::string(kEnter));
}

FullScreen::~FullScreen() {
  write(std::string(kLeave));
  tcsetattr(input_, TCSADRAIN, &before_);
}

void FullScreen::write(const std::string& text) const {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(output_, text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR && errno != EAGAIN) return;  // nobody looks any more: wait() notices
    if (count < 0 && errno == EAGAIN) {
      pollfd ready{.fd = output_, .events = POLLOUT, .revents = 0};
      if (poll(&ready, 1, 1000) <= 0) return;
    }
    if (count > 0) done += static_cast<std::size_t>(count);
  }
}

ScreenSize FullScreen::size() const {
  winsize size{};
  if (ioctl(output_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {.columns = size.ws_col, .rows = size.ws_row};
}

void FullScreen::show(const std::vector<std::string>& lines) {
  const ScreenSize now = size();
  std::string text;
  if (now != shown_size_) {
    text += kClear;
    shown_.clear();
    shown_size_ = now;
  }
  for (std::size_t row = 0; row < now.rows; ++row) {
    static const std::string kEmpty;
    const std::string& line = row < lines.size() ? lines[row] : kEmpty;
    if (row < shown_.size() && shown_[row] == line) continue;
    if (row >= shown_.size() && line.empty()) continue;
    text += "\033[" + std::to_string(row + 1) + ";1H\033[0m\033[K" + line + "\033[0m";
  }
  if (!text.empty()) write(text);
  shown_ = lines;
  shown_.resize(now.rows);
}

ScreenKey FullScreen::wait(std::chrono::milliseconds patience) {
  if (const ScreenKey key = take_key(pending_); key != ScreenKey::kNone) return key;
  pollfd ready{.fd = input_, .events = POLLIN, .revents = 0};
  const int count = poll(&ready, 1, static_cast<int>(patience.count()));
  if (count <= 0) return ScreenKey::kNone;
  std::array<char, 64> bytes;
  const ssize_t got = read(input_, bytes.data(), bytes.size());
  if (got <= 0)
    return (ready.revents & (POLLHUP | POLLERR)) != 0 || got == 0 ? ScreenKey::kQuit : ScreenKey::kNone;
  pending_.append(bytes.data(), static_cast<std::size_t>(got));
  return take_key(pending_);
}

}  // namespace nadi::inline show
