#include "apiserver/rest/paged_roots.h"

#include <algorithm>

namespace gangway::apiserver {

void PagedRoots::hold(std::shared_ptr<const store::Root> root, WallTime now) {
  std::lock_guard lock(mutex_);
  drop_expired(now);
  auto revision = root->revision();
  held_.remove_if([&](const Held& held) { return held.root->revision() == revision; });
  held_.push_front(Held{std::move(root), now + lifetime_});
  if (held_.size() > most_) held_.pop_back();
}

std::shared_ptr<const store::Root> PagedRoots::find(api::Revision revision, WallTime now) {
  std::lock_guard lock(mutex_);
  drop_expired(now);
  auto at =
      std::find_if(held_.begin(), held_.end(), [&](const Held& held) { return held.root->revision() == revision; });
  return at == held_.end() ? nullptr : at->root;
}

void PagedRoots::drop_expired(WallTime now) {
  held_.remove_if([&](const Held& held) { return held.until < now; });
}

}  // namespace gangway::apiserver
