// Objects of one version of their kind as objects of another, so that nothing is lost on the way there and back.
//
// A plain conversion keeps what both versions can say. What only the one that an object was written in has words for
// stays with the object as an annotation: a JSON patch (RFC 6902) that makes what was written of what the plain
// conversion gives back. It is used only while it still means the same, so that a change in the other version wins, and
// it never reaches metadata. The annotation is not shown in the version that it is about. Pure functions; objects that
// do not fit their schema are taken as far as they do.
#pragma once

#include <string_view>

#include "json/value.h"

namespace gangway::api {

// Two versions of a kind, and the plain conversions between them. These do not touch metadata, and what they cannot say
// they leave out.
struct VersionPair {
  std::string_view older;  // "v1beta1"
  std::string_view newer;
  void (*to_newer)(json::Value& object);
  void (*to_older)(json::Value& object);
};

// "gangway.dev/only-in-v1beta1": what that version says and the other one cannot.
inline constexpr std::string_view kOnlyInAnnotation = "gangway.dev/only-in-";

// Makes `object` one of version `to` of the pair, of one of the other version. apiVersion and kind stay as they are.
void convert(json::Value& object, const VersionPair& pair, std::string_view to);

// The operations that make `to` of `from`, lists of different lengths as a whole. Members that only name the object
// (apiVersion, kind, metadata) are left aside.
json::Array content_patch(const json::Value& from, const json::Value& to);

}  // namespace gangway::api
