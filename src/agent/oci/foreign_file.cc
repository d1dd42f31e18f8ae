#include "agent/oci/foreign_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "sys/file_descriptor.h"

namespace gangway::agent::oci {

std::string end_of_foreign_file(const std::string& path, std::size_t bytes) {
  const sys::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return "";
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return "";
  std::string text(bytes, '\0');
  const auto from = std::max<off_t>(facts.st_size - static_cast<off_t>(bytes), 0);
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), from);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

}  // namespace gangway::agent::oci
