#include "nadi/process/free_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "nadi/base/temporary_folder.h"
#include "nadi/process/control_group.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline ground {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMiB = 1 << 20;

// A machine made of files.
class FreeMemoryTest : public testing::Test {
 protected:
  FreeMemoryTest() {
    write("proc/meminfo", "MemTotal:       2048000 kB\nMemFree:        100 kB\nMemAvailable:   1024000 kB\n");
    write("proc/vmstat", "nr_free_pages 12\noom_kill 3\n");
  }

  void write(const std::string& name, const std::string& text) const { write_text(root_ / name, text); }
  void write_group2(const std::string& folder, const std::string& limit, std::int64_t used,
                    std::int64_t cache) const {
    write(folder + "/memory.max", limit + "\n");
    write(folder + "/memory.current", std::to_string(used) + "\n");
    write(folder + "/memory.stat",
          "anon 1\ninactive_file " + std::to_string(cache) + "\nactive_file " + std::to_string(kMiB) + "\n");
  }
  FreeMemory read() const { return read_free_memory(root_).value(); }

  const TemporaryFolder root_;
};

TEST_F(FreeMemoryTest, OfAMachineIsWhatItCanGive) {
  EXPECT_EQ(read().machine, Bytes{1024000 * 1024});
  EXPECT_FALSE(read().group);
  EXPECT_EQ(read().least(), Bytes{1024000 * 1024});
  EXPECT_EQ(count_memory_kills(root_), 3);
  EXPECT_FALSE(read_free_memory(root_ / "nowhere"));
}

// The middle one of three levels is the tightest: 400 MiB, of which 300 are used and 20 + 1 of those are
// cache.
TEST_F(FreeMemoryTest, OfNestedGroupsIsThatOfTheTightest) {
  write("proc/self/cgroup", "0::/job/step\n");
  write("proc/self/mountinfo",
        "24 30 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  write_group2("sys/fs/cgroup/job/step", "max", 10 * kMiB, 0);
  write_group2("sys/fs/cgroup/job", std::to_string(400 * kMiB), 300 * kMiB, 20 * kMiB);
  write_group2("sys/fs/cgroup", std::to_string(900 * kMiB), 300 * kMiB, 20 * kMiB);
  write("sys/fs/cgroup/job/memory.events", "low 0\noom 5\noom_kill 4\n");
  ASSERT_EQ(memory_groups(root_).size(), 3U);
  ASSERT_TRUE(read().group);
  EXPECT_EQ(read().group->folder, (root_ / "sys/fs/cgroup/job").string());
  EXPECT_EQ(read().group->limit, Bytes{400 * kMiB});
  EXPECT_EQ(read().group->free, Bytes{121 * kMiB});
  EXPECT_EQ(read().least(), Bytes{121 * kMiB});
  EXPECT_EQ(count_memory_kills(root_), 7);
}

// Version 1 beside an empty version 2, as many machines have it; "no limit" is a large number.
TEST_F(FreeMemoryTest, OfVersion1) {
  write("proc/self/cgroup", "5:devices:/x\n4:memory,hugetlb:/batch/job7\n0::/\n");
  write("proc/self/mountinfo",
        "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
        "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  const std::string group = "sys/fs/cgroup/memory/batch/job7/";
  write(group + "memory.limit_in_bytes", std::to_string(200 * kMiB));
  write(group + "memory.usage_in_bytes", std::to_string(50 * kMiB));
  write(group + "memory.stat", "total_inactive_file 0\n");
  write(group + "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
  fs::create_directories(root_ / "sys/fs/cgroup/unified");
  ASSERT_TRUE(read().group);
  EXPECT_EQ(read().group->limit, Bytes{200 * kMiB});
  EXPECT_EQ(read().group->free, Bytes{150 * kMiB});
  EXPECT_EQ(count_memory_kills(root_), 5);
}

// A container whose mount begins at its own group, with and without a namespace of its own.
TEST_F(FreeMemoryTest, OfAContainer) {
  write("proc/self/mountinfo", "24 30 0:22 /docker/ab /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  write_group2("sys/fs/cgroup", std::to_string(64 * kMiB), 4 * kMiB, 0);
  write_group2("sys/fs/cgroup/inner", std::to_string(32 * kMiB), 4 * kMiB, 0);
  write("proc/self/cgroup", "0::/docker/ab/inner\n");
  EXPECT_EQ(read().group->limit, Bytes{32 * kMiB});
  write("proc/self/cgroup", "0::/docker/ab\n");
  EXPECT_EQ(read().group->limit, Bytes{64 * kMiB});
  write("proc/self/cgroup", "0::/../elsewhere\n");
  EXPECT_EQ(read().group->limit, Bytes{64 * kMiB});
}

TEST_F(FreeMemoryTest, OfThisMachineIsPositive) {
  ASSERT_TRUE(read_free_memory());
  EXPECT_GT(read_free_memory()->least(), Bytes{0});
}

}  // namespace
}  // namespace nadi::inline ground
