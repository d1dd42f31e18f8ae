// TestFolder: a folder of a test, taken away with all that was mounted in it, however the test ends.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "agent/oci/mounts.h"

namespace gangway::agent::oci {

class TestFolder {
 public:
  TestFolder() {
    char name[] = "/tmp/gangway-oci-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~TestFolder() {
    static_cast<void>(unmount_below(path_));
    static_cast<void>(remove_tree(path_));
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace gangway::agent::oci
