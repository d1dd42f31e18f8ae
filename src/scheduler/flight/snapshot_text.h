// A Snapshot as text: one JSON object a line, in which only names occur. Pure, but for what an Encoder remembers.
//
//   {"now":"2026-11-18T01:00:00Z"}                                       and what planning is told besides: Policies,
//   Budget
//   {"disruptionBudget":"default/web","pods":[…],"allowed":1}
//   {"group":"default/train","minMembers":3,"size":4,"since":"…"}
//   {"node":"n0","allocatable":{"cpu":"32","memory":"64Gi","nvidia.com/gpu":"4"}}
//   {"pod":"default/a","node":"n0","since":"…","needs":{"cpu":"1"}}      a plain pod says itself what its gang would
//
// The encoding is canonical: lines are in the order of their keys, and neither the order and gaps of the tables nor the
// numbers of resources leave a trace in it. What has its default is left out. A node that pods or tickets name and that
// has gone is "". Waiting pods that end so long after their start say how long ("runsFor"), so that their lines do
// not change as time goes by.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "planning/schedule/schedule.h"
#include "planning/snapshot.h"

namespace gangway::scheduler::flight {

// All that schedule() is given.
struct Given {
  planning::Snapshot snapshot = {};
  planning::Policies policies = {};
  planning::Budget budget = {};
};

// What a line is about, as it stands there: "pod":"default/a" without the first quote. Empty when it is no such line.
std::string_view key_of(std::string_view line);

// Lines by their keys, without the first.
using Lines = std::map<std::string, std::string, std::less<>>;

// Of entries one at a time. Remembers the text of shapes, which many pods share: a pod costs little more than a copy of
// its bytes. One table of resource names for all it is asked for.
class Encoder {
 public:
  std::string node(const planning::Snapshot& snapshot, const planning::Node& node);
  // With its gang, where it is plain.
  std::string pod(const planning::Snapshot& snapshot, const planning::Pod& pod);
  std::string group(const planning::Snapshot& snapshot, const planning::Gang& gang);
  std::string budget(const planning::DisruptionBudget& budget);

 private:
  class Fields;
  const std::string& shape_text(const planning::Snapshot& snapshot,
                                const std::shared_ptr<const planning::PodShape>& shape);

  struct KnownShape {
    std::shared_ptr<const planning::PodShape> shape;  // kept, so that no other can have its address
    std::string text;
  };
  std::map<const planning::PodShape*, KnownShape> shapes_;
};

// The fields of the first line, without its braces: "now", and what of the rest is not the default.
std::string frame_text(WallTime now, const planning::Policies& policies, const planning::Budget& budget);

Lines lines_of(const planning::Snapshot& snapshot);
// Everything, one line after the other.
std::string encode(const planning::Snapshot& snapshot, const planning::Policies& policies,
                   const planning::Budget& budget);

// Reads what encode() writes, and what people write in its manner: in any order, with values left out. Errors name the
// line and the field.
Result<Given> decode(std::string_view text);
// The same from parts; `frame` is a whole line, of which fields that have nothing to do with planning are ignored.
Result<Given> decode(std::string_view frame, const Lines& lines);

}  // namespace gangway::scheduler::flight
