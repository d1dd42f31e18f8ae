#include "agent/oci/image_name.h"

#include <gtest/gtest.h>

namespace gangway::agent::oci {
namespace {

const std::string kDigest = "sha256:" + std::string(64, 'a');

TEST(ImageName, OneImageHasOneName) {
  struct Case {
    std::string text;
    std::string want;
  };
  for (const auto& [text, want] : {
           Case{"nginx", "docker.io/library/nginx:latest"},
           Case{"nginx:1.25", "docker.io/library/nginx:1.25"},
           Case{"docker.io/nginx", "docker.io/library/nginx:latest"},
           Case{"team/app", "docker.io/team/app:latest"},
           Case{"localhost/app", "localhost/app:latest"},
           Case{"127.0.0.1:5000/a/b:v1", "127.0.0.1:5000/a/b:v1"},
           Case{"registry.example:5000/app", "registry.example:5000/app:latest"},
           Case{"nginx@" + kDigest, "docker.io/library/nginx@" + kDigest},
           Case{"nginx:1.25@" + kDigest, "docker.io/library/nginx@" + kDigest},
           Case{"oci:/layouts/app:v2", "oci:/layouts/app:v2"},
           Case{"oci:/layouts/app", "oci:/layouts/app:latest"},
       }) {
    const auto name = parse_image_name(text);
    ASSERT_TRUE(name) << text;
    EXPECT_EQ(name->canonical(), want) << text;
  }
}

TEST(ImageName, RefusesWhatIsNoName) {
  for (const auto* text : {"", "Nginx", "a//b", "/a", "nginx:", "nginx:a b", "nginx@sha256:short", "oci:relative:tag",
                           "-oProxy=x/app", "nginx;ls", "oci:/a:$(id)"}) {
    const auto name = parse_image_name(text);
    ASSERT_FALSE(name) << text;
    EXPECT_TRUE(name.error().message.ends_with("invalid reference format"));
  }
}

TEST(ImageName, SaysWhereToAskAndWhatWasFound) {
  const auto remote = *parse_image_name("registry.example/app:v1");
  EXPECT_EQ(remote.source(), "docker://registry.example/app:v1");
  EXPECT_EQ(remote.source_at(kDigest), "docker://registry.example/app@" + kDigest);
  EXPECT_EQ(remote.id_at(kDigest), "registry.example/app@" + kDigest);
  EXPECT_FALSE(remote.insecure());
  EXPECT_TRUE(parse_image_name("127.0.0.1:5000/app")->insecure());
  EXPECT_TRUE(parse_image_name("localhost:5000/app")->insecure());
  const auto local = *parse_image_name("oci:/layouts/app:v2");
  EXPECT_EQ(local.source_at(kDigest), "oci:/layouts/app:v2");
  EXPECT_EQ(local.id_at(kDigest), "oci:/layouts/app@" + kDigest);
}

TEST(ImageName, LoginsBecomeAnAuthFile) {
  // base64("ada:pass") = YWRhOnBhc3M=
  EXPECT_EQ(auth_file({{.registry = "r.example", .user = "ada", .password = "pass"}}),
            R"({"auths":{"r.example":{"auth":"YWRhOnBhc3M="}}})");
}

TEST(ImageName, ReadsWhatAnImageSaysAboutItself) {
  const auto config = *json::parse(R"({"architecture":"amd64","config":{"Entrypoint":["/entry"],"Cmd":["a","b"],
      "Env":["PATH=/bin","EMPTY=","PAIR=a=b"],"WorkingDir":"/srv","User":"1000:1000","StopSignal":"SIGQUIT"}})");
  const auto defaults = image_defaults(config);
  EXPECT_EQ(defaults.entrypoint, std::vector<std::string>{"/entry"});
  EXPECT_EQ(defaults.command, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(defaults.environment,
            (std::vector<std::pair<std::string, std::string>>{{"PATH", "/bin"}, {"EMPTY", ""}, {"PAIR", "a=b"}}));
  EXPECT_EQ(defaults.working_directory, "/srv");
  EXPECT_EQ(defaults.user, "1000:1000");
  EXPECT_EQ(defaults.stop_signal, "SIGQUIT");
  EXPECT_TRUE(image_defaults(*json::parse(R"({"config":{"Cmd":null}})")).command.empty());
}

TEST(ImageName, ReadsManifests) {
  EXPECT_EQ(manifest_digest(*json::parse(R"({"manifests":[{"digest":"sha256:1"}]})")).value_or(""), "sha256:1");
  EXPECT_FALSE(manifest_digest(*json::parse(R"({"manifests":[]})")));
  const auto manifest = *json::parse(R"({"config":{"digest":"sha256:2"},"layers":[{"size":10},{"size":5}]})");
  EXPECT_EQ(config_digest(manifest).value_or(""), "sha256:2");
  EXPECT_EQ(layer_bytes(manifest), 15);
}

}  // namespace
}  // namespace gangway::agent::oci
