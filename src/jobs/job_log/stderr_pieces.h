// Which words that matter a line of stderr has, found in one pass over it.
//
//   const StderrPieces pieces = find_pieces(line);
//   if (pieces.has(StderrTopic::kMemory) && line_says_out_of_memory(line)) ...
//
// Most lines have none, and there are hundreds of megabytes of them. Pieces of words are looked for, in
// either case: one that is there is a hint to look closer, one that is not is a proof. error_group.cpp
// asserts at compile time that each of its phrases has a piece of its topic.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "nadi/base/ascii.h"

namespace nadi::inline jobs {

enum class StderrTopic : std::uint8_t { kTraceback, kError, kWarning, kMemory, kCrash, kEnding, kPhrase };

struct StderrPiece {
  std::string_view text;
  StderrTopic topic;
  StderrTopic second = topic, third = topic;
};

// Four machine words of 64 letters each: as many as fit, and no more.
inline constexpr std::array<StderrPiece, 13> kStderrPieces{{
    {"traceb", StderrTopic::kTraceback},
    {"error", StderrTopic::kError, StderrTopic::kCrash, StderrTopic::kPhrase},
    {"excep", StderrTopic::kError, StderrTopic::kCrash},
    {"fatal", StderrTopic::kError, StderrTopic::kCrash},
    {"criti", StderrTopic::kError},
    {"warn", StderrTopic::kWarning},
    {"info", StderrTopic::kWarning},
    {"debug", StderrTopic::kWarning},
    {"depre", StderrTopic::kWarning},
    {"memo", StderrTopic::kMemory},
    {"oom", StderrTopic::kMemory},
    {"d_al", StderrTopic::kMemory},
    {"***", StderrTopic::kEnding},
}};
inline constexpr std::array<StderrPiece, 15> kMoreStderrPieces{{
    {"illed", StderrTopic::kCrash},
    {"fault", StderrTopic::kCrash},
    {"dump", StderrTopic::kCrash},
    {"(sig", StderrTopic::kCrash},
    {"abor", StderrTopic::kCrash, StderrTopic::kEnding},
    {"term", StderrTopic::kCrash, StderrTopic::kEnding},
    {"h fi", StderrTopic::kPhrase},
    {"deni", StderrTopic::kPhrase},
    {"t fou", StderrTopic::kPhrase},
    {"d ob", StderrTopic::kPhrase},
    {"o spa", StderrTopic::kPhrase},
    {"conn", StderrTopic::kPhrase},
    {"sser", StderrTopic::kPhrase},
    {"tchd", StderrTopic::kPhrase},
    {"xitc", StderrTopic::kPhrase},
}};

inline constexpr std::array<StderrPiece, 14> kRareStderrPieces{{
    {"s_al", StderrTopic::kMemory},
    {"callo", StderrTopic::kMemory},
    {"nstr", StderrTopic::kCrash},
    {"rrup", StderrTopic::kCrash},
    {"): in", StderrTopic::kCrash},
    {"oc():", StderrTopic::kCrash},
    {"mash", StderrTopic::kCrash},
    {"pani", StderrTopic::kCrash},
    {"ed th", StderrTopic::kCrash},
    {"igna", StderrTopic::kCrash},
    {"mpi_a", StderrTopic::kPhrase},
    {"n-ze", StderrTopic::kPhrase},
    {"_stat", StderrTopic::kPhrase},
    {"rtbe", StderrTopic::kPhrase},
}};

inline constexpr std::array<StderrPiece, 15> kLastStderrPieces{{
    {"e():", StderrTopic::kCrash},
    {"rflo", StderrTopic::kCrash},
    {"d sy", StderrTopic::kCrash},
    {"nt tr", StderrTopic::kCrash},
    {"allen", StderrTopic::kPhrase},
    {"quot", StderrTopic::kPhrase},
    {"tale", StderrTopic::kPhrase},
    {"only", StderrTopic::kPhrase},
    {"rari", StderrTopic::kPhrase},
    {"y ope", StderrTopic::kPhrase},
    {"mism", StderrTopic::kPhrase},
    {"daem", StderrTopic::kPhrase},
    {"t ke", StderrTopic::kPhrase},
    {"e nam", StderrTopic::kPhrase},
    {"unbo", StderrTopic::kPhrase},
}};

class StderrPieces {
 public:
  constexpr bool has(StderrTopic topic) const { return ((topics_ >> static_cast<unsigned>(topic)) & 1) != 0; }
  constexpr bool none() const { return topics_ == 0; }
  constexpr void add(StderrTopic topic) {
    topics_ = static_cast<std::uint8_t>(topics_ | (1U << static_cast<unsigned>(topic)));
  }

 private:
  std::uint8_t topics_ = 0;
};

// Shift-and over all pieces at once: bit i says that the letters so far end with the first letters of a piece
// up to bit i. A few instructions for each byte, whatever the number of pieces.
class PieceSearch {
 public:
  template <std::size_t kCount>
  constexpr explicit PieceSearch(const std::array<StderrPiece, kCount>& pieces) {
    unsigned bit = 0;
    for (const StderrPiece& piece : pieces) {
      first_ |= std::uint64_t{1} << bit;
      for (const char letter : piece.text) {
        letters_[static_cast<unsigned char>(letter)] |= std::uint64_t{1} << bit;
        if (letter >= 'a' && letter <= 'z')
          letters_[static_cast<unsigned char>(letter - 'a' + 'A')] |= std::uint64_t{1} << bit;
        ++bit;
      }
      const std::uint64_t last = std::uint64_t{1} << (bit - 1);
      last_ |= last;
      for (const StderrTopic topic : {piece.topic, piece.second, piece.third})
        of_topic_[static_cast<std::size_t>(topic)] |= last;
    }
  }
  template <std::size_t kCount>
  static constexpr std::size_t bits(const std::array<StderrPiece, kCount>& pieces) {
    std::size_t sum = 0;
    for (const StderrPiece& piece : pieces) sum += piece.text.size();
    return sum;
  }

  constexpr std::uint64_t next(std::uint64_t state, char letter) const {
    return ((state << 1) | first_) & letters_[static_cast<unsigned char>(letter)];
  }
  // `seen`: all states of a text, or-ed.
  constexpr void add_topics(std::uint64_t seen, StderrPieces& pieces) const {
    if ((seen & last_) == 0) return;
    for (std::size_t topic = 0; topic < of_topic_.size(); ++topic)
      if ((seen & of_topic_[topic]) != 0) pieces.add(static_cast<StderrTopic>(topic));
  }

 private:
  std::array<std::uint64_t, 256> letters_{};
  std::array<std::uint64_t, 7> of_topic_{};
  std::uint64_t first_ = 0, last_ = 0;
};
static_assert(PieceSearch::bits(kStderrPieces) <= 64 && PieceSearch::bits(kMoreStderrPieces) <= 64 &&
              PieceSearch::bits(kRareStderrPieces) <= 64 && PieceSearch::bits(kLastStderrPieces) <= 64);

constexpr StderrPieces find_pieces(std::string_view text) {
  constexpr PieceSearch kSearch(kStderrPieces), kMoreSearch(kMoreStderrPieces),
      kRareSearch(kRareStderrPieces), kLastSearch(kLastStderrPieces);
  std::uint64_t state = 0, more = 0, rare = 0, last = 0, seen = 0, more_seen = 0, rare_seen = 0,
                last_seen = 0;
  for (const char letter : text) {
    state = kSearch.next(state, letter);
    more = kMoreSearch.next(more, letter);
    rare = kRareSearch.next(rare, letter);
    last = kLastSearch.next(last, letter);
    seen |= state;
    more_seen |= more;
    rare_seen |= rare;
    last_seen |= last;
  }
  StderrPieces pieces;
  kSearch.add_topics(seen, pieces);
  kMoreSearch.add_topics(more_seen, pieces);
  kRareSearch.add_topics(rare_seen, pieces);
  kLastSearch.add_topics(last_seen, pieces);
  return pieces;
}

}  // namespace nadi::inline jobs
