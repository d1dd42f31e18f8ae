// What a job has beside its pods: made when it is missing, one part of it kept in step with the job. Pure.
//
// An object of the name that somebody else made is used as it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/action.h"
#include "client/view.h"
#include "controllers/owned.h"
#include "json/value.h"

namespace gangway::jobs {

inline const client::Resource kRoles{"rbac.authorization.k8s.io", "v1", "roles"};
inline const client::Resource kRoleBindings{"rbac.authorization.k8s.io", "v1", "rolebindings"};

// {apiVersion, kind, metadata}, owned by the job and labelled with its name.
json::Value belonging_of(const controllers::Owner& owner, const char* api_version, const char* kind, std::string name);

class Belongings {
 public:
  Belongings(const controllers::Owner& owner, const client::View& view, std::vector<client::Action>& actions)
      : owner_(owner), view_(view), actions_(actions) {}

  // Makes the object, or its `part`, as it should be; an empty part: whatever it says is right.
  void keep(const client::Resource& resource, json::Value wanted, std::string_view part = "");
  bool has(const client::Resource& resource, const std::string& name) const;
  void create(const client::Resource& resource, json::Value body);
  // All that was to be kept is there.
  bool are_there() const { return are_there_; }

 private:
  const controllers::Owner& owner_;
  const client::View& view_;
  std::vector<client::Action>& actions_;
  bool are_there_ = true;
};

}  // namespace gangway::jobs
