#include "model/buckets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/resnet18.hpp"

namespace ddpx {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<double> sizes(const std::vector<Bytes>& arrival, BucketLimits limits) {
  std::vector<Bucket> buckets;
  assign_buckets(arrival, limits, buckets);
  std::vector<double> result;
  result.reserve(buckets.size());
  for (const Bucket& bucket : buckets) result.push_back(bucket.bytes.value());
  return result;
}

std::vector<Bytes> resnet18_arrival() {
  const Network network = test::resnet18();
  std::vector<Bytes> arrival;
  for (auto layer = network.layers.rbegin(); layer != network.layers.rend(); ++layer) {
    for (double elements : layer->tensors) arrival.emplace_back(4 * elements);
  }
  return arrival;
}

// Bucket sizes of ResNet-18 as PyTorch's own test and users report them (pytorch#48880).
TEST(Buckets, resnet18_fills_pytorchs_buckets_to_the_byte) {
  EXPECT_EQ(test::resnet18().parameters(), 11'689'512);
  EXPECT_THAT(sizes(resnet18_arrival(), BucketLimits{}),
              ElementsAre(2'052'000, 28'852'224, 15'853'824));
}

TEST(Buckets, an_explicit_cap_is_the_first_limit_too) {
  EXPECT_THAT(sizes(resnet18_arrival(), BucketLimits::explicit_cap(25.0 * kMiB)),
              ElementsAre(30'904'224, 15'853'824));
}

TEST(Buckets, old_releases_kept_one_mebibyte_first_under_an_explicit_cap) {
  EXPECT_THAT(sizes(resnet18_arrival(), BucketLimits{kMiB, 35.0 * kMiB}),
              ElementsAre(2'052'000, 38'297'600, 6'408'448));
}

TEST(Buckets, a_model_of_8_mb_has_two_buckets_by_default_and_one_under_an_explicit_cap) {
  const std::vector<Bytes> arrival(8, Bytes(1e6));
  EXPECT_THAT(sizes(arrival, BucketLimits{}), ElementsAre(2e6, 6e6));
  EXPECT_THAT(sizes(arrival, BucketLimits::explicit_cap(25.0 * kMiB)), ElementsAre(8e6));
}

TEST(Buckets, a_bucket_closes_when_its_size_reaches_the_limit_exactly) {
  EXPECT_THAT(sizes({Bytes(4), Bytes(6), Bytes(10), Bytes(9), Bytes(1)}, {Bytes(10), Bytes(10)}),
              ElementsAre(10, 10, 10));
}

TEST(Buckets, a_tensor_is_never_split) {
  EXPECT_THAT(sizes({Bytes(1), Bytes(1e9), Bytes(1)}, {Bytes(2), Bytes(10)}),
              ElementsAre(1e9 + 1, 1));
}

TEST(Buckets, no_tensors_make_no_bucket_and_the_output_is_cleared_first) {
  std::vector<Bucket> buckets(3);
  assign_buckets({}, BucketLimits{}, buckets);
  EXPECT_THAT(buckets, IsEmpty());
}

// The algorithm again from its definition, backwards: a tensor closes a bucket when the sum since
// the last closed one has reached the limit that many closings allow.
std::vector<Bucket> by_definition(const std::vector<Bytes>& arrival, BucketLimits limits) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < arrival.size(); ++i) {
    double since = 0;
    for (std::size_t j = ends.empty() ? 0 : ends.back(); j <= i; ++j) since += arrival[j].value();
    if (since >= (ends.empty() ? limits.first : limits.rest).value()) ends.push_back(i + 1);
  }
  if (!arrival.empty() && (ends.empty() || ends.back() != arrival.size())) {
    ends.push_back(arrival.size());
  }
  std::vector<Bucket> buckets;
  std::size_t begin = 0;
  for (std::size_t end : ends) {
    Bucket bucket{begin, end, Bytes{}};
    for (std::size_t j = begin; j < end; ++j) bucket.bytes += arrival[j];
    buckets.push_back(bucket);
    begin = end;
  }
  return buckets;
}

TEST(Buckets, random_networks_agree_with_the_definition) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::uniform_int_distribution<int> count(0, 40);
    std::uniform_int_distribution<int> size(0, 1 << (round % 12));
    std::vector<Bytes> arrival;
    for (int i = count(random); i > 0; --i) arrival.emplace_back(4.0 * size(random));
    const BucketLimits limits{Bytes(4.0 * size(random)), Bytes(16.0 * size(random))};
    std::vector<Bucket> buckets;
    assign_buckets(arrival, limits, buckets);
    const std::vector<Bucket> expected = by_definition(arrival, limits);
    ASSERT_EQ(buckets.size(), expected.size());
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      ASSERT_EQ(buckets[b].begin, expected[b].begin);
      ASSERT_EQ(buckets[b].end, expected[b].end);
      ASSERT_EQ(buckets[b].bytes, expected[b].bytes);
    }
  }
}

}  // namespace
}  // namespace ddpx
