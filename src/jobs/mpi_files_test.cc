// The texts of the files in /etc/mpi.
#include "jobs/mpi_files.h"

#include <gmock/gmock.h>

namespace gangway::jobs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(MpiFiles, NameHostsAsEachMpirunReadsThem) {
  EXPECT_EQ(mpi_hostfile({"a", "b"}, 4), "a slots=4\nb slots=4\n");
  EXPECT_EQ(mpi_hostfile({"a", "b"}, 4, HostForm::kColon), "a:4\nb:4\n");
  EXPECT_EQ(mpi_hostfile({}, 1), "");
}

TEST(MpiFiles, DiscoverHostsWithTheirSlotsOrWithout) {
  EXPECT_EQ(mpi_discover_hosts({"a", "b"}, 2), "#!/bin/sh\necho a:2\necho b:2\n");
  EXPECT_EQ(mpi_discover_hosts({"a"}, std::nullopt), "#!/bin/sh\necho a\n");
  EXPECT_EQ(mpi_discover_hosts({}, 1), "#!/bin/sh\n");
}

TEST(MpiFiles, StartInTheContainerThatIsNamed) {
  EXPECT_THAT(mpi_remote_start(), Not(HasSubstr("-c mpi")));
  EXPECT_THAT(mpi_remote_start("mpi"), HasSubstr(R"(gangway-exec -w 300 -c mpi "$worker" -- /bin/sh -c "$*")"));
  EXPECT_THAT(mpi_remote_start("mpi"), HasSubstr(R"("$kubectl" exec -c mpi "$worker" -- /bin/sh -c "$*")"));
}

}  // namespace
}  // namespace gangway::jobs
