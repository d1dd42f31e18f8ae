#include "agent/oci/image_store.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "agent/oci/file_times.h"
#include "agent/oci/mounts.h"
#include "agent/oci/tool_message.h"
#include "base/quote.h"
#include "json/access.h"
#include "sys/entropy.h"
#include "sys/files.h"
#include "sys/log.h"

namespace gangway::agent::oci {
namespace {

constexpr auto kPullTime = std::chrono::hours(1);
constexpr std::string_view kPullPrefix = ".pull-";
constexpr std::string_view kGonePrefix = ".gone-";

std::string hex_of(const std::string& digest) {
  return digest.substr(digest.find(':') + 1);
}

Result<json::Value> read_json(const std::string& path) {
  GW_TRY(const auto text, sys::read_file(path));
  return json::parse(text);
}

std::string blob(const std::string& layout, const std::string& digest) {
  auto path = digest;
  if (const auto colon = path.find(':'); colon != std::string::npos) path[colon] = '/';
  return layout + "/blobs/" + path;
}

// What is kept of a fetched image beside its root.
Result<json::Object> describe(const std::string& layout, const std::string& digest) {
  GW_TRY(const auto index, read_json(layout + "/index.json"));
  GW_TRY(const auto manifest_at, manifest_digest(index));
  GW_TRY(const auto manifest, read_json(blob(layout, manifest_at)));
  GW_TRY(const auto config_at, config_digest(manifest));
  GW_TRY(const auto config, read_json(blob(layout, config_at)));
  json::Object result{{"digest", digest}, {"bytes", layer_bytes(manifest)}};
  if (const auto* own = json::find(config, {"config"})) result["config"] = *own;
  return result;
}

Result<void> store(const std::string& pull, const std::string& target, const std::string& digest) {
  GW_TRY(const auto description, describe(pull + "/layout", digest));
  GW_CHECKED(replace_file(pull + "/image.json", json::serialize(description)));
  GW_CHECKED(remove_tree(pull + "/layout"));
  GW_CHECKED(remove_tree(pull + "/auth.json"));
  // Another pull may have brought the same image under another name meanwhile.
  if (::rename(pull.c_str(), target.c_str()) == 0) return {};
  if (errno == EEXIST || errno == ENOTEMPTY) return remove_tree(pull);
  return sys::file_error("keep", target);
}

}  // namespace

struct ImageStore::Pull {
  std::string key;
  std::string image;  // as the pod writes it
  ImageName name;
  std::vector<RegistryLogin> logins;
  std::string folder;
  std::string digest;
  MonoTime begun;
  std::vector<std::pair<std::string, sys::Completion<Image>>> waiting;
};

ImageStore::ImageStore(sys::EventLoop& loop, sys::CommandRunner& runner, sys::WorkerPool& workers, std::string folder,
                       ImageTools tools, ImageLimits limits, DiskProbe disk)
    : loop_(loop),
      runner_(runner),
      workers_(workers),
      folder_(std::move(folder)),
      tools_(std::move(tools)),
      limits_(limits),
      disk_(std::move(disk)) {}
ImageStore::~ImageStore() = default;

Result<ImageIndex> ImageStore::read(const std::string& folder) {
  ImageIndex index;
  GW_CHECKED(make_folders(folder, 0700));
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), &::closedir);
  if (!open) return sys::file_error("read", folder);
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string name = entry->d_name;
    if (name.starts_with(kPullPrefix) || name.starts_with(kGonePrefix)) GW_CHECKED(remove_tree(folder + "/" + name));
    const auto description = read_json(folder + "/" + name + "/image.json");
    if (name.starts_with('.') || !description) continue;
    StoredImage image;
    image.digest = json::string_at(*description, {"digest"});
    image.root = folder + "/" + name + "/root";
    image.bytes = json::int_at(*description, {"bytes"});
    image.defaults = image_defaults(*description);
    image.last_used = written_at(folder + "/" + name + "/image.json");
    index.by_digest.emplace(image.digest, std::move(image));
  }
  const auto names = read_json(folder + "/names.json").value_or(json::Value());
  for (const auto& [name, digest] : json::members_at(names, {})) {
    if (digest.is_string() && index.by_digest.contains(std::string(digest.as_string()))) {
      index.names.emplace(name, digest.as_string());
    }
  }
  return index;
}

void ImageStore::adopt(ImageIndex index) {
  index_ = std::move(index);
}

const StoredImage* ImageStore::find(std::string_view image) const {
  const auto name = parse_image_name(image);
  if (!name) return nullptr;
  const auto digest = index_.names.find(name->canonical());
  if (digest == index_.names.end()) return nullptr;
  const auto found = index_.by_digest.find(digest->second);
  return found == index_.by_digest.end() ? nullptr : &found->second;
}

std::vector<NodeImage> ImageStore::images() const {
  std::map<std::string, NodeImage> result;
  for (const auto& [name, digest] : index_.names) {
    auto& image = result[digest];
    image.bytes = index_.by_digest.at(digest).bytes;
    if (const auto parsed = parse_image_name(name); parsed && image.names.empty()) {
      image.names.push_back(parsed->id_at(digest));
    }
    image.names.push_back(name);
  }
  std::vector<NodeImage> list;
  for (auto& [digest, image] : result) list.push_back(std::move(image));
  return list;
}

void ImageStore::touch(std::string_view image) {
  if (const auto* stored = find(image)) touch_digest(stored->digest);
}

void ImageStore::touch_digest(const std::string& digest) {
  auto& stored = index_.by_digest.at(digest);
  stored.last_used = loop_.clock().wall();
  set_written_at(folder_ + "/" + hex_of(digest) + "/image.json", stored.last_used);
}

Image ImageStore::answer(const std::string& image, const std::string& digest, std::string message) {
  touch_digest(digest);
  const auto& stored = index_.by_digest.at(digest);
  return {.id = parse_image_name(image)->id_at(digest),
          .message = std::move(message),
          .bytes = stored.bytes,
          .defaults = stored.defaults};
}

void ImageStore::prepare(ImageRequest request, sys::Completion<Image> done) {
  const auto fail = [&](Error error) { loop_.post([done, error = std::move(error)] { done(error); }); };
  auto name = parse_image_name(request.image);
  if (!name) return fail(std::move(name).error());
  const auto known = index_.names.find(name->canonical());
  if (known != index_.names.end() && request.policy != PullPolicy::kAlways) {
    auto image = answer(request.image, known->second,
                        "Container image " + quoted(request.image) + " already present on machine");
    return loop_.post([done, image = std::move(image)] { done(image); });
  }
  if (request.policy == PullPolicy::kNever) {
    Error absent =
        internal_error("Container image " + quoted(request.image) + " is not present with pull policy of Never");
    absent.reason = Reason::kNotFound;
    return fail(std::move(absent));
  }
  if (tools_.skopeo.empty() || tools_.umoci.empty()) {
    return fail(internal_error("images are pulled with skopeo and umoci, and this node lacks " +
                               std::string(tools_.skopeo.empty() ? "skopeo" : "umoci")));
  }
  const std::string key = name->canonical() + " " + auth_file(request.logins);
  auto& pull = pulls_[key];
  if (!pull) {
    pull = std::make_shared<Pull>();
    pull->key = key;
    pull->image = request.image;
    pull->name = *name;
    pull->logins = std::move(request.logins);
    pull->folder = folder_ + "/" + std::string(kPullPrefix) + sys::name_suffix(sys::system_entropy(), 12);
    pull->begun = loop_.clock().mono();
    start_pull(pull);
  }
  pull->waiting.emplace_back(request.image, std::move(done));
}

void ImageStore::start_pull(const PullPtr& pull) {
  sys::log_info("pulling an image", {{"image", pull->image}});
  const auto job = [folder = pull->folder, auth = auth_file(pull->logins)]() -> Result<void> {
    GW_CHECKED(make_folders(folder, 0700));
    return replace_file(folder + "/auth.json", auth, 0600);
  };
  workers_.run<void>(job, [this, pull](Result<void> made) {
    if (!made) return finish(pull, std::move(made).error());
    ask_digest(pull);
  });
}

std::vector<std::string> ImageStore::skopeo(const PullPtr& pull, std::vector<std::string> verb,
                                            std::string_view tls_flag) const {
  std::vector<std::string> argv{tools_.skopeo, "--insecure-policy"};
  argv.insert(argv.end(), verb.begin(), verb.end());
  if (!pull->logins.empty()) argv.insert(argv.end(), {"--authfile", pull->folder + "/auth.json"});
  if (pull->name.insecure()) argv.push_back(std::string(tls_flag) + "=false");
  return argv;
}

void ImageStore::run(const PullPtr& pull, std::vector<std::string> argv, std::function<void(std::string)> then) {
  sys::Command command{.argv = std::move(argv), .timeout = kPullTime};
  command.on_line = [image = pull->image](std::string_view line) {
    if (!line.empty()) sys::log_info("pulling an image", {{"image", image}, {"progress", line}});
  };
  runner_.run(std::move(command), [this, pull, then = std::move(then)](Result<sys::CommandResult> result) {
    if (!result) return finish(pull, std::move(result).error());
    if (result->timed_out) return finish(pull, internal_error("the pull took more than an hour"));
    if (!result->ok()) return finish(pull, internal_error(tool_message(result->err)));
    then(std::move(result->out));
  });
}

void ImageStore::ask_digest(const PullPtr& pull) {
  auto argv = skopeo(pull, {"inspect", "--no-tags", "--format", "{{.Digest}}"}, "--tls-verify");
  argv.push_back(pull->name.source());
  run(pull, std::move(argv), [this, pull](std::string printed) {
    while (!printed.empty() && printed.back() == '\n') printed.pop_back();
    pull->digest = std::move(printed);
    if (index_.by_digest.contains(pull->digest)) return finish(pull, pull->digest);
    fetch(pull);
  });
}

void ImageStore::fetch(const PullPtr& pull) {
  auto argv = skopeo(pull, {"copy"}, "--src-tls-verify");
  argv.push_back(pull->name.source_at(pull->digest));
  argv.push_back("oci:" + pull->folder + "/layout:image");
  run(pull, std::move(argv), [this, pull](const std::string&) { unpack(pull); });
}

void ImageStore::unpack(const PullPtr& pull) {
  run(pull, {tools_.umoci, "raw", "unpack", "--image", pull->folder + "/layout:image", pull->folder + "/root"},
      [this, pull](const std::string&) { keep(pull); });
}

void ImageStore::keep(const PullPtr& pull) {
  const std::string target = folder_ + "/" + hex_of(pull->digest);
  const auto job = [target, folder = pull->folder, digest = pull->digest]() -> Result<ImageIndex> {
    GW_CHECKED(store(folder, target, digest));
    GW_TRY(const auto description, read_json(target + "/image.json"));
    ImageIndex added;
    added.by_digest.emplace(digest, StoredImage{.digest = digest,
                                                .root = target + "/root",
                                                .bytes = json::int_at(description, {"bytes"}),
                                                .defaults = image_defaults(description),
                                                .last_used = {}});
    return added;
  };
  workers_.run<ImageIndex>(job, [this, pull](Result<ImageIndex> added) {
    if (!added) return finish(pull, std::move(added).error());
    index_.by_digest.merge(added->by_digest);
    finish(pull, pull->digest);
  });
}

void ImageStore::finish(const PullPtr& pull, Result<std::string> digest) {
  pulls_.erase(pull->key);
  workers_.run<void>([folder = pull->folder]() -> Result<void> { return remove_tree(folder); }, [](Result<void>) {});
  if (!digest) {
    sys::log_warning("an image was not pulled", {{"image", pull->image}, {"error", digest.error().message}});
    for (auto& [image, done] : pull->waiting) done(digest.error());
    return;
  }
  index_.names[pull->name.canonical()] = *digest;
  write_names();
  const auto took = std::chrono::duration<double>(loop_.clock().mono() - pull->begun).count();
  for (auto& [image, done] : pull->waiting) {
    done(answer(image, *digest,
                fmt::format("Successfully pulled image {} in {:.3f}s. Image size: {} bytes.", quoted(image), took,
                            index_.by_digest.at(*digest).bytes)));
  }
}

void ImageStore::write_names() const {
  json::Object names;
  for (const auto& [name, digest] : index_.names) names[name] = digest;
  if (auto written = replace_file(folder_ + "/names.json", json::serialize(names)); !written) {
    sys::log_warning("names of images are not kept", {{"error", written.error().message}});
  }
}

// ── collecting ──

void ImageStore::collect(InUse in_use) {
  if (!std::exchange(collecting_, true)) collect_next(in_use, false);
}

// Images are removed one by one: how much room each gives back is known only when it is gone.
void ImageStore::collect_next(const InUse& in_use, bool clearing) {
  workers_.run<DiskUse>([disk = disk_, folder = folder_] { return disk(folder); },
                        [this, in_use, clearing](Result<DiskUse> disk) {
                          collecting_ = false;
                          if (!disk)
                            return sys::log_warning("images are not looked after", {{"error", disk.error().message}});
                          const auto removable =
                              removable_images(uses(in_use()), loop_.clock().wall(), limits_.minimum_age);
                          const auto* next = next_image_to_go(removable, *disk, limits_, clearing);
                          if (next == nullptr) return;
                          const auto gone = put_aside(next->digest);
                          if (!gone)
                            return sys::log_warning("an image cannot be removed", {{"error", gone.error().message}});
                          sys::log_info("an image that nobody uses is removed",
                                        {{"digest", next->digest}, {"disk_percent", disk->percent()}});
                          collecting_ = true;
                          workers_.run<void>([folder = *gone] { return remove_tree(folder); },
                                             [this, in_use, clearing = clearing || next->named](const Result<void>&) {
                                               collect_next(in_use, clearing);
                                             });
                        });
}

std::vector<ImageUse> ImageStore::uses(const std::set<std::string>& in_use) const {
  std::set<std::string> named;
  for (const auto& [name, digest] : index_.names) named.insert(digest);
  std::vector<ImageUse> result;
  for (const auto& [digest, image] : index_.by_digest) {
    result.push_back({.digest = digest,
                      .named = named.contains(digest),
                      .in_use = in_use.contains(digest),
                      .last_used = image.last_used});
  }
  return result;
}

// From now on nobody finds it; answers with the folder that is left to delete.
Result<std::string> ImageStore::put_aside(const std::string& digest) {
  const std::string kept = folder_ + "/" + hex_of(digest);
  std::string gone = folder_ + "/" + std::string(kGonePrefix) + sys::name_suffix(sys::system_entropy(), 12);
  if (::rename(kept.c_str(), gone.c_str()) != 0) return sys::file_error("remove", kept);
  index_.by_digest.erase(digest);
  std::erase_if(index_.names, [&](const auto& entry) { return entry.second == digest; });
  write_names();
  return gone;
}

}  // namespace gangway::agent::oci
