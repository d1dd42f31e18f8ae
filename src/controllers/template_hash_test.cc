#include "controllers/template_hash.h"

#include <gtest/gtest.h>

#include "testing/builders.h"

namespace gangway::controllers {
namespace {

using testing::parsed;

TEST(TemplateHashTest, TheOrderOfKeysAndNullsDoNotCount) {
  EXPECT_EQ(canonical_text(parsed(R"({"b":1,"a":{"d":null,"c":[1,"x"]}})")),
            canonical_text(parsed(R"({"a":{"c":[1,"x"]},"b":1,"e":null})")));
  EXPECT_NE(canonical_text(parsed(R"({"a":[1,2]})")), canonical_text(parsed(R"({"a":[2,1]})")));
  EXPECT_NE(canonical_text(parsed(R"({"a":["b,"]})")), canonical_text(parsed(R"({"a":["b",""]})")));
}

TEST(TemplateHashTest, ItsOwnLabelDoesNotCount) {
  EXPECT_EQ(canonical_template(parsed(R"({"metadata":{"labels":{"a":"b","pod-template-hash":"x"}}})")),
            canonical_template(parsed(R"({"metadata":{"labels":{"a":"b"}}})")));
  EXPECT_NE(canonical_template(parsed(R"({"metadata":{"labels":{"a":"c"}}})")),
            canonical_template(parsed(R"({"metadata":{"labels":{"a":"b"}}})")));
}

TEST(TemplateHashTest, CollisionsChangeIt) {
  EXPECT_EQ(short_hash("text", 0), short_hash("text", 0));
  EXPECT_NE(short_hash("text", 0), short_hash("text", 1));
  EXPECT_NE(short_hash("text", 0), short_hash("texts", 0));
  EXPECT_EQ(short_hash("text", 0).size(), 10u);
}

}  // namespace
}  // namespace gangway::controllers
