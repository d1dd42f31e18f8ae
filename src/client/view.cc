#include "client/view.h"

namespace gangway::client {

const ObjectCache& View::objects(const Resource& resource) const {
  static const ObjectCache kNothing;
  const ObjectCache* found = source_.objects(resource);
  return found != nullptr ? *found : kNothing;
}

const Result<json::Value>* View::answer(std::string_view name) const {
  if (answers_ == nullptr) return nullptr;
  auto at = answers_->find(name);
  return at == answers_->end() ? nullptr : &at->second;
}

}  // namespace gangway::client
