#include "apiserver/auth/attributes.h"

#include <fmt/format.h>

#include "base/quote.h"

namespace gangway::apiserver {
namespace {

// A browser that shows the message must not take any of it for markup.
std::string without_markup(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string description(const Attributes& a) {
  if (!a.is_resource) return fmt::format("User {} cannot {} path {}", quoted(a.user.name), a.verb, quoted(a.path));
  auto resource = a.subresource.empty() ? a.resource : a.resource + "/" + a.subresource;
  auto scope = a.ns.empty() ? "at the cluster scope" : "in the namespace " + quoted(a.ns);
  return fmt::format("User {} cannot {} resource {} in API group {} {}", quoted(a.user.name), a.verb, quoted(resource),
                     quoted(a.group), scope);
}

}  // namespace

Error forbidden_object(std::string_view group, std::string_view resource, std::string_view name, std::string_view why) {
  std::string what(resource);
  if (!group.empty()) what.append(".").append(group);
  if (!name.empty()) what.append(" ").append(quoted(name));
  auto message = what.empty() ? fmt::format("forbidden: {}", why) : fmt::format("{} is forbidden: {}", what, why);
  return Error{
      .reason = Reason::kForbidden,
      .message = std::move(message),
      .subject = {.group = std::string(group), .kind = std::string(resource), .name = std::string(name), .uid = {}},
      .causes = {}};
}

Error forbidden(const Attributes& attributes, std::string_view reason) {
  auto why = without_markup(description(attributes));
  if (!reason.empty()) why.append(": ").append(reason);
  if (!attributes.is_resource) return forbidden_object({}, {}, {}, why);
  return forbidden_object(attributes.group, attributes.resource, attributes.name, why);
}

}  // namespace gangway::apiserver
