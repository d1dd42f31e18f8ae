#include "agent/oci/executable.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "agent/oci/test_folder.h"

namespace gangway::agent::oci {
namespace {

namespace fs = std::filesystem;

class ExecutableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    put("root/usr/bin/tool", 0755);
    put("root/usr/bin/data", 0644);
    fs::create_symlink("usr/bin", at("root/bin"));
    fs::create_symlink("/usr/bin/tool", at("root/usr/bin/alias"));
    fs::create_symlink("/usr/bin/nothing", at("root/usr/bin/dangling"));
    fs::create_symlink("/volume/app", at("root/usr/bin/app"));
    fs::create_symlink("loop", at("root/usr/bin/loop"));
    put("volume/run", 0755);
    mounts_ = {{.source = at("volume"), .target = "/volume"}, {.source = at("volume"), .target = "/not/there/yet"}};
  }
  std::string at(const std::string& path) const { return folder_.path() + "/" + path; }
  void put(const std::string& path, int mode) {
    fs::create_directories(fs::path(at(path)).parent_path());
    std::ofstream(at(path)) << "x";
    fs::permissions(at(path), fs::perms(mode));
  }
  std::string check(const std::string& program) {
    Process process;
    process.args = {program};
    process.environment = {{"PATH", "/no/such:/bin"}};
    process.working_directory = "/usr";
    auto result = check_executable(at("root"), mounts_, process);
    if (result) return "";
    EXPECT_EQ(result.error().reason, Reason::kBadRequest);
    return result.error().message;
  }
  TestFolder folder_;
  std::vector<BindMount> mounts_;
};

TEST_F(ExecutableTest, FindsPrograms) {
  for (const auto* program : {"tool", "/usr/bin/tool", "/bin/tool", "/bin/alias", "bin/tool", "../usr/./bin/tool",
                              "/volume/run", "/volume/../usr/bin/tool", "/not/there/yet/run"}) {
    EXPECT_EQ(check(program), "") << program;
  }
}

TEST_F(ExecutableTest, SaysWhatIsWrong) {
  const std::string start = "unable to start container process: exec: ";
  EXPECT_EQ(check("nosuch"), start + "\"nosuch\": executable file not found in $PATH");
  EXPECT_EQ(check("data"), start + "\"data\": executable file not found in $PATH");
  EXPECT_EQ(check("/no/such"), start + "\"/no/such\": stat /no/such: no such file or directory");
  EXPECT_EQ(check("/bin/dangling"), start + "\"/bin/dangling\": stat /bin/dangling: no such file or directory");
  EXPECT_EQ(check("/bin/tool/x"), start + "\"/bin/tool/x\": stat /bin/tool/x: no such file or directory");
  EXPECT_EQ(check("/not/there/run"), start + "\"/not/there/run\": stat /not/there/run: no such file or directory");
  EXPECT_EQ(check("/not/there"), start + "\"/not/there\": is a directory");
  EXPECT_EQ(check("/bin/data"), start + "\"/bin/data\": permission denied");
  EXPECT_EQ(check("/usr"), start + "\"/usr\": is a directory");
}

TEST_F(ExecutableTest, TriesWhatItCannotKnow) {
  EXPECT_EQ(check("/volume/later"), "") << "a mount may hold links that mean the container's paths";
  EXPECT_EQ(check("app"), "");
  EXPECT_EQ(check("/bin/loop"), "");
}

}  // namespace
}  // namespace gangway::agent::oci
