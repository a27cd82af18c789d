#include "predict/link_text.hpp"

#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

using test::expect_input_error;

TEST(LinkText, two_figures_make_a_link_that_prices_by_them) {
  const Link link = link_from_figures("--link", "25GB/s,10us");
  EXPECT_EQ(link.name, "25GB/s,10us");
  EXPECT_DOUBLE_EQ(link.bandwidth.value.value(), 25e9);
  EXPECT_DOUBLE_EQ(link.latency.value.value(), 10e-6);
  // 250 MB on two ranks: bus factor 1, 10 us + 10 ms.
  EXPECT_NEAR(price(link, {Collective::all_reduce, DType::fp32, Bytes(250e6), 2}).time.value(),
              10.010e-3, 1e-9);
}

TEST(LinkText, bits_and_bytes_give_the_same_link) {
  EXPECT_DOUBLE_EQ(link_from_figures("--link", "200Gb/s,10us").bandwidth.value.value(),
                   link_from_figures("--link", "25GB/s,10us").bandwidth.value.value());
}

TEST(LinkText, channels_do_not_depend_on_the_figures_so_that_more_bandwidth_never_slows_a_step) {
  EXPECT_EQ(link_from_figures("--link", "27GB/s,10us").channels, kAssumedChannels);
  EXPECT_EQ(link_from_figures("--link", "297GB/s,10us").channels, kAssumedChannels);
}

TEST(LinkText, a_missing_or_wrong_figure_is_named) {
  expect_input_error([] { static_cast<void>(link_from_figures("--link", "25GB/s")); },
                     {"--link", "two figures", "25GB/s,10us"});
  expect_input_error([] { static_cast<void>(link_from_figures("--link", "25GB/s,")); }, {"--link"});
  expect_input_error([] { static_cast<void>(link_from_figures("--link", "10us,25GB/s")); },
                     {"'10us'", "unknown unit"});
  expect_input_error([] { static_cast<void>(link_from_figures("--link", "25GB/s,10us,3")); },
                     {"'10us,3'"});
  expect_input_error([] { static_cast<void>(link_from_figures("--link", "-25GB/s,10us")); },
                     {"--link"});
  expect_input_error([] { static_cast<void>(link_from_figures("--link", "nanGB/s,10us")); },
                     {"--link"});
}

TEST(LinkText, figures_begin_with_a_number) {
  EXPECT_TRUE(looks_like_figures("25GB/s"));
  EXPECT_TRUE(looks_like_figures(".5GB/s,1us"));
  EXPECT_TRUE(looks_like_figures("-3GB/s,1us"));
  EXPECT_FALSE(looks_like_figures("nvlink4"));
  EXPECT_FALSE(looks_like_figures(""));
}

TEST(LinkFigures, are_those_that_a_link_can_have) {
  EXPECT_EQ(link_from_figures("--link", "1KB/s,1000s").bandwidth.value.value(), 1e3);
  EXPECT_EQ(link_from_figures("--link", "1000TB/s,0.1ns").bandwidth.value.value(), 1e15);
  for (const char* bad : {"0.999KB/s,10us", "1001TB/s,10us", "25GB/s,1001s", "25GB/s,0.09ns"})
    expect_input_error([&] { static_cast<void>(link_from_figures("--inter-link", bad)); },
                       {"--inter-link: '", "out of range; accepted: "});
}

}  // namespace
}  // namespace ddpx
