#include "agent/oci/gpus.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "agent/oci/test_folder.h"

namespace gangway::agent::oci {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInformation =
    "Model: \t\t NVIDIA A100-SXM4-80GB\n"
    "IRQ:   \t\t 330\n"
    "GPU UUID: \t GPU-aaaa\n"
    "Bus Location: \t 0000:3b:00.0\n"
    "Device Minor: \t 2\n";

Gpu a_gpu(const char* bus, const char* uuid, std::optional<unsigned> minor) {
  return {.bus = bus, .uuid = uuid, .model = "", .memory_bytes = 0, .minor = minor};
}

TEST(Gpus, AreWhatTheToolPrints) {
  const auto gpus = parse_smi(
      "00000000:3B:00.0, GPU-aaaa, 81920, NVIDIA A100-SXM4-80GB\n"
      "00010000:AF:00.0, GPU-bbbb, [N/A], Tesla, old\n"
      "Unable to determine the device handle for GPU 0000:D8:00.0: Unknown Error\n");
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].bus, "0000:3b:00.0");
  EXPECT_EQ(gpus[0].uuid, "GPU-aaaa");
  EXPECT_EQ(gpus[0].memory_bytes, 85'899'345'920);  // 80 GiB
  EXPECT_EQ(gpus[0].model, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(gpus[1].bus, "00010000:af:00.0") << "a domain that needs its digits keeps them";
  EXPECT_EQ(gpus[1].memory_bytes, 0);
  EXPECT_EQ(gpus[1].model, "Tesla, old");
  EXPECT_TRUE(parse_smi("No devices were found\n").empty());
}

TEST(Gpus, AreWhatTheDriverKnows) {
  const auto gpu = parse_information("0000:3b:00.0", kInformation);
  ASSERT_TRUE(gpu);
  EXPECT_EQ(gpu->uuid, "GPU-aaaa");
  EXPECT_EQ(gpu->model, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(gpu->minor, 2U);
  EXPECT_FALSE(parse_information("0000:3b:00.0", ""));
}

TEST(Gpus, AreCountedByTheirPlaceOnTheBus) {
  const Gpu first = a_gpu("0000:3b:00.0", "GPU-a", 1);
  const Gpu second = a_gpu("0000:af:00.0", "GPU-b", 0);
  EXPECT_EQ(merge_gpus({}, {second, first}, {0, 1}), (std::vector<Gpu>{first, second}));
  // The tool says who is there, the driver which file is whose.
  EXPECT_EQ(
      merge_gpus({a_gpu("0000:af:00.0", "GPU-b", {}), a_gpu("0000:3b:00.0", "GPU-a", {})}, {second, first}, {0, 1}),
      (std::vector<Gpu>{first, second}));
}

TEST(Gpus, ThatWereNotGivenToUsAreNotOurs) {
  const Gpu first = a_gpu("0000:3b:00.0", "GPU-a", 0);
  const Gpu second = a_gpu("0000:af:00.0", "GPU-b", 1);
  EXPECT_EQ(merge_gpus({}, {first, second}, {1}), std::vector<Gpu>{second});
  EXPECT_EQ(merge_gpus({a_gpu("0000:af:00.0", "GPU-b", {})}, {first, second}, {1}), std::vector<Gpu>{second});
  EXPECT_TRUE(merge_gpus({}, {first, second}, {}).empty());
}

TEST(Gpus, AreTheirDeviceFilesWhereNobodyTells) {
  const auto gpus = merge_gpus({}, {}, {10, 2});
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].minor, 2U);
  EXPECT_EQ(gpus[1].minor, 10U);
}

TEST(Gpus, AreFoundOnTheDisk) {
  TestFolder folder;
  const std::string dev = folder.path() + "/dev";
  const std::string proc = folder.path() + "/proc";
  EXPECT_TRUE(gpus_by_files(proc, dev).empty());
  fs::create_directories(dev);
  for (const auto* name : {"nvidia0", "nvidia2", "nvidiactl", "nvidia-uvm", "nvidia0x", "null"})
    std::ofstream(dev + "/" + name) << "";
  ASSERT_EQ(gpus_by_files(proc, dev).size(), 2U);
  EXPECT_EQ(gpus_by_files(proc, dev)[1].minor, 2U);
  fs::create_directories(proc + "/driver/nvidia/gpus/0000:3b:00.0");
  std::ofstream(proc + "/driver/nvidia/gpus/0000:3b:00.0/information") << kInformation;
  const auto known = gpus_by_files(proc, dev);
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known[0].uuid, "GPU-aaaa");
}

}  // namespace
}  // namespace gangway::agent::oci
