#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/quantity.h"
#include "scheduler/flight/field_reader.h"
#include "scheduler/flight/snapshot_text.h"
#include "scheduler/flight/words.h"

namespace gangway::scheduler::flight {
namespace {

using namespace planning;  // NOLINT: all of its values are read here

// One line may tell of a gang of many thousands.
constexpr json::ParseLimits kLimits{.max_bytes = std::size_t{64} << 20, .max_depth = 16};
constexpr const char* kTwice = "is there twice";
// No gang is larger; a number that only a broken file has must not make planning take forever.
constexpr std::int64_t kMostMembers = 1'000'000;

// What the first line of a record says besides, which has nothing to do with planning.
constexpr const char* kOfRecords[] = {"cycle", "basis", "broken"};

std::vector<Requirement> read_requirements(FieldReader& from, std::string_view key) {
  std::vector<Requirement> all;
  from.each(key, [&](FieldReader& fields) {
    Requirement one;
    one.key = fields.text("key");
    one.op = static_cast<Requirement::Op>(fields.word("op", kOps, 0));
    one.values = fields.texts("values");
    std::sort(one.values.begin(), one.values.end());
    all.push_back(std::move(one));
  });
  return all;
}

NodeTerm read_node_term(FieldReader& from) {
  NodeTerm term;
  term.labels = read_requirements(from, "labels");
  term.names = read_requirements(from, "names");
  return term;
}

NodeSelector read_terms(FieldReader& from) {
  NodeSelector selector;
  from.each("terms", [&](FieldReader& fields) { selector.terms.push_back(read_node_term(fields)); });
  return selector;
}

std::vector<AffinityTerm> read_affinity(FieldReader& from, std::string_view key) {
  std::vector<AffinityTerm> terms;
  from.each(key, [&](FieldReader& fields) {
    AffinityTerm term;
    term.topology_key = fields.required_text("topologyKey");
    term.pods.requirements = read_requirements(fields, "pods");
    term.namespaces = fields.texts("namespaces");
    std::sort(term.namespaces.begin(), term.namespaces.end());
    term.all_namespaces = fields.flag("allNamespaces");
    term.weight = fields.number("weight", 0);
    term.ignores_terminating = fields.flag("ignoresTerminating");
    terms.push_back(std::move(term));
  });
  return terms;
}

std::vector<SpreadConstraint> read_spread(FieldReader& from) {
  std::vector<SpreadConstraint> constraints;
  from.each("spread", [&](FieldReader& fields) {
    SpreadConstraint one;
    one.topology_key = fields.required_text("topologyKey");
    one.pods.requirements = read_requirements(fields, "pods");
    one.max_skew = fields.number("maxSkew", one.max_skew, 1);
    one.min_domains = fields.number("minDomains", one.min_domains, 1);
    one.is_required = !fields.flag("isPreferred");
    one.honors_node_affinity = !fields.flag("ignoresNodeAffinity");
    one.honors_taints = fields.flag("honorsTaints");
    constraints.push_back(std::move(one));
  });
  return constraints;
}

Taint::Effect read_effect(FieldReader& from) {
  return static_cast<Taint::Effect>(from.word("effect", kEffects, 0));
}

class Decoding {
 public:
  Result<Given> run(std::string_view frame, const Lines& lines) {
    GW_CHECKED(read_line(frame, "the first line", [&](FieldReader& fields) { read_frame(fields); }));
    GW_CHECKED(read_all(lines, "node", [&](FieldReader& fields) { read_node(fields); }));
    GW_CHECKED(read_all(lines, "group", [&](FieldReader& fields) { read_group(fields); }));
    GW_CHECKED(read_all(lines, "pod", [&](FieldReader& fields) { read_pod(fields); }));
    GW_CHECKED(read_all(lines, "disruptionBudget", [&](FieldReader& fields) { read_budget(fields); }));
    for (const auto& [key, line] : lines)
      if (!known_.contains(key)) return bad_request(fmt::format("a line that is not known here: {:.60}", line));
    // Tickets name pods that come later than their gangs.
    GW_CHECKED(read_tickets());
    std::sort(given_.snapshot.budgets.begin(), given_.snapshot.budgets.end(),
              [](const auto& a, const auto& b) { return std::tie(a.ns, a.name) < std::tie(b.ns, b.name); });
    return std::move(given_);
  }

 private:
  using Name = std::pair<std::string, std::string>;

  template <class Read>
  static Result<void> read_line(std::string_view line, std::string_view what, Read read) {
    auto value = json::parse(line, kLimits);
    if (!value) return std::move(value.error()).within(what);
    FieldReader::Problem problem;
    FieldReader fields(*value, "", problem);
    read(fields);
    fields.finish();
    if (problem.text.empty()) return {};
    return bad_request(fmt::format("{}: {}", what, problem.text));
  }

  template <class Read>
  Result<void> read_all(const Lines& lines, std::string_view kind, Read read) {
    const std::string prefix = std::string(kind) + "\":";
    for (auto at = lines.lower_bound(prefix); at != lines.end() && at->first.starts_with(prefix); ++at) {
      known_.insert(at->first);
      const std::string what = fmt::format("{} {}", kind, at->first.substr(prefix.size()) + "\"");
      GW_CHECKED(read_line(at->second, what, read));
    }
    return {};
  }

  void read_frame(FieldReader& fields) {
    for (const char* key : kOfRecords) fields.has(key);
    given_.snapshot.now = fields.time("now", {});
    if (!fields.has("now")) fields.wrong("now", "is required");
    given_.policies.top_priority = fields.number("topPriority", given_.policies.top_priority);
    if (fields.is_null("topology")) {
      given_.policies.topology.clear();
    } else if (fields.has("topology")) {
      given_.policies.topology = fields.texts("topology");
    }
    given_.budget.gangs = fields.number("gangsTried", given_.budget.gangs);
    given_.budget.preemptions = fields.number("preemptionsTried", given_.budget.preemptions);
  }

  // "ns/name"
  static Name read_name(FieldReader& fields, std::string_view key) {
    const std::string full = fields.required_text(key);
    const std::size_t slash = full.find('/');
    if (slash == std::string::npos || slash + 1 == full.size()) {
      fields.wrong(key, fmt::format("must be a namespace and a name, as in \"default/a\" (got \"{}\")", full));
      return {};
    }
    return {full.substr(0, slash), full.substr(slash + 1)};
  }

  std::int64_t read_amount(FieldReader& fields, std::string_view key, const std::string& name,
                           const json::Value& value) {
    const std::string path = fields.path_of(key) + "." + name;
    if (!value.is_string()) {
      fields.problem().note(path, "must be a quantity, as in \"4\" or \"64Gi\"");
      return 0;
    }
    const auto quantity = Quantity::parse(std::string_view(value.get_string()));
    if (!quantity) {
      fields.problem().note(path, quantity.error().message);
      return 0;
    }
    const std::int64_t amount = name == "cpu" ? quantity->milli_value() : quantity->value();
    if (amount < 0 || amount > kLargestAmount) fields.problem().note(path, "is out of range");
    return std::clamp<std::int64_t>(amount, 0, kLargestAmount);
  }

  std::map<std::string, std::int64_t> read_named(FieldReader& fields, std::string_view key) {
    std::map<std::string, std::int64_t> amounts;
    for (const auto& [name, value] : fields.members(key)) amounts[name] = read_amount(fields, key, name, *value);
    constexpr std::size_t kMostResources = 4096;
    if (given_.snapshot.resources.size() + amounts.size() > kMostResources) {
      fields.wrong(key, "there are too many resources");
      amounts.clear();
    }
    return amounts;
  }

  Request request_of(const std::map<std::string, std::int64_t>& amounts) {
    Request request;
    for (const auto& [name, amount] : amounts)
      if (amount > 0) request.emplace_back(given_.snapshot.resources.id_of(name), amount);
    std::sort(request.begin(), request.end());
    return request;
  }

  Amounts read_amounts(FieldReader& fields, std::string_view key) {
    Amounts amounts;
    for (const auto& [name, amount] : read_named(fields, key)) {
      const ResourceId id = given_.snapshot.resources.id_of(name);
      if (id >= amounts.size()) amounts.resize(id + std::size_t{1});
      amounts[id] = amount;
    }
    return amounts;
  }

  void read_node(FieldReader& fields) {
    Node node;
    node.name = fields.required_text("node");
    node.hostname = fields.text("hostname", node.name);
    NodeTraits traits;
    traits.labels = fields.labels("labels");
    fields.each("taints", [&](FieldReader& taint) {
      traits.taints.push_back({taint.required_text("key"), taint.text("value"), read_effect(taint)});
    });
    traits.is_unschedulable = fields.flag("unschedulable");
    node.traits = one_of(traits_, std::move(traits));
    node.allocatable = read_amounts(fields, "allocatable");
    if (!nodes_.emplace(node.name, static_cast<NodeId>(given_.snapshot.nodes.size())).second)
      fields.wrong("node", kTwice);
    given_.snapshot.nodes.push_back(std::move(node));
  }

  // One of that name; a gap of the table for one that has gone.
  NodeId read_node_name(FieldReader& fields) {
    if (!fields.has("node") || fields.is_null("node")) return kNone;
    const std::string name = fields.text("node");
    if (name.empty()) {
      if (gap_ == kNone) {
        gap_ = static_cast<NodeId>(given_.snapshot.nodes.size());
        given_.snapshot.nodes.emplace_back();
      }
      return gap_;
    }
    const auto at = nodes_.find(name);
    if (at != nodes_.end()) return at->second;
    fields.wrong("node", fmt::format("there is no node \"{}\"", name));
    return kNone;
  }

  std::shared_ptr<const PodShape> read_shape(FieldReader& fields, const std::string& ns) {
    PodShape shape;
    shape.ns = fields.text("selectsIn", ns);
    auto needs = read_named(fields, "needs");
    needs.try_emplace("pods", 1);
    shape.request = request_of(needs);
    shape.load_cpu = amount_of(shape.request, kCpu);
    shape.load_memory = amount_of(shape.request, kMemory);
    if (fields.has("load")) {
      auto load = read_named(fields, "load");
      shape.load_cpu = load["cpu"];
      shape.load_memory = load["memory"];
      if (load.size() > 2) fields.wrong("load", "knows cpu and memory only");
    }
    fields.each("tolerations", [&](FieldReader& one) {
      Toleration toleration{one.text("key"), one.flag("exists"), one.text("value"), std::nullopt};
      if (one.has("effect")) toleration.effect = read_effect(one);
      shape.tolerations.push_back(std::move(toleration));
    });
    fields.each("required", [&](FieldReader& one) { shape.required.push_back(read_terms(one)); });
    fields.each("preferred", [&](FieldReader& one) {
      const std::int64_t weight = one.number("weight", 1);
      shape.preferred.push_back({read_node_term(one), weight});
    });
    fields.each("limits", [&](FieldReader& one) {
      std::string reason = one.text("reason");
      shape.limits.push_back({read_terms(one), std::move(reason)});
    });
    fields.each("ports", [&](FieldReader& one) {
      const std::int64_t port = one.number("port", 0);
      shape.ports.push_back({one.text("ip"), one.text("protocol", "TCP"), port});
    });
    shape.affinity = read_affinity(fields, "affinity");
    shape.anti_affinity = read_affinity(fields, "antiAffinity");
    shape.preferred_affinity = read_affinity(fields, "preferredAffinity");
    shape.spread = read_spread(fields);
    return one_of(shapes_, std::move(shape));
  }

  // All but its name, its uid and its place in line; its ticket is read when all pods are known.
  void read_gang(FieldReader& fields, Gang& gang) {
    gang.min_members = fields.number("minMembers", gang.min_members, 0);
    gang.size = fields.number("size", gang.min_members, 0);
    for (const char* key : {"minMembers", "size"})
      if (fields.number(key, 0) > kMostMembers) fields.wrong(key, fmt::format("must be at most {}", kMostMembers));
    gang.min_resources = request_of(read_named(fields, "minResources"));
    gang.on_preempt = static_cast<OnPreempt>(fields.word("onPreempt", kOnPreempt, 0));
    gang.min_runtime = fields.duration("minRuntime");
    gang.max_preemptions = fields.number("maxPreemptions", gang.max_preemptions);
    for (const std::string& text : fields.texts("preempted")) {
      const auto at = parse_rfc3339(text);
      if (!at) fields.wrong("preempted", at.error().message);
      if (at) gang.preempted.push_back(*at);
    }
    if (fields.has("lastCheckpoint")) gang.last_checkpoint = fields.time("lastCheckpoint", {});
    fields.each("late", [&](FieldReader& one) {
      const std::int64_t count = one.number("count", 1, 0);
      if (count > kMostMembers) one.wrong("count", fmt::format("must be at most {}", kMostMembers));
      Labels labels = one.labels("labels");
      gang.late.push_back({read_shape(one, gang.ns), std::move(labels), count});
    });
    if (!fields.has("ticket")) return;
    gang.ticket.emplace();
    for (const auto& member : fields.members("ticket")) {
      tickets_.push_back({static_cast<GangId>(given_.snapshot.gangs.size()), json::Value(*member.second), member.first,
                          fields.path_of("ticket")});
    }
  }

  void read_group(FieldReader& fields) {
    Gang gang;
    std::tie(gang.ns, gang.name) = read_name(fields, "group");
    gang.is_plain = false;
    gang.uid = fields.text("uid");
    gang.since = fields.time("since", given_.snapshot.now);
    read_gang(fields, gang);
    if (!groups_.emplace(Name{gang.ns, gang.name}, static_cast<GangId>(given_.snapshot.gangs.size())).second)
      fields.wrong("group", kTwice);
    given_.snapshot.gangs.push_back(std::move(gang));
  }

  void read_pod(FieldReader& fields) {
    Snapshot& snapshot = given_.snapshot;
    Pod pod;
    std::tie(pod.ns, pod.name) = read_name(fields, "pod");
    pod.uid = fields.text("uid");
    pod.node = read_node_name(fields);
    pod.priority = fields.number("priority", 0);
    pod.never_preempts = fields.flag("neverPreempts");
    pod.is_gated = fields.flag("gated");
    pod.is_terminating = fields.flag("terminating");
    pod.rank = fields.number("rank", 0);
    pod.since = fields.time("since", snapshot.now);
    if (fields.has("ends")) pod.ends = fields.time("ends", {});
    if (fields.has("runsFor")) pod.ends = later_by(snapshot.now, fields.duration("runsFor"));
    pod.labels = fields.labels("labels");
    pod.shape = read_shape(fields, pod.ns);
    const auto id = static_cast<PodId>(snapshot.pods.size());
    if (fields.has("group")) {
      if (!fields.is_null("group")) join_group(fields, pod, id);
    } else {
      Gang gang{.ns = pod.ns, .name = pod.name, .uid = pod.uid, .members = {id}};
      gang.since = fields.time("inLineSince", pod.since);
      read_gang(fields, gang);
      pod.gang = static_cast<GangId>(snapshot.gangs.size());
      snapshot.gangs.push_back(std::move(gang));
    }
    if (!pods_.emplace(full_name(pod), id).second) fields.wrong("pod", kTwice);
    snapshot.pods.push_back(std::move(pod));
  }

  void join_group(FieldReader& fields, Pod& pod, PodId id) {
    const auto at = groups_.find({pod.ns, fields.text("group")});
    if (at == groups_.end())
      return fields.wrong("group", fmt::format("there is no group \"{}/{}\"", pod.ns, fields.text("group")));
    pod.gang = at->second;
    given_.snapshot.gangs[at->second].members.push_back(id);
  }

  void read_budget(FieldReader& fields) {
    DisruptionBudget budget;
    std::tie(budget.ns, budget.name) = read_name(fields, "disruptionBudget");
    budget.pods.requirements = read_requirements(fields, "pods");
    budget.allowed = fields.number("allowed", 0);
    given_.snapshot.budgets.push_back(std::move(budget));
  }

  struct TicketPart {
    GangId gang = kNone;
    json::Value value;
    std::string key;
    std::string path;
  };

  PodId find_pod(FieldReader& fields, std::string_view key, const std::string& name) {
    const auto at = pods_.find(name);
    if (at != pods_.end()) return at->second;
    fields.wrong(key, fmt::format("there is no pod \"{}\"", name));
    return kNone;
  }

  Result<void> read_tickets() {
    FieldReader::Problem problem;
    for (const TicketPart& part : tickets_) {
      Gang& gang = given_.snapshot.gangs[part.gang];
      const json::Value whole = json::Object{{part.key, part.value}};
      FieldReader fields(whole, part.path, problem);
      read_ticket(fields, gang);
      fields.finish();
      if (!problem.text.empty()) return bad_request(fmt::format("{}: {}", full_name(gang), problem.text));
    }
    return {};
  }

  void read_ticket(FieldReader& fields, Gang& gang) {
    fields.each("places", [&](FieldReader& one) {
      const PodId pod = find_pod(one, "pod", one.text("pod"));
      const NodeId node = read_node_name(one);
      if (pod != kNone) gang.ticket->places.push_back({pod, node});
    });
    fields.each("holds", [&](FieldReader& one) {
      const NodeId node = read_node_name(one);
      Labels labels = one.labels("labels");
      gang.ticket->holds.push_back({read_shape(one, gang.ns), std::move(labels), node});
    });
    for (const std::string& name : fields.texts("victims"))
      if (const PodId victim = find_pod(fields, "victims", name); victim != kNone)
        gang.ticket->victims.push_back(victim);
  }

  // Equal values are one object: planners compare addresses.
  template <class T>
  struct ByValue {
    bool operator()(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) const { return *a < *b; }
  };
  template <class T>
  using Pool = std::set<std::shared_ptr<const T>, ByValue<T>>;
  template <class T>
  static std::shared_ptr<const T> one_of(Pool<T>& pool, T value) {
    return *pool.insert(std::make_shared<const T>(std::move(value))).first;
  }

  Given given_;
  std::set<std::string_view> known_;  // keys of lines
  std::map<std::string, NodeId> nodes_;
  std::map<std::string, PodId> pods_;
  std::map<Name, GangId> groups_;
  std::vector<TicketPart> tickets_;
  NodeId gap_ = kNone;
  Pool<NodeTraits> traits_;
  Pool<PodShape> shapes_;
};

}  // namespace

Result<Given> decode(std::string_view frame, const Lines& lines) {
  return Decoding().run(frame, lines);
}

Result<Given> decode(std::string_view text) {
  std::string_view frame;
  Lines lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.empty()) continue;
    if (frame.empty()) {
      frame = line;
      continue;
    }
    const std::string_view key = key_of(line);
    if (key.empty())
      return bad_request(
          fmt::format("line {}: must be an object that begins with what it is about, as in "
                      "{{\"pod\":\"default/a\"}}",
                      number));
    if (!lines.emplace(key, line).second) return bad_request(fmt::format("line {}: a second \"{}\"", number, key));
  }
  if (frame.empty()) return bad_request("there is no first line, as in {\"now\":\"2026-01-02T03:04:05Z\"}");
  return decode(frame, lines);
}

}  // namespace gangway::scheduler::flight
