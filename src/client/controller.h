// Controller: the frame around a Reconciler. Watches, keys, looks, actions, answers, hold-back, retries.
//
//   change ─► key ─► waiting ─► look ─┬─ no actions ─► absent, or delayed until look_again_at
//                      ▲              └─ actions ─► held: answers missing ─► held: mirror behind ─┐
//                      └── at once, or after back-off when an action failed ◄───────────────────────┘
//                      └── after a pause when the look before took long
//
// A held key is not looked at, whatever happens to its objects: a look at a view that lacks the effects of the last
// actions would decide them again. Unless the reconciler says that it assumes its own effects: then objects are held
// instead (ObjectHolds), and the key is free while answers are missing. The hold ends after a while even so, since an
// object may be changed and deleted in ways that the mirror never shows. Runs on the loop of the mirror's client.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/action_runner.h"
#include "client/event_writer.h"
#include "client/mirror.h"
#include "client/object_holds.h"
#include "client/reconciler.h"
#include "client/work_queue.h"

namespace gangway::client {

// Hooks for metrics and logs. They must not call back into the controller.
class ControllerObserver {
 public:
  virtual ~ControllerObserver() = default;
  virtual void on_look(const std::string& controller, const api::ObjectKey& key, const Outcome& outcome);
  virtual void on_answer(const std::string& controller, const api::ObjectKey& key, std::string_view verb,
                         const ActionAnswer& answer);
  virtual void on_hold_timeout(const std::string& controller, const api::ObjectKey& key);
};

struct ControllerOptions {
  std::string name;  // also the field manager of its writes, and who its Events come from
  sys::Lane lane = sys::Lane::kNormal;
  WorkQueueOptions queue = {};
  std::size_t max_under_way = 64;
  Duration longest_hold = std::chrono::seconds(30);
  Duration longest_sync = std::chrono::seconds(30);  // for resources that are not required
  // A key that acts this often without ever being at rest is put under back-off: a reconciler that fights somebody
  // must not do so at full speed.
  unsigned restless_looks = 16;
  // A key whose looks take long has a pause of so many times as long after each: changes that come by the thousand are
  // then seen by a few looks, and the loop has time for others.
  unsigned pause_factor = 4;
};

struct ControllerStatus {
  std::uint64_t looks = 0;
  std::uint64_t actions = 0;
  std::uint64_t failed_actions = 0;
  std::uint64_t hold_timeouts = 0;
  std::uint64_t overflows = 0;
  std::string last_error;
};

class Controller {
 public:
  // `mirror`, `reconciler`, `probes` and `observer` must outlive the controller; the last two may be null.
  Controller(ApiClient& client, sys::EventLoop& loop, Mirror& mirror, const Reconciler& reconciler,
             ControllerOptions options, ProbeRunner* probes = nullptr, ControllerObserver* observer = nullptr);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  void start();

  // Besides those the reconciler names: for resources that come and go. A second rule for a resource replaces the
  // first.
  void add_watch(WatchRule rule);
  // The mirror itself keeps the resource: others may read it.
  void remove_watch(const Resource& resource);

  // Looks at a key although nothing changed.
  void enqueue(const api::ObjectKey& key, WorkQueue::Priority priority = WorkQueue::Priority::kNormal);
  // Tells every mapper about every object again.
  void resync();

  bool has_synced() const;
  // Nothing waits, is held or is under way (what is delayed may be there).
  bool is_idle() const { return queue_.waiting() == 0 && held_.empty() && objects_.size() == 0; }
  std::size_t held() const { return held_.size() + objects_.size(); }
  const WorkQueue& queue() const { return queue_; }
  const ControllerStatus& status() const { return status_; }
  const std::string& name() const { return options_.name; }

 private:
  struct Watch {
    WatchRule rule;
    std::unique_ptr<sys::Subscription> subscription;
    MonoTime since;
  };
  struct Landed {
    std::string_view verb;
    ActionAnswer answer;
  };
  struct Held {
    std::size_t answers_missing = 0;
    bool failed = false;
    Duration at_least = Duration::zero();  // what the server asked us to wait
    std::vector<Landed> landed;            // effects that the mirror may not show yet
    Recollection recollection;             // for the next look
    sys::TimerId timeout = sys::TimerId::kNone;
  };

  View view(const Recollection* last = nullptr) const;
  void on_change(const Resource& resource, const ObjectChange& change);
  void on_progress(const Resource& resource);
  void wake();
  void pump();
  bool must_pause(const api::ObjectKey& key);
  Outcome reconcile(const api::ObjectKey& key);
  void look(const api::ObjectKey& key);
  void tell(Outcome& outcome);
  void rest(const api::ObjectKey& key, const Outcome& outcome);
  void act(const api::ObjectKey& key, Outcome outcome);
  void answered(const api::ObjectKey& key, std::string_view verb, ActionAnswer answer);
  void act_assuming(const api::ObjectKey& key, Outcome outcome);
  void answered_assuming(const ObjectHolds::Object& object, const api::ObjectKey& key, std::string_view verb,
                         ActionAnswer answer);
  void freed(const ObjectHolds::Object& object, const ObjectHolds::Hold& hold, ObjectHolds::End end);
  // `begun`: when the effect was asked for. What others tell of its consequences comes after that.
  void announce(const Announcement& announcement, WallTime begun, const Result<void>& result);
  void time_out(const api::ObjectKey& key);
  void release_if_shown(const api::ObjectKey& key);
  void release(const api::ObjectKey& key);
  bool is_shown(const ActionAnswer& answer) const;
  void recover_from_overflow();
  bool retell_from(const Resource& resource, const Watch& watch);

  sys::EventLoop& loop_;
  Mirror& mirror_;
  const Reconciler& reconciler_;
  ControllerOptions options_;
  ControllerObserver* observer_;
  WorkQueue queue_;
  ActionRunner runner_;
  EventWriter events_;
  ObjectHolds objects_;  // for a reconciler that assumes its effects
  const View::Held is_held_;
  std::map<Resource, Watch> watches_;
  std::map<api::ObjectKey, Held> held_;
  std::map<Resource, std::set<api::ObjectKey>> behind_;  // held keys by the resource they wait for
  std::map<api::ObjectKey, Recollection> last_;          // for the next look
  std::map<api::ObjectKey, unsigned> restless_;
  std::map<api::ObjectKey, MonoTime> pauses_;  // until when
  // Where telling everything again has got to, since the queue lost something.
  std::optional<std::pair<Resource, api::ObjectName>> retell_;
  ControllerStatus status_;
  bool started_ = false;
  bool pumping_ = false;
  sys::TimerId sync_timer_ = sys::TimerId::kNone;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

}  // namespace gangway::client
