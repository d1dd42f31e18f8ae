// References: what pods name and their node must look up, as far as it is known. An interface of pure questions; who
// keeps the answers current is the shell's business.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agent/pod/pod_spec.h"

namespace gangway::agent {

// The keys of a config map or a secret, with their bytes.
using KeyValues = std::map<std::string, std::string>;

template <class T>
struct Looked {
  enum class State : std::uint8_t { kUnknown, kMissing, kFound };
  State state = State::kUnknown;
  const T* value = nullptr;  // when found
  std::string error = {};    // when it is unknown and likely to stay so
};

// A claim that is bound to a directory of this machine, or why it is not usable yet.
struct ClaimedPath {
  std::string path;
  std::string problem;
};

struct ServiceAddress {
  struct Port {
    std::string name;
    std::uint16_t number = 0;
    std::string protocol;
  };
  std::string name;
  std::string address;
  std::vector<Port> ports;
};

class References {
 public:
  virtual ~References() = default;
  virtual Looked<KeyValues> keys(KeyHolder in, const std::string& ns, const std::string& name) const = 0;
  virtual Looked<ClaimedPath> claim(const std::string& ns, const std::string& name) const = 0;
  // A current token of the pod's service account, bound to the pod.
  virtual Looked<std::string> token(const PodIdentity& pod, const std::string& account,
                                    const TokenSource& wanted) const = 0;
  // Of the pod's namespace, in the order of names, without those that have no address.
  virtual std::vector<ServiceAddress> services(const std::string& ns) const = 0;
};

// References that must be told which pods there are: they look up what is used, and nothing else.
class PodReferences : public References {
 public:
  // The pod names what it names from now on. Again after each change of its object; cheap when nothing changed.
  virtual void hold(const PodSpec& pod) = 0;
  virtual void release(const std::string& pod_uid) = 0;
};

}  // namespace gangway::agent
