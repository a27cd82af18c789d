// Collectives of CPU ranks: every kind, dtype and awkward size against plain sums, and several
// under way at once.
#include "profiler/cpu/progress.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <numeric>

#include "profiler/cpu/bfloat16.hpp"
#include "profiler/cpu/half.hpp"
#include "profiler/engine/data.hpp"

namespace ddpx::cpu {
namespace {

// What rank r holds at place i: sixteenths, so that sums are exact in every dtype.
float value(int rank, std::size_t i) {
  return static_cast<float>((rank + 1) * static_cast<int>(i % 13)) / 16.0F - 1.0F;
}

template <class T>
T narrow(float v);
template <>
float narrow<float>(float v) {
  return v;
}
template <>
Half narrow<Half>(float v) {
  return to_half(v);
}
template <>
Bfloat16 narrow<Bfloat16>(float v) {
  return to_bfloat16(v);
}

float widen(float v) { return v; }
float widen(Half v) { return to_float(v); }
float widen(Bfloat16 v) { return to_float(v); }

template <class T>
constexpr DType kDType = DType::fp32;
template <>
constexpr DType kDType<Half> = DType::fp16;
template <>
constexpr DType kDType<Bfloat16> = DType::bf16;

template <class T>
std::span<std::byte> bytes(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

class Group {
 public:
  Group()
      : communicator(Communicator::world()),
        queue(communicator, pulse),
        ranks(communicator.size()) {}
  Pulse pulse;
  Communicator communicator;
  CollectiveQueue queue;
  int ranks;
  [[nodiscard]] int rank() const { return communicator.rank(); }
};

template <class T>
std::vector<T> whole_of(int rank, std::size_t elements) {
  std::vector<T> values(elements);
  for (std::size_t i = 0; i < elements; ++i) values[i] = narrow<T>(value(rank, i));
  return values;
}

float sum_over(int ranks, std::size_t i) {
  float sum = 0;
  for (int r = 0; r < ranks; ++r) sum += value(r, i);
  return sum;
}

template <class T>
class Collectives : public testing::Test {};
using Types = testing::Types<float, Half, Bfloat16>;
TYPED_TEST_SUITE(Collectives, Types);

TYPED_TEST(Collectives, all_reduce_sums_in_place_at_any_size) {
  Group g;
  for (const std::size_t n : {0U, 1U, 2U, 3U, 5U, 8U, 1000U, 65537U, 300001U}) {
    auto values = whole_of<TypeParam>(g.rank(), n);
    g.queue.wait(g.queue.start({Collective::all_reduce, kDType<TypeParam>, bytes(values), {}}));
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_EQ(widen(values[i]), sum_over(g.ranks, i)) << i << " of " << n;
  }
}

TYPED_TEST(Collectives, all_gather_puts_the_shards_in_the_order_of_ranks) {
  Group g;
  for (const std::size_t n : {0U, 1U, 7U, 100003U}) {
    auto shard = whole_of<TypeParam>(g.rank(), n);
    std::vector<TypeParam> whole(n * static_cast<std::size_t>(g.ranks));
    g.queue.wait(
        g.queue.start({Collective::all_gather, kDType<TypeParam>, bytes(whole), bytes(shard)}));
    for (std::size_t i = 0; i < whole.size(); ++i)
      ASSERT_EQ(widen(whole[i]), value(static_cast<int>(i / n), i % n)) << i << " of " << n;
  }
}

TYPED_TEST(Collectives,
           reduce_scatter_gives_each_rank_its_part_of_the_sum_and_leaves_its_input_alone) {
  Group g;
  for (const std::size_t n : {0U, 1U, 7U, 100003U}) {
    auto whole = whole_of<TypeParam>(g.rank(), n * static_cast<std::size_t>(g.ranks));
    const auto before = whole;
    std::vector<TypeParam> shard(n);
    g.queue.wait(
        g.queue.start({Collective::reduce_scatter, kDType<TypeParam>, bytes(whole), bytes(shard)}));
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_EQ(widen(shard[i]), sum_over(g.ranks, static_cast<std::size_t>(g.rank()) * n + i));
    EXPECT_TRUE(whole == before);
  }
}

TEST(CollectiveQueue, many_under_way_end_in_order_and_none_is_mixed_up) {
  Group g;
  std::vector<std::vector<float>> values;
  std::vector<CollectiveQueue::Ticket> tickets;
  for (std::size_t c = 0; c < 40; ++c) values.push_back(whole_of<float>(g.rank(), 1 + 997 * c));
  for (auto& v : values)
    tickets.push_back(g.queue.start({Collective::all_reduce, DType::fp32, bytes(v), {}}));
  g.queue.wait(tickets[20]);
  EXPECT_TRUE(g.queue.done(tickets[20]));
  g.queue.wait_all();
  for (std::size_t c = 1; c < values.size(); ++c)
    EXPECT_LE(g.queue.end_of(tickets[c - 1]), g.queue.end_of(tickets[c]));
  for (const auto& v : values) {
    for (std::size_t i = 0; i < v.size(); ++i) ASSERT_EQ(v[i], sum_over(g.ranks, i));
  }
}

// No rank waits: the queue's own thread is all there is to end the collective.
TEST(CollectiveQueue, goes_on_while_nobody_waits) {
  Group g;
  auto values = whole_of<float>(g.rank(), 100000);
  const auto ticket = g.queue.start({Collective::all_reduce, DType::fp32, bytes(values), {}});
  const auto patience = CollectiveQueue::Clock::now() + std::chrono::seconds(20);
  while (!g.queue.done(ticket) && CollectiveQueue::Clock::now() < patience)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_TRUE(g.queue.done(ticket));
  EXPECT_EQ(values[12], sum_over(g.ranks, 12));
}

TEST(CollectiveQueue, without_pace_it_is_left_alone_until_somebody_waits) {
  Group g;
  CollectiveQueue lazy(g.communicator, g.pulse, std::chrono::microseconds(0));
  auto values = whole_of<float>(g.rank(), 100000);
  const auto ticket = lazy.start({Collective::all_reduce, DType::fp32, bytes(values), {}});
  lazy.wait(ticket);
  EXPECT_EQ(values[99999], sum_over(g.ranks, 99999));
}

TEST(CollectiveQueue, ticket_zero_is_done_and_waiting_twice_is_harmless) {
  Group g;
  EXPECT_TRUE(g.queue.done(0));
  g.queue.wait(0);
  g.queue.wait_all();
  auto values = whole_of<float>(g.rank(), 10);
  const auto ticket = g.queue.start({Collective::all_reduce, DType::fp32, bytes(values), {}});
  g.queue.wait(ticket);
  g.queue.wait(ticket);
}

TEST(CollectiveQueue, shards_that_do_not_make_the_whole_are_refused) {
  Group g;
  if (g.ranks == 1) GTEST_SKIP() << "one rank: any shard is the whole";
  std::vector<float> whole(10);
  std::vector<float> shard(3);
  EXPECT_THROW(g.queue.start({Collective::all_gather, DType::fp32, bytes(whole), bytes(shard)}),
               std::runtime_error);
}

// So that whoever watches can tell a link that is slow from one that is dead.
TEST(CollectiveQueue, a_long_collective_ticks_with_every_piece_that_moves) {
  struct Counting : Pulse {
    void tick() override { ++ticks; }
    std::atomic<int> ticks{0};
  } pulse;
  const Communicator ranks = Communicator::world();
  if (ranks.size() < 2) GTEST_SKIP() << "one rank moves nothing";
  CollectiveQueue queue(ranks, pulse);
  std::vector<float> values(8 << 20, 1.0F);  // 32 MiB
  queue.wait(queue.start({Collective::all_reduce, DType::fp32, bytes(values), {}}));
  EXPECT_GE(pulse.ticks, 4);
  EXPECT_EQ(values.back(), static_cast<float>(ranks.size()));
}

}  // namespace
}  // namespace ddpx::cpu
