// Field by field, for values that have no == of their own.
#pragma once

#include <gtest/gtest.h>

#include "model/link.hpp"
#include "model/machine.hpp"

namespace ddpx::test {

template <class Q>
void expect_same(const Estimate<Q>& a, const Estimate<Q>& b) {
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.relative_error, b.relative_error);
  EXPECT_EQ(a.origin, b.origin);
}

template <class Q>
void expect_same(const std::optional<Estimate<Q>>& a, const std::optional<Estimate<Q>>& b) {
  ASSERT_EQ(a.has_value(), b.has_value());
  if (a) expect_same(*a, *b);
}

inline void expect_same(const Product& a, const Product& b) {
  EXPECT_EQ(a.pass, b.pass);
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.in, b.in);
  EXPECT_EQ(a.out, b.out);
}

inline void expect_same(const Device& a, const Device& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.multiprocessors, b.multiprocessors);
  EXPECT_EQ(a.compute_capability, b.compute_capability);
  EXPECT_EQ(a.memory, b.memory);
  EXPECT_EQ(a.nvlink_generation, b.nvlink_generation);
  EXPECT_EQ(a.pcie_generation, b.pcie_generation);
}

inline void expect_same(const Curve& a, const Curve& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.ranks, b.ranks);
  EXPECT_EQ(a.hosts, b.hosts);
  EXPECT_EQ(a.relative_error, b.relative_error);
  ASSERT_EQ(a.lines().size(), b.lines().size());
  for (std::size_t i = 0; i < a.lines().size(); ++i) {
    expect_same(a.lines()[i].latency, b.lines()[i].latency);
    expect_same(a.lines()[i].bandwidth, b.lines()[i].bandwidth);
  }
  ASSERT_EQ(a.points().size(), b.points().size());
  for (std::size_t i = 0; i < a.points().size(); ++i) {
    EXPECT_EQ(a.points()[i].bytes, b.points()[i].bytes);
    EXPECT_EQ(a.points()[i].time, b.points()[i].time);
    EXPECT_EQ(a.points()[i].misfit, b.points()[i].misfit);
    EXPECT_EQ(a.points()[i].reason, b.points()[i].reason);
  }
}

inline void expect_same(const std::optional<SharedCore>& a, const std::optional<SharedCore>& b) {
  ASSERT_EQ(a.has_value(), b.has_value());
  if (!a) return;
  expect_same(a->seconds_per_byte, b->seconds_per_byte);
  expect_same(a->delay, b->delay);
}

inline void expect_same(const Link& a, const Link& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.title, b.title);
  EXPECT_EQ(a.topology, b.topology);
  EXPECT_EQ(a.topology_assumed, b.topology_assumed);
  expect_same(a.latency, b.latency);
  expect_same(a.large_latency, b.large_latency);
  expect_same(a.bandwidth, b.bandwidth);
  EXPECT_EQ(a.bandwidth_low, b.bandwidth_low);
  EXPECT_EQ(a.bandwidth_high, b.bandwidth_high);
  EXPECT_EQ(a.peak, b.peak);
  EXPECT_EQ(a.channels, b.channels);
  expect_same(a.beside_compute, b.beside_compute);
  expect_same(a.shared_core, b.shared_core);
  expect_same(a.burst, b.burst);
  EXPECT_EQ(a.per_gpu, b.per_gpu);
  EXPECT_EQ(a.most_ranks, b.most_ranks);
  ASSERT_EQ(a.curves.size(), b.curves.size());
  for (std::size_t i = 0; i < a.curves.size(); ++i) expect_same(a.curves[i], b.curves[i]);
  EXPECT_EQ(a.source, b.source);
}

}  // namespace ddpx::test
