#include "store/header_codec.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <string>

namespace gangway::store {
namespace {

api::StringPairs any_pairs() {
  return *rc::gen::arbitrary<api::StringPairs>();
}

api::Header any_header() {
  api::Header header;
  header.uid = *rc::gen::arbitrary<std::string>();
  header.generation = *rc::gen::arbitrary<std::int64_t>();
  header.labels = any_pairs();
  header.fields = any_pairs();
  const auto owners = *rc::gen::inRange(0, 3);
  for (int i = 0; i < owners; ++i) {
    header.owners.push_back({*rc::gen::arbitrary<std::string>(), "Kind", "name", "uid", *rc::gen::arbitrary<bool>(),
                             *rc::gen::arbitrary<bool>()});
  }
  header.finalizers = *rc::gen::arbitrary<std::vector<std::string>>();
  header.created = WallTime(Duration(*rc::gen::arbitrary<std::int64_t>()));
  if (*rc::gen::arbitrary<bool>()) header.deleting_since = WallTime(Duration(*rc::gen::arbitrary<std::int64_t>()));
  return header;
}

RC_GTEST_PROP(HeaderCodecProperty, DecodesWhatItEncoded, ()) {
  const auto header = any_header();
  const auto decoded = decode_header(encode_header(header));
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(decoded->uid == header.uid);
  RC_ASSERT(decoded->generation == header.generation);
  RC_ASSERT(decoded->labels == header.labels);
  RC_ASSERT(decoded->fields == header.fields);
  RC_ASSERT(decoded->owners.size() == header.owners.size());
  for (std::size_t i = 0; i < header.owners.size(); ++i) {
    RC_ASSERT(decoded->owners[i].api_version == header.owners[i].api_version);
    RC_ASSERT(decoded->owners[i].kind == header.owners[i].kind);
    RC_ASSERT(decoded->owners[i].name == header.owners[i].name);
    RC_ASSERT(decoded->owners[i].uid == header.owners[i].uid);
    RC_ASSERT(decoded->owners[i].controller == header.owners[i].controller);
    RC_ASSERT(decoded->owners[i].block_owner_deletion == header.owners[i].block_owner_deletion);
  }
  RC_ASSERT(decoded->finalizers == header.finalizers);
  RC_ASSERT(decoded->created == header.created);
  RC_ASSERT(decoded->deleting_since == header.deleting_since);
}

RC_GTEST_PROP(HeaderCodecProperty, RefusesEveryTruncation, ()) {
  const auto bytes = encode_header(any_header());
  const auto keep = *rc::gen::inRange<std::size_t>(0, bytes.size());
  RC_ASSERT(!decode_header(std::string_view(bytes).substr(0, keep)).has_value());
  RC_ASSERT(!decode_header(bytes + "x").has_value());
}

RC_GTEST_PROP(HeaderCodecProperty, SurvivesAnyBytes, (std::string bytes)) {
  bytes.insert(bytes.begin(), '\x01');
  const auto decoded = decode_header(bytes);
  if (decoded) RC_ASSERT(decoded->uid.size() < bytes.size());
}

TEST(HeaderCodecTest, FormIsStable) {
  api::Header header;
  header.uid = "u";
  header.generation = -1;
  header.labels = {{"a", "b"}};
  header.created = WallTime(Duration(64));
  // form, uid, generation -1, one label, no fields, no owners, no finalizers, created 64 as 128, not deleting
  const std::string want(
      "\x01\x01u\x01\x01\x01"
      "a\x01"
      "b\x00\x00\x00\x80\x01\x00",
      15);
  EXPECT_EQ(encode_header(header), want);
}

}  // namespace
}  // namespace gangway::store
