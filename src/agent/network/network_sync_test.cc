#include "agent/network/network_sync.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "agent/network/test_machine.h"
#include "client/resource.h"
#include "sys/files.h"
#include "testing/builders.h"
#include "testing/fake_api.h"

namespace gangway::agent {
namespace {

using client::resources::kEndpointSlices;
using client::resources::kServices;
using std::chrono::milliseconds;
using testing::an_object;
using ::testing::HasSubstr;
using ::testing::Not;

// nft that writes down what it is told.
class FakeNft final : public sys::CommandRunner {
 public:
  explicit FakeNft(sys::EventLoop& loop) : loop_(loop) {}
  void run(sys::Command command, sys::Completion<sys::CommandResult> done) override {
    EXPECT_EQ(command.argv, (std::vector<std::string>{"nft", "-f", "-"}));
    EXPECT_EQ(under_way, 0) << "two scripts at once";
    ++under_way;
    loop_.run_after(takes, [this, command, done] {
      --under_way;
      sys::CommandResult result;
      result.code = fails > 0 ? 1 : 0;
      if (fails > 0)
        --fails;
      else
        scripts.push_back(command.input);
      done(result);
    });
  }
  Duration takes = milliseconds(10);
  int fails = 0;
  int under_way = 0;
  std::vector<std::string> scripts;

 private:
  sys::EventLoop& loop_;
};

class NetworkSyncTest : public ::testing::Test {
 protected:
  NetworkSyncTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "gangway-sync-XXXXXX";
    layout_ = a_layout();
    layout_.run_root = ::mkdtemp(pattern.data());
    std::filesystem::create_directories(layout_.hosts_dir());
    make();
  }
  ~NetworkSyncTest() override { std::filesystem::remove_all(layout_.run_root); }

  void make() {
    sync_.reset();
    mirror_ = std::make_unique<client::Mirror>(api_, loop_);
    sync_ = std::make_unique<NetworkSync>(loop_, nft_, *mirror_, NetworkSyncOptions{layout_});
  }
  void add_service(const char* name, const char* address) {
    auto service = an_object("v1", "Service", "a", name).with(R"({"spec": {"ports": [{"name": "p", "port": 80}]}})");
    service.with(R"({"spec": {"clusterIP": ")" + std::string(address) + "\"}}");
    api_.create(kServices, service);
  }
  static json::Value slice(const char* address) {
    return an_object("discovery.k8s.io/v1", "EndpointSlice", "a", "web-1")
        .label("kubernetes.io/service-name", "web")
        .with(R"({"addressType": "IPv4", "ports": [{"name": "p", "port": 8080, "protocol": "TCP"}]})")
        .with(R"({"endpoints": [{"addresses": [")" + std::string(address) + R"("]}]})")
        .json();
  }
  std::string hosts(const std::string& file) const {
    auto text = sys::read_file(layout_.hosts_dir() + "/" + file);
    return text ? *text : "";
  }

  testing::ManualLoop loop_;
  testing::FakeApi api_{loop_};
  FakeNft nft_{loop_};
  NetworkLayout layout_;
  std::unique_ptr<client::Mirror> mirror_;
  std::unique_ptr<NetworkSync> sync_;
};

TEST_F(NetworkSyncTest, BringsWhatTheApiSays) {
  add_service("web", "10.96.0.9");
  api_.create(kEndpointSlices, slice("10.244.4.7"));
  sync_->start();
  loop_.advance(milliseconds(100));
  ASSERT_EQ(nft_.scripts.size(), 1U);
  EXPECT_THAT(nft_.scripts[0], HasSubstr("dnat to 10.244.4.7:8080"));
  EXPECT_EQ(hosts("a.web"), "10.96.0.9 web.a.svc.cluster.local\n");
  EXPECT_TRUE(sync_->is_settled());
}

TEST_F(NetworkSyncTest, TouchesNothingBeforeItKnowsAll) {
  api_.fail_lists(kEndpointSlices, testing::an_error(Reason::kServiceUnavailable), 3);
  ASSERT_TRUE(sys::atomic_write(layout_.hosts_dir() + "/a.old", "10.96.0.8 old.a.svc.cluster.local\n"));
  add_service("web", "10.96.0.9");
  sync_->start();
  loop_.advance(milliseconds(100));
  EXPECT_TRUE(nft_.scripts.empty());
  EXPECT_NE(hosts("a.old"), "");
  loop_.advance(std::chrono::minutes(1));
  EXPECT_EQ(nft_.scripts.size(), 1U);
  EXPECT_EQ(hosts("a.old"), "") << "what is no more";
}

TEST_F(NetworkSyncTest, ABurstIsOneScriptAndNoChangeIsNone) {
  sync_->start();
  loop_.advance(milliseconds(100));
  ASSERT_EQ(nft_.scripts.size(), 1U);  // no services at all
  for (const char* name : {"one", "two", "three"})
    add_service(name, ("10.96.0." + std::to_string(10 + name[0] % 50)).c_str());
  loop_.advance(milliseconds(200));
  EXPECT_EQ(nft_.scripts.size(), 2U);
  // A label is nothing to the network.
  api_.patch(kServices, {"a", "one"}, testing::parsed(R"({"metadata": {"labels": {"x": "y"}}})"));
  loop_.advance(milliseconds(200));
  EXPECT_EQ(nft_.scripts.size(), 2U);
  EXPECT_TRUE(sync_->is_settled());
}

TEST_F(NetworkSyncTest, ChangesArriveWithinASecondEvenWhenNftIsSlow) {
  nft_.takes = milliseconds(300);
  sync_->start();
  loop_.advance(milliseconds(500));
  add_service("web", "10.96.0.9");
  loop_.advance(milliseconds(100));  // its script is under way
  api_.create(kEndpointSlices, slice("10.244.4.7"));
  loop_.advance(milliseconds(900));
  ASSERT_FALSE(nft_.scripts.empty());
  EXPECT_THAT(nft_.scripts.back(), HasSubstr("dnat to 10.244.4.7:8080"));
  api_.remove(kServices, {"a", "web"});
  loop_.advance(milliseconds(900));
  EXPECT_THAT(nft_.scripts.back(), Not(HasSubstr("dnat to")));
  EXPECT_EQ(hosts("a.web"), "");
}

TEST_F(NetworkSyncTest, TriesAgainAfterAFailure) {
  nft_.fails = 2;
  add_service("web", "10.96.0.9");
  sync_->start();
  loop_.advance(milliseconds(100));
  EXPECT_TRUE(nft_.scripts.empty());
  EXPECT_FALSE(sync_->is_settled());
  loop_.advance(std::chrono::seconds(2));
  EXPECT_EQ(nft_.scripts.size(), 1U);
  EXPECT_TRUE(sync_->is_settled());
}

}  // namespace
}  // namespace gangway::agent
