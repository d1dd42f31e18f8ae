#include "client/view.h"

namespace gangway::client {

const ObjectCache& View::objects(const Resource& resource) const {
  static const ObjectCache kNothing;
  const ObjectCache* found = source_.objects(resource);
  return found != nullptr ? *found : kNothing;
}

const Result<json::Value>* View::answer(std::string_view name) const {
  if (last_ == nullptr) return nullptr;
  auto at = last_->probes.find(name);
  return at == last_->probes.end() ? nullptr : &at->second;
}

bool View::is_held(const Resource& resource, const api::ObjectName& name) const {
  return held_ != nullptr && (*held_)(resource, name);
}

const std::vector<Setback>& View::setbacks() const {
  static const std::vector<Setback> kNone;
  return last_ == nullptr ? kNone : last_->setbacks;
}

}  // namespace gangway::client
