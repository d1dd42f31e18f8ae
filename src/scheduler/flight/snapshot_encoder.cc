#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/flight/line_writer.h"
#include "scheduler/flight/snapshot_text.h"
#include "scheduler/flight/words.h"

namespace gangway::scheduler::flight {
namespace {

using namespace planning;  // NOLINT: all of its values are written here

// Shapes that nobody has any more are forgotten together with the others when there are so many.
constexpr std::size_t kShapesKept = 8192;

void write_requirements(LineWriter& out, std::string_view key, const std::vector<Requirement>& requirements) {
  out.list(key, requirements, [&](const Requirement& one) {
    out.item([&] {
      out.text("key", one.key);
      out.text_unless(word_of(Requirement::Op::kIn), "op", word_of(one.op));
      out.list("values", one.values, [&](const std::string& value) { out.item_text(value); });
    });
  });
}

void write_node_term(LineWriter& out, const NodeTerm& term) {
  write_requirements(out, "labels", term.labels);
  write_requirements(out, "names", term.names);
}

void write_terms(LineWriter& out, const NodeSelector& selector) {
  out.list("terms", selector.terms, [&](const NodeTerm& term) { out.item([&] { write_node_term(out, term); }); });
}

void write_labels(LineWriter& out, const Labels& labels) {
  if (labels.empty()) return;
  out.object("labels", [&] {
    for (const auto& [key, value] : labels) out.named(key, value);
  });
}

void write_affinity(LineWriter& out, std::string_view key, const std::vector<AffinityTerm>& terms) {
  out.list(key, terms, [&](const AffinityTerm& term) {
    out.item([&] {
      out.text("topologyKey", term.topology_key);
      write_requirements(out, "pods", term.pods.requirements);
      out.list("namespaces", term.namespaces, [&](const std::string& ns) { out.item_text(ns); });
      out.flag("allNamespaces", term.all_namespaces);
      out.number_unless(0, "weight", term.weight);
      out.flag("ignoresTerminating", term.ignores_terminating);
    });
  });
}

void write_spread(LineWriter& out, const std::vector<SpreadConstraint>& constraints) {
  const SpreadConstraint usual;
  out.list("spread", constraints, [&](const SpreadConstraint& one) {
    out.item([&] {
      out.text("topologyKey", one.topology_key);
      write_requirements(out, "pods", one.pods.requirements);
      out.number_unless(usual.max_skew, "maxSkew", one.max_skew);
      out.number_unless(usual.min_domains, "minDomains", one.min_domains);
      out.flag("isPreferred", !one.is_required);
      out.flag("ignoresNodeAffinity", !one.honors_node_affinity);
      out.flag("honorsTaints", one.honors_taints);
    });
  });
}

void write_taint_effect(LineWriter& out, Taint::Effect effect) {
  out.text("effect", word_of(effect));
}

// By name, whatever number the table has given to it.
using Named = std::vector<std::pair<std::string_view, std::int64_t>>;

void write_amounts(LineWriter& out, std::string_view key, Named amounts, const ResourceNames& names) {
  if (amounts.empty()) return;
  std::sort(amounts.begin(), amounts.end());
  out.object(key, [&] {
    for (const auto& [name, amount] : amounts) out.named(name, amount_text(name == names.name_of(kCpu), amount));
  });
}

Named named(const Request& request, const ResourceNames& names) {
  Named amounts;
  for (const auto& [id, amount] : request) amounts.emplace_back(names.name_of(id), amount);
  return amounts;
}

Named named(const Amounts& all, const ResourceNames& names) {
  Named amounts;
  for (std::size_t id = 0; id < all.size(); ++id)
    if (all[id] != 0) amounts.emplace_back(names.name_of(static_cast<ResourceId>(id)), all[id]);
  return amounts;
}

// Every pod is one pod, and counts as what it requests, unless it says otherwise.
void write_request(LineWriter& out, const PodShape& shape, const ResourceNames& names) {
  Named amounts = named(shape.request, names);
  const std::string_view pods = names.name_of(kPods);
  const std::int64_t count = amount_of(shape.request, kPods);
  std::erase_if(amounts, [&](const auto& entry) { return entry.first == pods; });
  if (count != 1) amounts.emplace_back(pods, count);
  write_amounts(out, "needs", std::move(amounts), names);
  const bool is_usual =
      shape.load_cpu == amount_of(shape.request, kCpu) && shape.load_memory == amount_of(shape.request, kMemory);
  if (!is_usual)
    write_amounts(out, "load", {{names.name_of(kCpu), shape.load_cpu}, {names.name_of(kMemory), shape.load_memory}},
                  names);
}

void write_shape(LineWriter& out, const PodShape& shape, const ResourceNames& names) {
  write_request(out, shape, names);
  out.list("tolerations", shape.tolerations, [&](const Toleration& one) {
    out.item([&] {
      out.text_unless("", "key", one.key);
      out.flag("exists", one.exists);
      out.text_unless("", "value", one.value);
      if (one.effect) write_taint_effect(out, *one.effect);
    });
  });
  out.list("required", shape.required, [&](const NodeSelector& one) { out.item([&] { write_terms(out, one); }); });
  out.list("preferred", shape.preferred, [&](const PreferredNodes& one) {
    out.item([&] {
      out.number_unless(1, "weight", one.weight);
      write_node_term(out, one.term);
    });
  });
  out.list("limits", shape.limits, [&](const PlaceLimit& one) {
    out.item([&] {
      out.text("reason", one.reason);
      write_terms(out, one.nodes);
    });
  });
  out.list("ports", shape.ports, [&](const HostPort& port) {
    out.item([&] {
      out.number("port", port.port);
      out.text_unless("TCP", "protocol", port.protocol);
      out.text_unless("", "ip", port.ip);
    });
  });
  write_affinity(out, "affinity", shape.affinity);
  write_affinity(out, "antiAffinity", shape.anti_affinity);
  write_affinity(out, "preferredAffinity", shape.preferred_affinity);
  write_spread(out, shape.spread);
}

void write_node_name(LineWriter& out, const Snapshot& snapshot, NodeId node) {
  if (node == kNone) return out.null("node");
  out.text("node", node < snapshot.nodes.size() ? snapshot.nodes[node].name : "");
}

}  // namespace

std::string_view key_of(std::string_view line) {
  if (!line.starts_with("{\"")) return {};
  std::size_t quotes = 1;
  for (std::size_t at = 2; at < line.size(); ++at) {
    if (line[at] == '\\') {
      ++at;
    } else if (line[at] == '"' && ++quotes == 4) {
      return line.substr(2, at - 2);
    } else if (quotes == 2 && line[at] != '"' && line[at] != ':' && line[at] != ' ') {
      return {};
    }
  }
  return {};
}

// What is part of several kinds of lines.
class Encoder::Fields {
 public:
  Fields(Encoder& encoder, const Snapshot& snapshot, LineWriter& out)
      : encoder_(encoder), snapshot_(snapshot), out_(out) {}

  // The shape of somebody in that namespace.
  void shape(const std::shared_ptr<const PodShape>& of, std::string_view ns) {
    if (!of) return;
    out_.text_unless(ns, "selectsIn", of->ns);
    out_.fields(encoder_.shape_text(snapshot_, of));
  }

  // All but its name, its uid and its place in line.
  void gang(const Gang& gang) {
    const Gang usual;
    out_.number_unless(usual.min_members, "minMembers", gang.min_members);
    out_.number_unless(gang.min_members, "size", gang.size);
    write_amounts(out_, "minResources", named(gang.min_resources, snapshot_.resources), snapshot_.resources);
    out_.text_unless(word_of(usual.on_preempt), "onPreempt", word_of(gang.on_preempt));
    if (gang.min_runtime != usual.min_runtime) out_.text("minRuntime", duration_text(gang.min_runtime));
    out_.number_unless(usual.max_preemptions, "maxPreemptions", gang.max_preemptions);
    auto preempted = gang.preempted;
    std::sort(preempted.begin(), preempted.end());
    out_.list("preempted", preempted, [&](WallTime at) { out_.item_text(time_text(at)); });
    if (gang.last_checkpoint) out_.time("lastCheckpoint", *gang.last_checkpoint);
    out_.list("late", gang.late, [&](const LateMembers& late) {
      out_.item([&] {
        out_.number("count", late.count);
        write_labels(out_, late.labels);
        shape(late.shape, gang.ns);
      });
    });
    if (gang.ticket) out_.object("ticket", [&] { ticket(gang, *gang.ticket); });
  }

 private:
  void ticket(const Gang& gang, const OpenTicket& ticket) {
    const auto name = [&](PodId pod) { return full_name(snapshot_.pods[pod]); };
    auto places = ticket.places;
    std::sort(places.begin(), places.end(), [&](const auto& a, const auto& b) { return name(a.pod) < name(b.pod); });
    out_.list("places", places, [&](const OpenTicket::Place& place) {
      out_.item([&] {
        out_.text("pod", name(place.pod));
        write_node_name(out_, snapshot_, place.node);
      });
    });
    out_.list("holds", sorted_holds(gang, ticket),
              [&](const std::string& fields) { out_.item([&] { out_.fields(fields); }); });
    std::vector<std::string> victims;
    for (const PodId victim : ticket.victims) victims.push_back(name(victim));
    std::sort(victims.begin(), victims.end());
    out_.list("victims", victims, [&](const std::string& victim) { out_.item_text(victim); });
  }

  std::vector<std::string> sorted_holds(const Gang& gang, const OpenTicket& ticket) {
    std::vector<std::string> holds;
    for (const OpenTicket::Hold& hold : ticket.holds) {
      std::string text;
      LineWriter out(text);
      write_node_name(out, snapshot_, hold.node);
      write_labels(out, hold.labels);
      Fields(encoder_, snapshot_, out).shape(hold.shape, gang.ns);
      holds.push_back(text.substr(1));
    }
    std::sort(holds.begin(), holds.end());
    return holds;
  }

  Encoder& encoder_;
  const Snapshot& snapshot_;
  LineWriter& out_;
};

const std::string& Encoder::shape_text(const Snapshot& snapshot, const std::shared_ptr<const PodShape>& shape) {
  if (const auto known = shapes_.find(shape.get()); known != shapes_.end()) return known->second.text;
  if (shapes_.size() >= kShapesKept) shapes_.clear();
  std::string text;
  LineWriter out(text);
  write_shape(out, *shape, snapshot.resources);
  text.erase(0, 1);
  return shapes_.emplace(shape.get(), KnownShape{shape, std::move(text)}).first->second.text;
}

std::string Encoder::node(const Snapshot& snapshot, const Node& node) {
  std::string line;
  LineWriter out(line);
  out.text("node", node.name);
  out.text_unless(node.name, "hostname", node.hostname);
  if (node.traits) {
    write_labels(out, node.traits->labels);
    out.list("taints", node.traits->taints, [&](const Taint& taint) {
      out.item([&] {
        out.text("key", taint.key);
        out.text_unless("", "value", taint.value);
        write_taint_effect(out, taint.effect);
      });
    });
    out.flag("unschedulable", node.traits->is_unschedulable);
  }
  write_amounts(out, "allocatable", named(node.allocatable, snapshot.resources), snapshot.resources);
  out.end();
  return line;
}

std::string Encoder::pod(const Snapshot& snapshot, const Pod& pod) {
  std::string line;
  line.reserve(512);
  LineWriter out(line);
  out.text("pod", full_name(pod));
  out.text_unless("", "uid", pod.uid);
  const Gang* const gang = pod.gang == kNone ? nullptr : &snapshot.gangs[pod.gang];
  if (gang == nullptr) out.null("group");
  if (gang != nullptr && !gang->is_plain) out.text("group", gang->name);
  if (pod.node != kNone) write_node_name(out, snapshot, pod.node);
  out.number_unless(0, "priority", pod.priority);
  out.flag("neverPreempts", pod.never_preempts);
  out.flag("gated", pod.is_gated);
  out.flag("terminating", pod.is_terminating);
  out.number_unless(0, "rank", pod.rank);
  out.time("since", pod.since);
  if (pod.ends && pod.node != kNone) out.time("ends", *pod.ends);
  if (pod.ends && pod.node == kNone) out.text("runsFor", duration_text(between(snapshot.now, *pod.ends)));
  write_labels(out, pod.labels);
  Fields fields(*this, snapshot, out);
  fields.shape(pod.shape, pod.ns);
  if (gang != nullptr && gang->is_plain) {
    if (gang->since != pod.since) out.time("inLineSince", gang->since);
    fields.gang(*gang);
  }
  out.end();
  return line;
}

std::string Encoder::group(const Snapshot& snapshot, const Gang& gang) {
  std::string line;
  LineWriter out(line);
  out.text("group", full_name(gang));
  out.text_unless("", "uid", gang.uid);
  out.time("since", gang.since);
  Fields(*this, snapshot, out).gang(gang);
  out.end();
  return line;
}

std::string Encoder::budget(const DisruptionBudget& budget) {
  std::string line;
  LineWriter out(line);
  out.text("disruptionBudget", budget.ns + "/" + budget.name);
  write_requirements(out, "pods", budget.pods.requirements);
  out.number_unless(0, "allowed", budget.allowed);
  out.end();
  return line;
}

std::string frame_text(WallTime now, const Policies& policies, const Budget& budget) {
  const Policies usual;
  const Budget usual_budget;
  std::string text;
  LineWriter out(text);
  out.time("now", now);
  out.number_unless(usual.top_priority, "topPriority", policies.top_priority);
  if (policies.topology.empty()) out.null("topology");
  if (policies.topology != usual.topology)
    out.list("topology", policies.topology, [&](const std::string& label) { out.item_text(label); });
  out.number_unless(usual_budget.gangs, "gangsTried", budget.gangs);
  out.number_unless(usual_budget.preemptions, "preemptionsTried", budget.preemptions);
  return text.substr(1);
}

Lines lines_of(const Snapshot& snapshot) {
  Encoder encoder;
  Lines lines;
  const auto add = [&](std::string line) {
    std::string key(key_of(line));
    lines.insert_or_assign(std::move(key), std::move(line));
  };
  for (const Node& node : snapshot.nodes)
    if (!node.name.empty()) add(encoder.node(snapshot, node));
  for (const Pod& pod : snapshot.pods)
    if (!pod.name.empty()) add(encoder.pod(snapshot, pod));
  for (const Gang& gang : snapshot.gangs)
    if (!gang.name.empty() && !gang.is_plain) add(encoder.group(snapshot, gang));
  for (const DisruptionBudget& budget : snapshot.budgets) add(encoder.budget(budget));
  return lines;
}

std::string encode(const Snapshot& snapshot, const Policies& policies, const Budget& budget) {
  std::string text = "{" + frame_text(snapshot.now, policies, budget) + "}\n";
  for (const auto& [key, line] : lines_of(snapshot)) text += line + "\n";
  return text;
}

}  // namespace gangway::scheduler::flight
