#include "agent/pod/pod_record.h"

#include <fmt/format.h>

#include <algorithm>

#include "json/access.h"

namespace gangway::agent {
namespace {

using Stage = ContainerRecord::Stage;

// Times are nanoseconds since the epoch, durations nanoseconds: nothing is lost on the way.
std::int64_t number(WallTime time) {
  return time.time_since_epoch().count();
}

WallTime time_at(const json::Value& root, std::string_view key) {
  return WallTime(Duration(json::int_at(root, {key})));
}

unsigned unsigned_at(const json::Value& root, std::string_view key) {
  return static_cast<unsigned>(json::int_at(root, {key}));
}

std::string text_of(const json::Value& root, std::string_view key) {
  return std::string(json::string_at(root, {key}));
}

template <class T, class Read>
std::optional<T> optional_at(const json::Value& root, std::string_view key, Read read) {
  const json::Value* value = json::find(root, {key});
  if (value == nullptr || value->is_null()) return std::nullopt;
  return read(*value);
}

WallTime read_time(const json::Value& value) {
  return WallTime(Duration(value.is_int64() ? value.get_int64() : 0));
}

template <class T, class Write>
json::Value optional_json(const std::optional<T>& value, Write write) {
  return value ? json::Value(write(*value)) : json::Value(nullptr);
}

json::Object end_json(const RunEnd& end) {
  const Exit& exit = end.exit;
  return {{"attempt", end.attempt}, {"code", exit.code},
          {"signal", exit.signal},  {"outOfMemory", exit.out_of_memory},
          {"lost", exit.lost},      {"startedAt", number(exit.started_at)},
          {"at", number(exit.at)},  {"message", exit.message},
          {"reason", end.reason}};
}

RunEnd read_end(const json::Value& value) {
  RunEnd end;
  end.attempt = unsigned_at(value, "attempt");
  end.exit.code = static_cast<int>(json::int_at(value, {"code"}));
  end.exit.signal = static_cast<int>(json::int_at(value, {"signal"}));
  end.exit.out_of_memory = json::bool_at(value, {"outOfMemory"});
  end.exit.lost = json::bool_at(value, {"lost"});
  end.exit.started_at = time_at(value, "startedAt");
  end.exit.at = time_at(value, "at");
  end.exit.message = text_of(value, "message");
  end.reason = text_of(value, "reason");
  return end;
}

json::Object stop_json(const StopRecord& stop) {
  return {{"killAt", number(stop.kill_at)},
          {"hookDone", stop.hook_done},
          {"termAt", optional_json(stop.term_at, number)},
          {"killed", optional_json(stop.killed, number)}};
}

StopRecord read_stop(const json::Value& value) {
  return {time_at(value, "killAt"), json::bool_at(value, {"hookDone"}),
          optional_at<WallTime>(value, "termAt", read_time), optional_at<WallTime>(value, "killed", read_time)};
}

json::Object container_json(const ContainerRecord& container) {
  return {{"name", container.name},
          {"stage", static_cast<int>(container.stage)},
          {"attempt", container.attempt},
          {"restarts", container.restarts},
          {"generation", container.generation},
          {"removed", container.removed},
          {"hookDone", container.hook_done},
          {"stopSignal", container.stop_signal},
          {"startedAt", number(container.started_at)},
          {"pid", container.pid},
          {"imageID", container.image_id},
          {"backoff", container.backoff.count()},
          {"stop", optional_json(container.stop, stop_json)},
          {"end", optional_json(container.end, end_json)},
          {"last", optional_json(container.last, end_json)}};
}

ContainerRecord read_container(const json::Value& value) {
  ContainerRecord container;
  container.name = text_of(value, "name");
  container.stage = static_cast<Stage>(std::clamp<std::int64_t>(json::int_at(value, {"stage"}), 0, 3));
  container.attempt = unsigned_at(value, "attempt");
  container.restarts = unsigned_at(value, "restarts");
  container.generation = unsigned_at(value, "generation");
  container.removed = json::bool_at(value, {"removed"});
  container.hook_done = json::bool_at(value, {"hookDone"});
  container.stop_signal = static_cast<int>(json::int_at(value, {"stopSignal"}, 15));
  container.started_at = time_at(value, "startedAt");
  container.pid = static_cast<pid_t>(json::int_at(value, {"pid"}));
  container.image_id = text_of(value, "imageID");
  container.backoff = Duration(json::int_at(value, {"backoff"}));
  container.stop = optional_at<StopRecord>(value, "stop", read_stop);
  container.end = optional_at<RunEnd>(value, "end", read_end);
  container.last = optional_at<RunEnd>(value, "last", read_end);
  return container;
}

json::Object ending_json(const Ending& ending) {
  return {{"cause", static_cast<int>(ending.cause)},
          {"reason", ending.reason},
          {"message", ending.message},
          {"since", number(ending.since)},
          {"killAt", number(ending.kill_at)}};
}

Ending read_ending(const json::Value& value) {
  return {static_cast<Ending::Cause>(std::clamp<std::int64_t>(json::int_at(value, {"cause"}), 0, 4)),
          text_of(value, "reason"), text_of(value, "message"), time_at(value, "since"), time_at(value, "killAt")};
}

json::Object mark_json(const Mark& mark) {
  return {{"is", mark.is}, {"since", number(mark.since)}};
}

Mark read_mark(const json::Value& value) {
  return {json::bool_at(value, {"is"}), time_at(value, "since")};
}

json::Object gpus_json(const PodRecord& record) {
  json::Object gpus;
  for (const auto& [container, indexes] : record.gpus) gpus[container] = json::Array(indexes.begin(), indexes.end());
  return gpus;
}

void read_pod(const json::Value& tree, PodRecord& record) {
  record.pod = {text_of(tree, "uid"), text_of(tree, "namespace"), text_of(tree, "name"), text_of(tree, "node")};
  record.judged = json::bool_at(tree, {"judged"});
  record.started_at = time_at(tree, "startedAt");
  record.grace = Duration(json::int_at(tree, {"grace"}));
  record.continues_alone = json::bool_at(tree, {"continuesAlone"});
  for (const auto& amount : json::members_at(tree, {"requests"})) {
    if (amount.value().is_int64()) record.requests.emplace(amount.key(), amount.value().get_int64());
  }
  for (const auto& entry : json::members_at(tree, {"gpus"})) {
    auto& indexes = record.gpus[std::string(entry.key())];
    if (!entry.value().is_array()) continue;
    for (const json::Value& index : entry.value().get_array())
      indexes.push_back(static_cast<unsigned>(index.is_int64() ? index.get_int64() : 0));
  }
  record.generation = unsigned_at(tree, "generation");
  record.has_sandbox = json::bool_at(tree, {"hasSandbox"});
  record.sandbox_ready = json::bool_at(tree, {"sandboxReady"});
  record.addresses = json::strings_at(tree, {"addresses"});
}

}  // namespace

ContainerRecord* PodRecord::find(std::string_view container) {
  const auto at =
      std::find_if(containers.begin(), containers.end(), [&](const auto& each) { return each.name == container; });
  return at == containers.end() ? nullptr : &*at;
}

const ContainerRecord* PodRecord::find(std::string_view container) const {
  return const_cast<PodRecord*>(this)->find(container);  // NOLINT: nothing is changed
}

bool PodRecord::any_alive() const {
  return std::any_of(containers.begin(), containers.end(), [](const auto& container) { return container.is_alive(); });
}

std::string write_record(const PodRecord& record) {
  json::Object requests;
  for (const auto& [name, amount] : record.requests) requests[name] = amount;
  json::Array containers;
  for (const ContainerRecord& container : record.containers) containers.push_back(container_json(container));
  return json::serialize(json::Object{{"uid", record.pod.uid},
                                      {"namespace", record.pod.ns},
                                      {"name", record.pod.name},
                                      {"node", record.pod.node},
                                      {"judged", record.judged},
                                      {"startedAt", number(record.started_at)},
                                      {"grace", record.grace.count()},
                                      {"continuesAlone", record.continues_alone},
                                      {"requests", std::move(requests)},
                                      {"gpus", gpus_json(record)},
                                      {"generation", record.generation},
                                      {"hasSandbox", record.has_sandbox},
                                      {"sandboxReady", record.sandbox_ready},
                                      {"addresses", json::Array(record.addresses.begin(), record.addresses.end())},
                                      {"containers", std::move(containers)},
                                      {"ending", optional_json(record.ending, ending_json)},
                                      {"released", record.released},
                                      {"sandboxMark", optional_json(record.sandbox_mark, mark_json)},
                                      {"initialized", optional_json(record.initialized, mark_json)},
                                      {"containersReady", optional_json(record.containers_ready, mark_json)},
                                      {"ready", optional_json(record.ready, mark_json)},
                                      {"scheduledSince", optional_json(record.scheduled_since, number)}});
}

Result<PodRecord> read_record(std::string_view text) {
  GW_TRY(auto tree, json::parse(text));
  PodRecord record;
  read_pod(tree, record);
  if (record.pod.uid.empty()) return internal_error("a pod's record without a uid");
  for (const json::Value& container : json::array_at(tree, {"containers"}))
    record.containers.push_back(read_container(container));
  record.ending = optional_at<Ending>(tree, "ending", read_ending);
  record.released = json::bool_at(tree, {"released"});
  record.sandbox_mark = optional_at<Mark>(tree, "sandboxMark", read_mark);
  record.initialized = optional_at<Mark>(tree, "initialized", read_mark);
  record.containers_ready = optional_at<Mark>(tree, "containersReady", read_mark);
  record.ready = optional_at<Mark>(tree, "ready", read_mark);
  record.scheduled_since = optional_at<WallTime>(tree, "scheduledSince", read_time);
  for (const ContainerRecord& container : record.containers) {
    if (container.stage == Stage::kExited && !container.end)
      return internal_error(
          fmt::format("the record of pod {} says that {} has ended, but not how", record.pod.uid, container.name));
  }
  return record;
}

}  // namespace gangway::agent
