#include "agent/oci/image_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "agent/oci/mounts.h"
#include "agent/oci/test_folder.h"
#include "sys/files.h"
#include "testing/manual_loop.h"

namespace gangway::agent::oci {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSkopeo = "/usr/bin/skopeo";
constexpr const char* kUmoci = "/usr/bin/umoci";

// Images are made on the spot, in a local OCI layout.
class ImageStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "unpacking images needs root";
    if (!fs::exists(kSkopeo) || !fs::exists(kUmoci)) GTEST_SKIP() << "skopeo and umoci are not installed";
    make_image("v1", "one");
  }

  void run(std::vector<std::string> argv) {
    sys::Command command{.argv = std::move(argv)};
    std::optional<Result<std::string>> answer;
    runner_.run(command,
                [&](Result<sys::CommandResult> result) { answer = sys::require_success(command, std::move(result)); });
    ASSERT_TRUE(loop_.wait_for([&] { return answer.has_value(); }));
    ASSERT_TRUE(*answer) << answer->error().message;
  }
  void make_image(const std::string& tag, const std::string& content) {
    const std::string image = layout() + ":" + tag;
    std::ofstream(folder_.path() + "/content") << content;
    if (!fs::exists(layout())) run({kUmoci, "init", "--layout", layout()});
    run({kUmoci, "new", "--image", image});
    run({kUmoci, "insert", "--image", image, folder_.path() + "/content", "/data/content"});
    run({kUmoci, "config", "--image", image, "--config.entrypoint", "/bin/app", "--config.cmd", "serve", "--config.env",
         "A=1", "--config.workingdir", "/data", "--config.user", "1000"});
  }
  std::string layout() const { return folder_.path() + "/layout"; }
  std::string image(const std::string& tag) const { return "oci:" + layout() + ":" + tag; }
  std::string images() const { return folder_.path() + "/images"; }

  void ask(ImageRequest request, std::optional<Result<Image>>& answer) {
    store_.prepare(std::move(request), [&](Result<Image> result) { answer = std::move(result); });
    EXPECT_FALSE(answer);
  }
  Result<Image> prepare(const std::string& name, PullPolicy policy = PullPolicy::kIfNotPresent) {
    std::optional<Result<Image>> answer;
    ask({.pod = {}, .image = name, .policy = policy, .logins = {}}, answer);
    EXPECT_TRUE(loop_.wait_for([&] { return answer.has_value(); }));
    return answer.value_or(internal_error("no answer"));
  }
  long leftovers() const {
    return std::count_if(fs::directory_iterator(images()), fs::directory_iterator(),
                         [](const auto& entry) { return entry.path().filename().string().starts_with(".pull-"); });
  }

  TestFolder folder_;
  testing::ManualLoop loop_;
  sys::SpawningCommandRunner runner_{loop_};
  sys::WorkerPool workers_{loop_};
  ImageStore store_{loop_, runner_, workers_, images(), {.skopeo = kSkopeo, .umoci = kUmoci}};
};

TEST_F(ImageStoreTest, PullsUnpacksAndSaysHowToRun) {
  const auto pulled = prepare(image("v1"));
  ASSERT_TRUE(pulled) << pulled.error().message;
  EXPECT_TRUE(pulled->id.starts_with("oci:" + layout() + "@sha256:"));
  EXPECT_TRUE(pulled->message.starts_with("Successfully pulled image \"oci:"));
  EXPECT_GT(pulled->bytes, 0);
  EXPECT_EQ(pulled->defaults.entrypoint, std::vector<std::string>{"/bin/app"});
  EXPECT_EQ(pulled->defaults.command, std::vector<std::string>{"serve"});
  EXPECT_EQ(pulled->defaults.user, "1000");
  EXPECT_EQ(pulled->defaults.working_directory, "/data");
  const auto* stored = store_.find(image("v1"));
  ASSERT_NE(stored, nullptr);
  EXPECT_EQ(sys::read_file(stored->root + "/data/content").value_or(""), "one");
  ASSERT_EQ(store_.images().size(), 1U);
  EXPECT_EQ(store_.images()[0].names.back(), image("v1"));
  EXPECT_TRUE(loop_.wait_for([&] { return leftovers() == 0; }));

  const auto again = prepare(image("v1"));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->message, "Container image \"" + image("v1") + "\" already present on machine");
  EXPECT_EQ(again->id, pulled->id);
}

TEST_F(ImageStoreTest, PullsAnImageThatChangedWhenAskedTo) {
  const auto first = prepare(image("v1"));
  ASSERT_TRUE(first) << first.error().message;
  make_image("v1", "two");
  EXPECT_EQ(prepare(image("v1"))->id, first->id);
  const auto second = prepare(image("v1"), PullPolicy::kAlways);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_NE(second->id, first->id);
  EXPECT_EQ(sys::read_file(store_.find(image("v1"))->root + "/data/content").value_or(""), "two");
}

TEST_F(ImageStoreTest, ManyWhoWantOneImageShareOnePull) {
  std::optional<Result<Image>> answers[5];
  for (auto& answer : answers) ask({.pod = {}, .image = image("v1"), .policy = {}, .logins = {}}, answer);
  ASSERT_TRUE(loop_.wait_for([&] { return fs::exists(images()) && leftovers() > 0; }));
  EXPECT_EQ(leftovers(), 1);
  ASSERT_TRUE(loop_.wait_for(
      [&] { return std::all_of(std::begin(answers), std::end(answers), [](auto& a) { return a.has_value(); }); }));
  for (auto& answer : answers) EXPECT_TRUE(*answer);
}

TEST_F(ImageStoreTest, SaysWhyThereIsNoImage) {
  const auto never = prepare(image("v1"), PullPolicy::kNever);
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().reason, Reason::kNotFound);
  EXPECT_EQ(never.error().message, "Container image \"" + image("v1") + "\" is not present with pull policy of Never");
  const auto missing = prepare(image("nothing"));
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("nothing"), std::string::npos) << missing.error().message;
  EXPECT_FALSE(prepare("Not A Name"));
  EXPECT_TRUE(loop_.wait_for([&] { return leftovers() == 0; }));
}

TEST_F(ImageStoreTest, ComesBackWithWhatIsThereAndWithoutWhatIsHalf) {
  const auto pulled = prepare(image("v1"));
  ASSERT_TRUE(pulled) << pulled.error().message;
  fs::create_directories(images() + "/.pull-half/root");
  auto index = ImageStore::read(images());
  ASSERT_TRUE(index) << index.error().message;
  EXPECT_EQ(leftovers(), 0);
  ImageStore later(loop_, runner_, workers_, images(), {.skopeo = kSkopeo, .umoci = kUmoci});
  later.adopt(std::move(*index));
  const auto* stored = later.find(image("v1"));
  ASSERT_NE(stored, nullptr);
  EXPECT_EQ(stored->defaults.command, std::vector<std::string>{"serve"});
  EXPECT_EQ(stored->root, store_.find(image("v1"))->root);
}

TEST_F(ImageStoreTest, RemovesTheLongestUnusedWhileTheDiskIsTooFull) {
  // Each image is a tenth of this disk, and three tenths are somebody else's.
  const auto disk = [](const std::string& folder) -> Result<DiskUse> {
    const auto images = std::count_if(fs::directory_iterator(folder), fs::directory_iterator(),
                                      [](const auto& entry) { return fs::exists(entry.path() / "image.json"); });
    return DiskUse{.total = 100, .available = static_cast<std::uint64_t>(70 - images * 10)};
  };
  ImageStore store(loop_, runner_, workers_, images(), {.skopeo = kSkopeo, .umoci = kUmoci},
                   {.high_percent = 70, .low_percent = 60, .minimum_age = std::chrono::minutes(2)}, disk);
  const auto digest_of = [&](const std::string& tag) {
    const auto* stored = store.find(image(tag));
    return stored == nullptr ? "" : stored->digest;
  };
  const auto pull = [&](const std::string& tag) {
    make_image(tag, "content of " + tag);
    std::optional<Result<Image>> answer;
    store.prepare({.pod = {}, .image = image(tag), .policy = {}, .logins = {}},
                  [&](Result<Image> result) { answer = std::move(result); });
    ASSERT_TRUE(loop_.wait_for([&] { return answer.has_value(); }));
    ASSERT_TRUE(*answer) << answer->error().message;
    loop_.advance(std::chrono::minutes(1));
  };
  const auto folders = [&] {
    return std::count_if(fs::directory_iterator(images()), fs::directory_iterator(),
                         [](const auto& entry) { return entry.is_directory(); });
  };
  for (const auto* tag : {"a", "b", "c", "d"}) pull(tag);
  ASSERT_TRUE(loop_.wait_for([&] { return folders() == 4; }));
  // Seven tenths are full. The oldest is in use, the second was used again just now, the fourth was just pulled.
  store.touch(image("b"));
  const std::set<std::string> runs{digest_of("a")};
  int asked = 0;
  const auto collect = [&] {
    store.collect([&] {
      ++asked;
      return runs;
    });
  };
  collect();
  ASSERT_TRUE(loop_.wait_for([&] { return asked == 2; }))
      << "once for the one that goes, once for the one that does not";
  EXPECT_EQ(folders(), 3);
  EXPECT_EQ(digest_of("c"), "");
  EXPECT_NE(digest_of("a"), "");
  loop_.advance(std::chrono::hours(1));
  collect();
  ASSERT_TRUE(loop_.wait_for([&] { return asked == 3; }));
  EXPECT_EQ(folders(), 3) << "six tenths are no reason";

  // Times and names are there again after a restart.
  auto index = ImageStore::read(images());
  ASSERT_TRUE(index);
  EXPECT_EQ(index->names.size(), 3U);
  EXPECT_LT(index->by_digest.at(digest_of("a")).last_used, index->by_digest.at(digest_of("d")).last_used);
  EXPECT_LT(index->by_digest.at(digest_of("d")).last_used, index->by_digest.at(digest_of("b")).last_used);
}

TEST_F(ImageStoreTest, RemovesAnImageWhoseNameMovedOnWhenNobodyUsesIt) {
  const auto first = prepare(image("v1"));
  ASSERT_TRUE(first) << first.error().message;
  const auto old = store_.find(image("v1"))->digest;
  make_image("v1", "two");
  ASSERT_TRUE(prepare(image("v1"), PullPolicy::kAlways));
  loop_.advance(std::chrono::minutes(5));
  ASSERT_TRUE(loop_.wait_for([&] { return leftovers() == 0; }));
  const auto folder = images() + "/" + old.substr(old.find(':') + 1);
  bool asked = false;
  store_.collect([&] {
    asked = true;
    return std::set<std::string>{old};
  });
  ASSERT_TRUE(loop_.wait_for([&] { return asked; }));
  EXPECT_TRUE(fs::exists(folder)) << "a container stands on it";
  store_.collect([] { return std::set<std::string>(); });
  EXPECT_TRUE(loop_.wait_for([&] { return !fs::exists(folder); }));
  EXPECT_NE(store_.find(image("v1")), nullptr);
}

}  // namespace
}  // namespace gangway::agent::oci
