#include "client/drainable_client.h"

#include <gtest/gtest.h>

#include "client/resource.h"
#include "testing/fake_api.h"
#include "testing/manual_loop.h"

namespace gangway::client {
namespace {

using namespace std::chrono_literals;
using resources::kConfigMaps;

struct DrainableClientTest : ::testing::Test {
  testing::ManualLoop loop;
  testing::FakeApi api{loop};
  DrainableClient client{api, loop};

  ApiRequest create(const std::string& name) {
    ApiRequest request;
    request.method = Method::kCreate;
    request.resource = kConfigMaps;
    request.object.ns = "default";
    request.body = R"({"metadata":{"namespace":"default","name":")" + name + "\"}}";
    return request;
  }
};

TEST_F(DrainableClientTest, IsDrainedWhenTheLastCallWasAnswered) {
  api.set_answer_lag(1s);
  int answered = 0;
  client.call(create("a"), [&](const Result<api::Version>& answer) { answered += answer.has_value(); });
  bool drained = false;
  client.close([&] { drained = true; });
  loop.advance(500ms);
  EXPECT_FALSE(drained);
  loop.advance(1s);
  EXPECT_TRUE(drained);
  EXPECT_EQ(answered, 1);
}

TEST_F(DrainableClientTest, NothingGetsThroughOnceItIsClosed) {
  bool drained = false;
  client.close([&] { drained = true; });
  bool failed = false;
  client.call(create("a"), [&](const Result<api::Version>& answer) { failed = !answer; });
  EXPECT_FALSE(failed);  // by post, as all answers
  loop.run_until_idle();
  EXPECT_TRUE(failed);
  EXPECT_TRUE(drained);
  EXPECT_TRUE(api.writes().empty());
}

TEST_F(DrainableClientTest, CallsAreAnsweredAlsoWhenItIsGone) {
  auto short_lived = std::make_unique<DrainableClient>(api, loop);
  bool answered = false;
  short_lived->call(create("a"), [&](const Result<api::Version>&) { answered = true; });
  short_lived.reset();
  loop.run_until_idle();
  EXPECT_TRUE(answered);
}

}  // namespace
}  // namespace gangway::client
