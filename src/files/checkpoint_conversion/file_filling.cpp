#include "nadi/checkpoint_conversion/file_filling.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <vector>

#include "nadi/base/atomic_folder.h"
#include "nadi/base/chunk_sums.h"
#include "nadi/base/crc32.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/checkpoint_conversion/block_copy.h"
#include "nadi/checkpoint_conversion/fill_schedule.h"
#include "nadi/checkpoint_conversion/task_threads.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

// Read ahead of the threads: a quarter of a second of a fast disk.
constexpr std::int64_t kReadAhead = std::int64_t{64} << 20;

// Asks the system to load the parts of the source that come next. All files that have a part of the same rows
// ask for them once.
class ReadAhead {
 public:
  ReadAhead(const WholeModel& model, std::span<const FillTask> tasks)
      : model_(model), tasks_(tasks), asked_bytes_(tasks.size(), 0) {}

  // Task `current` starts now. Threads come here in any order.
  void advance(std::size_t current) {
    const std::lock_guard lock(mutex_);
    if (next_ < current) next_ = current;
    while (passed_ < current) ahead_ -= asked_bytes_[passed_++];
    while (next_ < tasks_.size() && ahead_ < kReadAhead) {
      asked_bytes_[next_] = ask(tasks_[next_]);
      ahead_ += asked_bytes_[next_++];
    }
  }

 private:
  std::int64_t ask(const FillTask& task) {
    if (task.tensor == nullptr) return 0;
    const WholeTensor& tensor = *task.tensor;
    // Whole rows, whatever columns the task takes: the other columns follow soon.
    TensorBlock rows = task.block.block;
    rows.column = 0;
    rows.columns = tensor.columns();
    if (&tensor == last_tensor_) {
      const std::int64_t first = std::max(rows.row, last_row_);
      rows.rows -= first - rows.row;
      rows.row = first;
      if (rows.rows <= 0) return 0;
    }
    last_tensor_ = &tensor;
    last_row_ = rows.row + rows.rows;
    static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    for (const MappedPiece& piece : model_.pieces(tensor, rows)) {
      if (piece.block.elements() == 0) continue;
      const std::byte* last = piece.data + (piece.block.rows - 1) * piece.row_stride +
                              (piece.block.columns - 1) * piece.column_stride;
      const auto begin = reinterpret_cast<std::uintptr_t>(piece.data) / page * page;
      const auto end = reinterpret_cast<std::uintptr_t>(last + size_of(tensor.dtype));
      // Only a wish: memory that is not of a file is refused.
      madvise(reinterpret_cast<void*>(begin), end - begin, MADV_WILLNEED);
    }
    return static_cast<std::int64_t>(tensor.bytes_of(rows));
  }

  const WholeModel& model_;
  const std::span<const FillTask> tasks_;
  std::mutex mutex_;                       // guards what follows
  std::vector<std::int64_t> asked_bytes_;  // by task; 0 means nothing
  std::size_t next_ = 0;                   // the first task that was not asked for
  std::size_t passed_ = 0;                 // tasks before it have started
  std::int64_t ahead_ = 0;                 // bytes that were asked for by tasks that have not started
  const WholeTensor* last_tensor_ = nullptr;
  std::int64_t last_row_ = 0;  // rows of it before this one were asked for
};

// AtomicFolder is used by one thread at a time.
struct SharedFolder {
  AtomicFolder& folder;
  std::mutex mutex = {};
};

// A file while it is filled: opened at its first task and closed after its last, so that the number of open
// files does not grow with the target.
class FileBeingFilled {
 public:
  FileBeingFilled(const TargetFile& target, SharedFolder& folder, std::size_t tasks)
      : target_(target),
        folder_(folder),
        tasks_left_(tasks),
        sums_(target.ending ? target.places.size() : 0),
        chunks_(target.safetensors ? target.places.size() : 0) {}

  void start() {
    const std::lock_guard lock(mutex_);
    if (file_ != nullptr) return;
    const std::lock_guard folder_lock(folder_.mutex);
    file_ = &folder_.folder.open(target_.name, target_.size);
  }

  void write(const FillTask& task, std::span<const std::byte> bytes) {
    file_->write_at(task.offset, bytes);
    if (!sums_.empty()) {
      const Sum sum{.offset = task.offset, .size = bytes.size(), .crc = crc32(bytes)};
      const std::lock_guard lock(mutex_);
      sums_[task.place].push_back(sum);
    }
    if (!chunks_.empty()) {
      const std::vector<ChunkPart> parts =
          parts_of_chunks(task.offset - target_.places[task.place].offset, bytes);
      const std::lock_guard lock(mutex_);
      chunks_[task.place].insert(chunks_[task.place].end(), parts.begin(), parts.end());
    }
  }

  // When all is written, in the order of the data.
  SafetensorsSums safetensors_sums() {
    SafetensorsSums sums{.size = target_.size};
    std::multimap<std::int64_t, SafetensorsSums::Tensor>
        tensors;  // by offset; an empty one has that of the next
    for (std::size_t i = 0; i < target_.places.size(); ++i) {
      ChunkSums chunks(Bytes{target_.places[i].bytes()});
      chunks.add(chunks_[i]);
      tensors.emplace(target_.places[i].offset,
                      SafetensorsSums::Tensor{.name = target_.places[i].tensor, .chunks = chunks.take()});
    }
    for (const ReadyBytes& ready : target_.ready) {
      const auto bytes = std::as_bytes(std::span(ready.bytes));
      if (ready.tensor.empty()) {
        sums.header = crc32c(bytes);
        continue;
      }
      ChunkSums chunks(Bytes{static_cast<std::int64_t>(bytes.size())});
      chunks.add(0, bytes);
      tensors.emplace(ready.offset, SafetensorsSums::Tensor{.name = ready.tensor, .chunks = chunks.take()});
    }
    for (auto& [offset, tensor] : tensors) sums.tensors.push_back(std::move(tensor));
    return sums;
  }

  // After the last task the bytes around the places are written.
  void end_task() {
    {
      const std::lock_guard lock(mutex_);
      if (tasks_left_ > 0 && --tasks_left_ > 0) return;
    }
    finish();
  }

  void finish() {
    for (const ReadyBytes& ready : target_.ready) file_->write_at(ready.offset, ready.bytes);
    if (target_.ending)
      for (const ReadyBytes& ready : target_.ending(checksums())) file_->write_at(ready.offset, ready.bytes);
    file_->close();
  }

 private:
  struct Sum {
    std::int64_t offset = 0;
    std::size_t size = 0;
    std::uint32_t crc = 0;
  };

  std::vector<std::uint32_t> checksums() {
    std::vector<std::uint32_t> result;
    for (std::vector<Sum>& parts : sums_) {
      std::ranges::sort(parts, {}, &Sum::offset);
      std::uint32_t sum = 0;
      for (const Sum& part : parts) sum = crc32_of_both(sum, part.crc, part.size);
      result.push_back(sum);
    }
    return result;
  }

  const TargetFile& target_;
  SharedFolder& folder_;
  PositionedFile* file_ = nullptr;
  std::mutex mutex_;  // guards what follows
  std::size_t tasks_left_;
  std::vector<std::vector<Sum>> sums_;          // by place
  std::vector<std::vector<ChunkPart>> chunks_;  // by place
};

std::span<const std::byte> bytes_of_task(BlockCopy& copy, const FillTask& task) {
  if (task.tensor == nullptr) return copy.zeros(static_cast<std::size_t>(task.bytes()));
  return copy.bytes(*task.tensor, task.block, task.dtype);
}

// On several threads, with the source read ahead: `use` gets the task, the number of its thread, and a
// function that gives the bytes of the task.
template <typename Use>
void for_each_task(const WholeModel& model, std::span<const FillTask> tasks, const FillOptions& options,
                   const Use& use) {
  ReadAhead read_ahead(model, tasks);
  std::vector<BlockCopy> copies(static_cast<std::size_t>(options.threads), BlockCopy(model));
  std::int64_t total = 0;
  for (const FillTask& task : tasks) total += task.bytes();
  run_tasks({.tasks = tasks.size(),
             .threads = options.threads,
             .total = Bytes{total},
             .run =
                 [&](std::size_t number, std::size_t thread) {
                   const FillTask& task = tasks[number];
                   read_ahead.advance(number);
                   use(task, thread, [&] { return bytes_of_task(copies[thread], task); });
                   return Bytes{task.bytes()};
                 },
             .progress = options.progress});
}

std::vector<std::size_t> tasks_by_file(std::span<const FillTask> tasks, std::size_t files) {
  std::vector<std::size_t> counts(files);
  for (const FillTask& task : tasks) ++counts[task.file];
  return counts;
}

// A written file that is read again.
class WrittenFile {
 public:
  explicit WrittenFile(const fs::path& path)
      : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) throw failed("open", errno);
    // What is still on its way to the disk cannot be dropped; then the rest comes from the disk.
    fsync(descriptor_);
    posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED);
  }
  ~WrittenFile() { ::close(descriptor_); }
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;

  void compare(std::int64_t offset, std::span<const std::byte> expected,
               std::vector<std::byte>& buffer) const {
    buffer.resize(expected.size());
    for (std::size_t done = 0; done < buffer.size();) {
      const ssize_t count = ::pread(descriptor_, buffer.data() + done, buffer.size() - done,
                                    offset + static_cast<std::int64_t>(done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw failed("read", errno);
      if (count == 0) throw failed("read", ENODATA);
      done += static_cast<std::size_t>(count);
    }
    if (std::memcmp(buffer.data(), expected.data(), expected.size()) == 0) return;
    const auto differs = std::ranges::mismatch(buffer, expected).in1 - buffer.begin();
    throw Error{ErrorKind::kEnvironment,
                {.file = path_.string(), .byte = offset + differs},
                "what was read back is not what was written",
                "check the disk and the memory of this machine"};
  }

 private:
  Error failed(std::string_view action, int error_number) const {
    return {ErrorKind::kEnvironment,
            {.file = path_.string()},
            format("cannot {} what was written: {}", action, std::generic_category().message(error_number))};
  }

  fs::path path_;
  int descriptor_;
};

}  // namespace

Bytes filled_bytes(std::span<const TargetFile> files) {
  std::int64_t sum = 0;
  for (const TargetFile& file : files)
    for (const FilledPlace& place : file.places) sum += place.bytes();
  return Bytes{sum};
}

std::map<std::string, SafetensorsSums> fill_files(const WholeModel& model, std::span<const TargetFile> files,
                                                  AtomicFolder& folder, const FillOptions& options) {
  const std::vector<FillTask> tasks = fill_schedule(model, files);
  const std::vector<std::size_t> counts = tasks_by_file(tasks, files.size());
  SharedFolder shared{.folder = folder};
  std::vector<std::unique_ptr<FileBeingFilled>> open;
  for (std::size_t file = 0; file < files.size(); ++file) {
    open.push_back(std::make_unique<FileBeingFilled>(files[file], shared, counts[file]));
    if (counts[file] > 0) continue;
    open.back()->start();
    open.back()->finish();
  }
  for_each_task(model, tasks, options, [&](const FillTask& task, std::size_t, const auto& bytes) {
    FileBeingFilled& file = *open[task.file];
    file.start();
    file.write(task, bytes());
    file.end_task();
  });
  model.check_rest();
  std::map<std::string, SafetensorsSums> sums;
  for (std::size_t file = 0; file < files.size(); ++file)
    if (files[file].safetensors) sums.emplace(files[file].name, open[file]->safetensors_sums());
  return sums;
}

void check_files(const WholeModel& model, std::span<const TargetFile> files, const fs::path& folder,
                 const FillOptions& options) {
  const std::vector<FillTask> tasks = fill_schedule(model, files);
  std::vector<std::unique_ptr<WrittenFile>> written;
  std::vector<std::byte> buffer;
  for (const TargetFile& file : files) {
    written.push_back(std::make_unique<WrittenFile>(folder / file.name));
    for (const ReadyBytes& ready : file.ready)
      written.back()->compare(ready.offset, std::as_bytes(std::span(ready.bytes)), buffer);
  }
  std::vector<std::vector<std::byte>> buffers(static_cast<std::size_t>(options.threads));
  for_each_task(model, tasks, options, [&](const FillTask& task, std::size_t thread, const auto& bytes) {
    written[task.file]->compare(task.offset, bytes(), buffers[thread]);
  });
}

}  // namespace nadi::inline files
