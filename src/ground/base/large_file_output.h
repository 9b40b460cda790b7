// Appends to a large file, bypassing the page cache, while the caller produces the next bytes. The part of
// file_output.h for large files.
//
//   LargeFileOutput output(descriptor, position);   // behind what is there: a multiple of kAlignment
//   output.write(bytes);
//   output.finish();
//
// Two aligned blocks: the caller fills one while a thread writes the other to the disk directly (O_DIRECT):
// no pages of the cache are allocated, copied to and written back. A file system without O_DIRECT (tmpfs,
// some network file systems) gets ordinary writes, and each window that is written back is dropped from the
// cache.
//
// The thread takes no signals. Functions return 0 or the errno of what failed, which may be an earlier write;
// after that the object can only be destroyed.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

namespace nadi::inline ground {

class LargeFileOutput {
 public:
  static constexpr std::size_t kAlignment = 4096;  // O_DIRECT needs no more, of addresses, offsets and sizes

  LargeFileOutput(int descriptor, std::int64_t position);
  ~LargeFileOutput();
  LargeFileOutput(const LargeFileOutput&) = delete;
  LargeFileOutput& operator=(const LargeFileOutput&) = delete;

  [[nodiscard]] int write(std::string_view bytes);
  // The descriptor is as it was, without O_DIRECT.
  [[nodiscard]] int finish();

 private:
  struct Free {
    void operator()(char* memory) const;
  };
  using Block = std::unique_ptr<char, Free>;
  static Block make_block();

  int hand_over();
  int wait();
  void run();  // the thread
  int put(std::string_view bytes);
  void drop_behind();

  Block filling_;
  std::size_t filled_ = 0;

  std::mutex mutex_;  // guards what both use
  std::condition_variable changed_;
  std::string_view to_write_;  // empty means the thread has nothing to do
  int failed_ = 0;
  bool ends_ = false;
  Block writing_;  // belongs to the thread while to_write_ is not empty

  // Used by the thread, and by finish() when nothing is being written.
  const int descriptor_;
  bool direct_;
  std::int64_t position_;  // behind what was written
  std::int64_t dropped_;   // without O_DIRECT: what was written up to here has left the cache

  std::thread thread_;
};

}  // namespace nadi::inline ground
