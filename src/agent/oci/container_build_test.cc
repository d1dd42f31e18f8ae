#include "agent/oci/container_build.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "agent/oci/test_folder.h"

namespace gangway::agent::oci {
namespace {

std::vector<std::string> paths(const std::vector<DeviceFile>& devices) {
  std::vector<std::string> result;
  for (const auto& device : devices) result.push_back(device.path);
  return result;
}

TEST(ContainerBuild, GivesTheFilesOfItsGpusAndOfTheDriver) {
  TestFolder dev;
  for (const auto* name : {"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"}) {
    // As /dev/null, which every machine can open.
    if (::mknod((dev.path() + "/" + name).c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0)
      GTEST_SKIP() << "device files need root";
  }
  std::vector<Gpu> gpus(3);
  gpus[0].minor = 1;
  gpus[1].minor = 0;
  EXPECT_EQ(paths(gpu_devices({0}, gpus, dev.path())),
            (std::vector<std::string>{"/dev/nvidia1", "/dev/nvidiactl", "/dev/nvidia-uvm"}));
  EXPECT_EQ(paths(gpu_devices({0, 1}, gpus, dev.path())).size(), 4U);
  EXPECT_EQ(gpu_devices({0}, gpus, dev.path())[0].major, 1);
  EXPECT_TRUE(gpu_devices({}, gpus, dev.path()).empty());
  EXPECT_TRUE(gpu_devices({2, 3}, gpus, dev.path()).empty()) << "declared, and not there";
}

TEST(ContainerBuild, VisibleGpusAreNumberedAsCudaCountsThem) {
  std::vector<std::pair<std::string, std::string>> environment{{"NVIDIA_VISIBLE_DEVICES", "2,5"},
                                                               {"CUDA_VISIBLE_DEVICES", "2,5"}};
  number_visible_gpus(environment, {2, 5});
  EXPECT_EQ(environment[0].second, "2,5");
  EXPECT_EQ(environment[1].second, "0,1");
  environment[1].second = "0";
  number_visible_gpus(environment, {2, 5});
  EXPECT_EQ(environment[1].second, "0") << "the user knows better";
}

}  // namespace
}  // namespace gangway::agent::oci
