#include "jobs/ssh_key_probe.h"

namespace gangway::jobs {

void SshKeyProbe::ask(const client::Probe&, sys::Completion<json::Value> done) {
  loop_.post([make = make_, done = std::move(done)] {
    if (!make) return done(internal_error("nobody here makes keys for ssh"));
    auto key = make();
    if (!key) return done(std::move(key.error()));
    done(json::Value(json::Object{{"private", key->private_pem}, {"public", key->public_line}}));
  });
}

}  // namespace gangway::jobs
