// ImageStore: the images of a node that pulls them (imagePolicy pull): skopeo fetches, umoci unpacks, once an image.
//
//   IMAGES/names.json            what each name means here: {"docker.io/library/nginx:latest": "sha256:…"}
//   IMAGES/<digest>/root/        the unpacked file system, shared by all containers as the lowest layer of their
//   overlay IMAGES/<digest>/image.json   its size and how to run it; written before the folder gets its name
//   IMAGES/.pull-…/              a pull under way, or what a crash left of one
//   IMAGES/.gone-…/              an image that is being deleted
//
// The time of image.json is when the image was last used: what nobody uses goes when the disk fills
// (image_collection.h).
//
// Belongs to the agent's loop. Pulls of one image with the same logins are one pull.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/oci/image_collection.h"
#include "agent/oci/image_name.h"
#include "agent/runtime_types.h"
#include "base/result.h"
#include "sys/command.h"
#include "sys/completion.h"
#include "sys/worker_pool.h"

namespace gangway::agent::oci {

struct StoredImage {
  std::string digest;
  std::string root;
  std::int64_t bytes = 0;
  ImageDefaults defaults;
  WallTime last_used;
};

// All that is in the folder, as values.
struct ImageIndex {
  std::map<std::string, std::string> names;  // canonical name: digest
  std::map<std::string, StoredImage> by_digest;
};

struct ImageTools {
  std::string skopeo;
  std::string umoci;
};

class ImageStore {
 public:
  // How full the disk of a folder is.
  using DiskProbe = std::function<Result<DiskUse>(const std::string& folder)>;
  // An empty tool: nothing can be pulled, and a request says so.
  ImageStore(sys::EventLoop& loop, sys::CommandRunner& runner, sys::WorkerPool& workers, std::string folder,
             ImageTools tools, ImageLimits limits = {}, DiskProbe disk = disk_use);
  ~ImageStore();
  ImageStore(const ImageStore&) = delete;
  ImageStore& operator=(const ImageStore&) = delete;

  // Blocking: reads what is there and removes what was only half pulled. Before anything else is asked.
  static Result<ImageIndex> read(const std::string& folder);
  void adopt(ImageIndex index);

  void prepare(ImageRequest request, sys::Completion<Image> done);
  // Null for an image that was never prepared.
  const StoredImage* find(std::string_view image) const;
  std::vector<NodeImage> images() const;
  // Somebody runs it now. Nothing for an image that is not there.
  void touch(std::string_view image);

  // Digests of the images that containers stand on.
  using InUse = std::function<std::set<std::string>()>;
  // Removes what may go. One round at a time: a call during one does nothing.
  void collect(InUse in_use);

 private:
  struct Pull;
  using PullPtr = std::shared_ptr<Pull>;
  void start_pull(const PullPtr& pull);
  void ask_digest(const PullPtr& pull);
  void fetch(const PullPtr& pull);
  void unpack(const PullPtr& pull);
  void keep(const PullPtr& pull);
  void finish(const PullPtr& pull, Result<std::string> digest);
  void run(const PullPtr& pull, std::vector<std::string> argv, std::function<void(std::string)> then);
  std::vector<std::string> skopeo(const PullPtr& pull, std::vector<std::string> verb, std::string_view tls_flag) const;
  Image answer(const std::string& image, const std::string& digest, std::string message);
  void touch_digest(const std::string& digest);
  void write_names() const;
  void collect_next(const InUse& in_use, bool clearing);
  std::vector<ImageUse> uses(const std::set<std::string>& in_use) const;
  Result<std::string> put_aside(const std::string& digest);

  sys::EventLoop& loop_;
  sys::CommandRunner& runner_;
  sys::WorkerPool& workers_;
  const std::string folder_;
  const ImageTools tools_;
  const ImageLimits limits_;
  const DiskProbe disk_;
  ImageIndex index_;
  bool collecting_ = false;
  std::map<std::string, PullPtr> pulls_;  // by canonical name and logins
};

}  // namespace gangway::agent::oci
