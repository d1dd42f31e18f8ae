// A list that goes on: what is told line by line, and what is drawn in place.
#include <gtest/gtest.h>

#include "cli/arena/list_changes.h"
#include "cli/arena/screen.h"
#include "cli/arena/test_jobs.h"

namespace gangway::cli::arena {
namespace {

using namespace std::chrono_literals;

JobView job_named(const std::string& name, const std::string& status, Duration duration = 1s) {
  JobView job;
  job.name = name;
  job.uid = "uid-" + name;
  job.status = status;
  job.duration = duration;
  return job;
}

std::string told(ListChanges& changes, std::vector<JobView> jobs) {
  std::string text;
  for (const JobView& job : changes.take(std::move(jobs), kNow)) text += job.name + ":" + job.status + " ";
  return text;
}

TEST(ListChanges, TellsWhatIsNewWhatIsDifferentAndWhatIsGone) {
  ListChanges changes({});
  EXPECT_EQ(told(changes, {job_named("b", "RUNNING"), job_named("a", "PENDING")}), "b:RUNNING a:PENDING ");
  EXPECT_EQ(told(changes, {job_named("b", "RUNNING", 5s), job_named("a", "PENDING", 6s)}), "") << "time passes";
  EXPECT_EQ(told(changes, {job_named("b", "RUNNING"), job_named("a", "RUNNING")}), "a:RUNNING ");
  EXPECT_EQ(told(changes, {job_named("a", "RUNNING")}), "b:DELETED ");
  EXPECT_EQ(told(changes, {job_named("a", "RUNNING")}), "");
  JobView another = job_named("a", "RUNNING");
  another.uid = "another";
  EXPECT_EQ(told(changes, {another}), "a:RUNNING a:DELETED ") << "one of the same name is another";
}

TEST(ListChanges, AJobTellsWhenItHasAdvancedAPercent) {
  ListChanges changes({.with_progress = true});
  JobView job = job_named("a", "RUNNING");
  const auto at_step = [&](double step) {
    job.progress = Progress{.step = step, .total = 1000};
    return told(changes, {job});
  };
  EXPECT_EQ(at_step(10), "a:RUNNING ");
  EXPECT_EQ(at_step(19), "");
  EXPECT_EQ(at_step(20), "a:RUNNING ");
}

TEST(Screen, TheFirstDrawingMovesNowhere) {
  const Drawing drawing = draw_over("one\ntwo\n", 0, {24, 80});
  EXPECT_EQ(drawing.bytes, "\x1b[Jone\ntwo\n");
  EXPECT_EQ(drawing.lines, 2u);
}

TEST(Screen, TheNextTakesThePlaceOfTheLast) {
  EXPECT_EQ(draw_over("one\n", 2, {24, 80}).bytes, "\x1b[2F\x1b[Jone\n");
}

TEST(Screen, NothingWrapsAndNothingScrollsAway) {
  const Drawing drawing = draw_over("abcdef\nüüüüü\n1\n2\n3\n", 0, {4, 4});
  EXPECT_EQ(drawing.bytes, "\x1b[Jabcd\nüüüü\n... \n");
  EXPECT_EQ(drawing.lines, 3u);
  EXPECT_EQ(draw_over("1\n2\n3\n", 0, {4, 40}).bytes, "\x1b[J1\n2\n3\n") << "just fits";
  EXPECT_EQ(draw_over("1\n2\n3\n4\n", 0, {4, 40}).bytes, "\x1b[J1\n2\n... and 2 more\n");
  EXPECT_EQ(draw_over("1\n2\n", 0, {0, 0}).lines, 1u) << "a terminal that does not say how large it is";
}

}  // namespace
}  // namespace gangway::cli::arena
