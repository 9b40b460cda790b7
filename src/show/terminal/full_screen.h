// The whole terminal for a view that changes: `nadi job watch`.
//
//   FullScreen screen(output_descriptor);
//   for (;;) {
//     const ScreenSize size = screen.size();               // asked anew each time: the window may have
//     changed screen.show(lines);                                   // each of at most size.columns columns
//     switch (screen.wait(100ms)) { case ScreenKey::kQuit: return; ... }
//   }
//
// While it lives, the terminal shows its alternate screen, without a cursor, and keys come one by one without
// being shown. The destructor puts everything back, so it must run: loops ask for interruptions (Ctrl-C stays
// a signal) and return. There are no signal handlers here (signal_thread.h says why): a new size is noticed
// at the next frame, not by SIGWINCH.
#pragma once

#include <termios.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nadi::inline show {

struct ScreenSize {
  std::size_t columns = 80, rows = 24;
  bool operator==(const ScreenSize&) const = default;
};

enum class ScreenKey : std::uint8_t {
  kNone,
  kQuit,
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kTab,
  kBackTab,
  kErrors,
  kHelp,
  kOther
};

class FullScreen {
 public:
  // Whether both ends are a terminal that knows escape codes.
  static bool is_possible(int input, int output);

  // Error (environment) when the terminal's mode cannot be set.
  FullScreen(int input, int output);
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  ScreenSize size() const;
  // Draws the lines from the top and clears the rest. Only lines that changed since the last call are
  // written.
  void show(const std::vector<std::string>& lines);
  // The next key, kNone after `patience`; kQuit as well when the terminal is gone.
  ScreenKey wait(std::chrono::milliseconds patience);

 private:
  void write(const std::string& text) const;

  int input_, output_;
  termios before_{};
  ScreenSize shown_size_{.columns = 0, .rows = 0};
  std::vector<std::string> shown_;
  std::string pending_;  // keys that came together
};

// What bytes from a terminal mean; takes the bytes of one key off the front of `bytes`.
ScreenKey take_key(std::string& bytes);

// A text from a file as it may stand on a screen: at most `columns` characters, no control characters; of
// what is beyond ASCII only what surely takes one column, everything else is '?'.
std::string screen_text(std::string_view text, std::size_t columns);

}  // namespace nadi::inline show
