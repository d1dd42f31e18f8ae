// Agent: commands on their way to the runtime, and their outcomes on their way back.
#include "agent/agent.h"

namespace gangway::agent {

template <class T>
sys::Completion<T> Agent::completion(const std::string& uid, std::function<Outcome(Result<T>)> outcome) {
  return [this, uid, outcome = std::move(outcome), life = std::weak_ptr(life_)](Result<T> result) {
    if (!life.expired()) settle(uid, outcome(std::move(result)));
  };
}

void Agent::begin(const std::string& uid, Worker& worker, PlannedCommand command) {
  worker.facts.under_way.insert(command.key);
  if (command.event) {
    if (const auto node = nodes_.find(worker.record.pod.node); node != nodes_.end())
      tell(node->second, worker, *command.event);
  }
  run(uid, worker, std::move(command.what));
}

void Agent::run(const std::string& uid, const Worker& worker, Command command) {
  Runtime& runtime = parts_.runtime;
  if (auto* sandbox = std::get_if<MakeSandbox>(&command)) {
    return runtime.make_sandbox(std::move(sandbox->spec), completion<Sandbox>(uid, [](Result<Sandbox> result) {
                                  return SandboxMade{std::move(result)};
                                }));
  }
  if (auto* volume = std::get_if<PrepareVolume>(&command)) {
    return runtime.prepare_volume(
        volume->spec, completion<void>(uid, [name = volume->spec.name, content = volume->content](Result<void> result) {
          return VolumePrepared{name, content, std::move(result)};
        }));
  }
  if (auto* image = std::get_if<PrepareImage>(&command)) {
    return runtime.prepare_image(image->request,
                                 completion<Image>(uid, [container = image->container, name = image->request.image,
                                                         policy = image->request.policy](Result<Image> result) {
                                   return ImagePrepared{container, name, policy, std::move(result)};
                                 }));
  }
  if (auto* start = std::get_if<StartContainer>(&command)) {
    return runtime.start(start->spec, completion<Started>(uid, [id = start->spec.id](Result<Started> result) {
                           return ContainerStarted{id, std::move(result)};
                         }));
  }
  if (auto* hook = std::get_if<RunHook>(&command)) return run_hook(uid, *hook);
  if (auto* signal = std::get_if<SendSignal>(&command)) {
    return runtime.signal(signal->container, signal->signal,
                          completion<void>(uid, [sent = *signal](Result<void> result) {
                            return SignalSent{sent.container, sent.signal, std::move(result)};
                          }));
  }
  if (auto* removal = std::get_if<RemoveContainer>(&command)) {
    return runtime.remove(removal->container, completion<void>(uid, [id = removal->container](Result<void> result) {
                            return ContainerRemoved{id, std::move(result)};
                          }));
  }
  runtime.remove_sandbox(worker.record.pod.uid,
                         completion<void>(uid, [](Result<void> result) { return SandboxRemoved{std::move(result)}; }));
}

void Agent::run_hook(const std::string& uid, const RunHook& hook) {
  const Duration timeout = hook.until == WallTime::max() ? Duration::zero()
                                                         : std::max<Duration>(std::chrono::milliseconds(1),
                                                                              hook.until - parts_.loop.clock().wall());
  parts_.checks.run(
      hook.handler, hook.container, hook.address, timeout,
      completion<std::string>(uid, [id = hook.container, before_stop = hook.before_stop](Result<std::string> result) {
        return HookDone{id, before_stop, result ? Result<void>() : Result<void>(result.error())};
      }));
}

void Agent::settle(const std::string& uid, Outcome outcome) {
  const auto at = workers_.find(uid);
  if (at == workers_.end()) return;
  Worker& worker = at->second;
  const auto spec = worker.version ? specs_.get(worker.version) : nullptr;
  const auto node = nodes_.find(worker.record.pod.node);
  const auto events = apply(spec.get(), worker.record, worker.facts, outcome, parts_.loop.clock().wall());
  worker.dirty = true;
  if (node != nodes_.end()) {
    for (const PodEvent& event : events) tell(node->second, worker, event);
  }
  queue_.add(worker_key(uid), client::WorkQueue::Priority::kUrgent);
}

}  // namespace gangway::agent
