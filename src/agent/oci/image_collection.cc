#include "agent/oci/image_collection.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <tuple>

#include "sys/files.h"

namespace gangway::agent::oci {

int DiskUse::percent() const {
  if (total == 0) return 0;
  return static_cast<int>((total - std::min(available, total)) * 100 / total);
}

std::vector<ImageUse> removable_images(std::vector<ImageUse> images, WallTime now, Duration minimum_age) {
  std::erase_if(images, [&](const ImageUse& image) { return image.in_use || now - image.last_used < minimum_age; });
  std::sort(images.begin(), images.end(), [](const ImageUse& a, const ImageUse& b) {
    return std::tie(a.named, a.last_used, a.digest) < std::tie(b.named, b.last_used, b.digest);
  });
  return images;
}

const ImageUse* next_image_to_go(const std::vector<ImageUse>& removable, const DiskUse& disk, const ImageLimits& limits,
                                 bool clearing) {
  if (removable.empty()) return nullptr;
  const bool too_full = disk.percent() >= (clearing ? limits.low_percent : limits.high_percent);
  return !removable.front().named || too_full ? &removable.front() : nullptr;
}

Result<DiskUse> disk_use(const std::string& folder) {
  struct statvfs facts{};
  if (::statvfs(folder.c_str(), &facts) != 0) return sys::file_error("look at the disk of", folder);
  return DiskUse{.total = facts.f_blocks * facts.f_frsize, .available = facts.f_bavail * facts.f_frsize};
}

}  // namespace gangway::agent::oci
