// Which images go when the disk fills up. Pure decisions; ImageStore carries them out.
//
// An image without a name left (its tag moved on) goes as soon as nobody uses it. Others go only when the disk is
// fuller than it should be, the longest unused first, until it is well below that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace gangway::agent::oci {

struct ImageLimits {
  int high_percent = 85;  // of the disk: from here on images are removed
  int low_percent = 80;   // to here
  // Somebody may be about to use what was prepared a moment ago.
  Duration minimum_age = std::chrono::minutes(2);
};

struct ImageUse {
  std::string digest = {};
  bool named = true;
  bool in_use = false;
  WallTime last_used = {};
};

struct DiskUse {
  std::uint64_t total = 0;
  std::uint64_t available = 0;  // to us
  int percent() const;
};

// Those that may go, in the order they do: first the nameless, then the longest unused.
std::vector<ImageUse> removable_images(std::vector<ImageUse> images, WallTime now, Duration minimum_age);
// The next to go; null for none. `clearing`: the disk was too full and is being brought down to its lower mark.
const ImageUse* next_image_to_go(const std::vector<ImageUse>& removable, const DiskUse& disk, const ImageLimits& limits,
                                 bool clearing);

// Blocking, though only for a moment: of the disk that holds the folder.
Result<DiskUse> disk_use(const std::string& folder);

}  // namespace gangway::agent::oci
