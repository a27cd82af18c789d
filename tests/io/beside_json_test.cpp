// What a calibration on the spot adds to files: all of it survives writing and reading, and files
// without it stay valid.
#include "io/beside_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/link_json.hpp"
#include "io/machine_json.hpp"
#include "io/measurements_json.hpp"
#include "tests/support/expect_input_error.hpp"
#include "tests/support/known_machine.hpp"

namespace ddpx {
namespace {

using testing::HasSubstr;
using testing::Not;

Measurements small() {
  Measurements m;
  m.name = "small";
  m.device.name = "a core";
  m.products.push_back(
      {{Pass::forward, DType::fp32, 4, 8, 8}, {1e-3, 2e-3}, std::nullopt, {{9e-3, "disturbed"}}});
  m.copies.push_back({Bytes(64), {1e-6}, {{3e-6, "throttled"}}});
  m.optimizers.push_back({{Optimizer::sgd, 10}, {1e-6}, {{4e-6, "late"}}});
  m.launches.push_back({{1e-7, 2e-7}, {{1e-5, "disturbed"}}});
  BesideSample beside;
  beside.link = "wire";
  beside.product = {Pass::weight_gradient, DType::fp32, 4, 8, 16};
  beside.call = {Collective::all_reduce, DType::fp16, Bytes(1024), 2};
  beside.product_alone_seconds = {1};
  beside.product_beside_seconds = {2};
  beside.collective_alone_seconds = {3};
  beside.collective_beside_seconds = {4, 5};
  m.besides.push_back(beside);
  m.links.push_back({.name = "wire", .title = "", .topology = Topology::network, .source = ""});
  m.collectives.push_back({"wire", beside.call, {1e-5}, "ddpx", {{2e-5, "disturbed"}}});
  return m;
}

TEST(BesideJson, every_new_member_survives_writing_and_reading) {
  const std::string text = io::to_json(small());
  const Measurements back = io::measurements_from_json(text, "small.json");
  EXPECT_EQ(io::to_json(back), text);
  ASSERT_EQ(back.besides.size(), 1U);
  EXPECT_EQ(back.besides[0].product.out, 16);
  EXPECT_EQ(back.besides[0].call.dtype, DType::fp16);
  EXPECT_EQ(back.besides[0].collective_beside_seconds, (std::vector{4.0, 5.0}));
  ASSERT_EQ(back.launches.size(), 1U);
  EXPECT_EQ(back.launches[0].dropped[0].reason, "disturbed");
  EXPECT_EQ(back.products[0].dropped[0].seconds, 9e-3);
  EXPECT_EQ(back.copies[0].dropped[0].reason, "throttled");
  EXPECT_EQ(back.optimizers[0].dropped[0].reason, "late");
  EXPECT_EQ(back.collectives[0].dropped[0].seconds, 2e-5);
}

TEST(BesideJson, files_say_nothing_of_what_was_not_measured) {
  Measurements m = small();
  m.besides.clear();
  m.launches.clear();
  m.products[0].dropped.clear();
  m.copies[0].dropped.clear();
  m.optimizers[0].dropped.clear();
  m.collectives[0].dropped.clear();
  const std::string text = io::to_json(m);
  for (const char* word : {"besides", "launches", "dropped"})
    EXPECT_THAT(text, Not(HasSubstr(word)));
  EXPECT_NO_THROW(static_cast<void>(io::measurements_from_json(text, "small.json")));
}

TEST(BesideJson, the_share_of_kernel_records_survives_and_is_a_share) {
  Measurements m = small();
  m.besides[0].kernel_share = 0.5;
  const std::string text = io::to_json(m);
  EXPECT_EQ(io::measurements_from_json(text, "m.json").besides[0].kernel_share, 0.5);
  const std::size_t at = text.find("\"kernel_share\": 0.5");
  ASSERT_NE(at, std::string::npos);
  for (const char* wild : {"1.5", "-0.5", "\"x\""}) {
    std::string damaged = text;
    damaged.replace(at + 16, 3, wild);
    EXPECT_THROW(static_cast<void>(io::measurements_from_json(damaged, "m.json")), InputError)
        << wild;
  }
}

TEST(BesideJson, what_products_do_to_a_links_collectives_survives) {
  Machine machine = test::known_machine();
  machine.links[0].beside_memory = {0.8, 0.1, "pairs"};
  machine.links[0].beside_flops = {0.3, 0.2, "pairs"};
  const Machine back = io::machine_from_json(io::to_json(machine), "known.json");
  EXPECT_EQ(back.links[0].beside_memory.value, 0.8);
  EXPECT_EQ(back.links[0].beside_flops.value, 0.3);
  EXPECT_EQ(back.links[0].beside_flops.relative_error, 0.2);
}

TEST(BesideJson, what_copies_do_to_a_links_collectives_survives) {
  Machine machine = test::known_machine();
  machine.links[0].beside_copies =
      BesideCopies{{1.2, 0.05, "pairs"}, {1.1, 0.02, "a pair"}, BytesPerSecond(27e9)};
  const Machine back = io::machine_from_json(io::to_json(machine), "known.json");
  ASSERT_TRUE(back.links[0].beside_copies);
  EXPECT_EQ(back.links[0].beside_copies->collective.value, 1.2);
  EXPECT_EQ(back.links[0].beside_copies->collective.relative_error, 0.05);
  EXPECT_EQ(back.links[0].beside_copies->copy.value, 1.1);
  EXPECT_EQ(back.links[0].beside_copies->copy.origin, "a pair");
  EXPECT_EQ(back.links[0].beside_copies->rate, BytesPerSecond(27e9));
}

TEST(BesideJson, a_shared_core_survives_in_links_and_machines) {
  Machine machine = test::known_machine();
  machine.shared_core = SharedCore{{3e-10, 0.1, "here"}, {Seconds(0), 0.2, "there"}};
  // The known machine's curves have lines without errors and no points, which files do not hold.
  const Machine back = io::machine_from_json(io::to_json(machine), "known.json");
  ASSERT_TRUE(back.shared_core);
  EXPECT_EQ(back.shared_core->seconds_per_byte.value, 3e-10);
  EXPECT_EQ(back.shared_core->delay.origin, "there");
  ASSERT_TRUE(back.links[0].shared_core);
  EXPECT_EQ(back.links[0].shared_core->delay.value, Seconds(100e-6));
}

TEST(BesideJson, wrong_members_are_refused_with_their_place) {
  std::string text = io::to_json(small());
  const auto refused = [&](const std::string& from, const std::string& to,
                           std::initializer_list<std::string_view> words) {
    std::string bad = text;
    bad.replace(bad.find(from), from.size(), to);
    test::expect_input_error([&] { static_cast<void>(io::measurements_from_json(bad, "m.json")); },
                             words);
  };
  refused("\"collective_beside_times_s\"", "\"collective_besides_times_s\"",
          {"m.json", "besides[0]"});
  refused("\"reason\": \"throttled\"", "\"reason\": 7", {"m.json", "copies[0].dropped[0].reason"});
  refused("\"launches\"", "\"launch\"", {"m.json", "launch"});
}

}  // namespace
}  // namespace ddpx
