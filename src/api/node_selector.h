// NodeSelector: which nodes a pod may be on, or a volume is reachable from. A value; matching does not allocate.
#pragma once

#include <string>
#include <vector>

#include "api/object.h"
#include "api/selector.h"
#include "json/value.h"

namespace gangway::api {

class NodeSelector {
 public:
  // Selects every node.
  NodeSelector() = default;
  // v1.NodeSelector: its terms are alternatives, and none selects nothing. Null selects everything.
  static NodeSelector of_terms(const json::Value* selector);
  static NodeSelector of_name(const std::string& node);
  // spec.nodeSelector and the required node affinity of a pod: both must hold.
  static NodeSelector of_pod(const json::Value& pod);

  bool matches(const Header& node) const;

  // Labels, and metadata.name as its one field.
  struct Term {
    std::vector<LabelSelector::Requirement> labels;
    std::vector<LabelSelector::Requirement> fields;
  };
  // Labels that a node must have in any case.
  const StringPairs& labels() const { return labels_; }
  // One of the terms must hold, where there are any at all: without has_terms() every node will do.
  bool has_terms() const { return has_terms_; }
  const std::vector<Term>& terms() const { return terms_; }

 private:
  StringPairs labels_;
  bool has_terms_ = false;
  std::vector<Term> terms_;
};

}  // namespace gangway::api
