#include "agent/node/fence.h"

#include <algorithm>

namespace gangway::agent {

MonoTime last_contact(MonoTime before, MonoTime renewed_at, LocalServer server, MonoTime now) {
  if (server == LocalServer::kStopped) return now;
  return std::max(before, renewed_at);
}

bool is_fenced(MonoTime last_contact, MonoTime now) {
  return now - last_contact >= kFenceAfter;
}

}  // namespace gangway::agent
