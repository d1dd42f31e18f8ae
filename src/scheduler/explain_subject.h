// What becomes of an object that a user asks about: a pod, a PodGroup, or something that makes pods. Pure.
//
// Answers from listed objects, with the planner's help for those of its pods that wait for a place. What it waits for
// besides a place (it is suspended, its image cannot be pulled) is a line that quotes whoever said so.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/object.h"
#include "base/result.h"
#include "client/api_client.h"
#include "client/view.h"
#include "scheduler/explain.h"

namespace gangway::scheduler {

struct SubjectKind {
  std::string_view word;  // on the command line: "deployment"
  std::string_view kind;  // "Deployment"
  client::Resource resource;
};
// Those that can be asked about.
const std::vector<SubjectKind>& subject_kinds();
// By kind, resource or kubectl's short name ("deploy", "po"); an error names those that there are.
Result<SubjectKind> subject_kind(std::string_view word);
// What must be listed besides what the scheduler itself reads.
std::vector<client::Resource> subject_resources();

struct Explanation {
  std::string kind;
  std::string ns;
  std::string name;
  WallTime now = {};
  std::vector<std::string> notes = {};  // not about placement
  std::vector<WaitReport> waits = {};
  std::vector<RunReport> runs = {};
};

// An error for an object that does not exist names those that do.
Result<Explanation> explain(const client::View& view, const SubjectKind& kind, const api::ObjectName& name);

std::string to_text(const Explanation& explanation);
json::Value to_json(const Explanation& explanation);

}  // namespace gangway::scheduler
