#include "io/content_hash.hpp"

#include <gtest/gtest.h>

namespace ddpx::io {
namespace {

// Test vectors of the FNV authors (RFC 9923, appendix C).
TEST(ContentHash, gives_the_published_values) {
  EXPECT_EQ(content_hash(""), "fnv1a64:cbf29ce484222325");
  EXPECT_EQ(content_hash("a"), "fnv1a64:af63dc4c8601ec8c");
  EXPECT_EQ(content_hash("foobar"), "fnv1a64:85944171f73967e8");
}

TEST(ContentHash, takes_bytes_as_they_are) {
  EXPECT_NE(content_hash(std::string_view("\0", 1)), content_hash(""));
  EXPECT_NE(content_hash("\xff"), content_hash("\x7f"));
}

}  // namespace
}  // namespace ddpx::io
