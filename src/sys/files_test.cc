#include "sys/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace gangway::sys {
namespace {

class Files : public ::testing::Test {
 protected:
  Files() {
    char name[] = "/tmp/gangway-files-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~Files() override { std::filesystem::remove_all(folder_); }

  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()));
  }

  std::string folder_;
};

TEST_F(Files, KeepBytesAndMode) {
  const std::string path = folder_ + "/key";
  const std::string bytes("a\0b\n", 4);
  const mode_t before = ::umask(0077);
  ASSERT_TRUE(atomic_write(path, bytes, 0644));
  EXPECT_EQ(read_file(path).value(), bytes);
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644U);
  ASSERT_TRUE(atomic_write(path, "", 0600));
  ::umask(before);
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  EXPECT_EQ(read_file(path).value(), "");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, ReadWholeLargeFiles) {
  const std::string large(1000000, 'x');
  ASSERT_TRUE(atomic_write(folder_ + "/large", large));
  EXPECT_TRUE(read_file(folder_ + "/large").value() == large);
}

TEST_F(Files, SayWhatIsWrong) {
  const auto missing = read_file(folder_ + "/missing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().reason, Reason::kNotFound);
  EXPECT_EQ(missing.error().message, "cannot open " + folder_ + "/missing: No such file or directory");
  EXPECT_FALSE(atomic_write(folder_ + "/no/such/folder", "x"));
}

TEST_F(Files, AFailedReplacementLeavesNothingBehind) {
  std::filesystem::create_directory(folder_ + "/taken");
  EXPECT_FALSE(atomic_write(folder_ + "/taken", "x"));
  EXPECT_EQ(entries(), 1U);
}

}  // namespace
}  // namespace gangway::sys
