// For tests: a container's log in a folder of its own, written the way conmon writes it.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/time.h"

namespace gangway::agent {

class TestLog {
 public:
  TestLog() {
    char name[] = "/tmp/gangway-log-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~TestLog() { std::filesystem::remove_all(folder_); }
  TestLog(const TestLog&) = delete;
  TestLog& operator=(const TestLog&) = delete;

  std::string path() const { return folder_ + "/0.log"; }

  // One entry, a second after the last.
  void line(std::string_view text, std::string_view tag = "F", std::string_view stream = "stdout") {
    raw(time() + " " + std::string(stream) + " " + std::string(tag) + " " + std::string(text) + "\n");
    ++seconds_;
  }
  void raw(std::string_view bytes) {
    std::ofstream file(path(), std::ios::app | std::ios::binary);
    file << bytes;
  }
  // What rotation does: the file is put aside under a number, and the next line begins a new one.
  void rotate(int number) const { std::filesystem::rename(path(), path() + "." + std::to_string(number)); }
  // The time of the next entry.
  std::string time() const { return to_rfc3339_nano(at()); }
  WallTime at() const { return start() + std::chrono::seconds(seconds_); }
  static WallTime start() { return WallTime(std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)); }

 private:
  std::string folder_;
  int seconds_ = 0;
};

}  // namespace gangway::agent
