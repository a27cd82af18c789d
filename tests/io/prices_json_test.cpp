#include "io/prices_json.hpp"

#include <gtest/gtest.h>

#include "tests/io/damaged.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx::io {
namespace {

constexpr const char* kPrices = R"({"schema": "ddpx.prices", "schema_version": 1, "context": {},
  "currency": "EUR",
  "machines": [{"name": "one", "gpus": 1, "price_per_hour": 0.15},
               {"name": "four", "gpus": 4, "price_per_hour": 0.58, "link": "pcie4"}]})";

TEST(PricesJson, are_read_field_by_field) {
  const Prices prices = prices_from_json(kPrices, "prices.json");
  EXPECT_EQ(prices.currency, "EUR");
  ASSERT_EQ(prices.machines.size(), 2U);
  EXPECT_EQ(prices.machines[1].name, "four");
  EXPECT_EQ(prices.machines[1].gpus, 4);
  EXPECT_DOUBLE_EQ(prices.machines[1].per_hour, 0.58);
  EXPECT_EQ(prices.machines[1].link, "pcie4");
  EXPECT_FALSE(prices.machines[0].link);
}

TEST(PricesJson, refuse_what_is_no_price) {
  const std::string long_name(100, 'x');
  test::expect_refused(
      kPrices, prices_from_json,
      {{"0.15", "0", {"machines[0].price_per_hour", "a price per hour from 1e-6 to 1e9"}},
       {"0.15", "1e-9", {"machines[0].price_per_hour", "from 1e-6 to 1e9"}},
       {"0.15", "-1", {"machines[0].price_per_hour"}},
       {"0.15", "1e300", {"machines[0].price_per_hour"}},
       {"0.15", "\"0.15\"", {"machines[0].price_per_hour"}},
       {"\"gpus\": 4", "\"gpus\": 0", {"machines[1].gpus"}},
       {"\"gpus\": 4", "\"gpus\": 2.5", {"machines[1].gpus"}},
       {"\"four\"", "\"one\"", {"machines[1].name", "given twice"}},
       {"\"four\"", "\"\"", {"machines[1].name"}},
       {"\"four\"", "\"" + long_name + "\"", {"machines[1].name", "longer than 64"}},
       {"\"EUR\"", "\"" + long_name + "\"", {"currency", "longer than 8"}},
       {"\"link\"", "\"lnk\"", {"did you mean link?"}},
       {"\"currency\"", "\"curency\"", {"did you mean currency?"}},
       {"ddpx.prices", "ddpx.machine", {"take it as --machine"}}});
  for (const char* text :
       {"", "[]", "{", "null", R"({"schema": "ddpx.prices", "schema_version": 1, "context": {}})",
        R"({"schema": "ddpx.prices", "schema_version": 1, "context": {}, "machines": []})"}) {
    ddpx::test::expect_input_error(
        [&] { static_cast<void>(prices_from_json(text, "prices.json")); }, {"prices.json"});
  }
}

}  // namespace
}  // namespace ddpx::io
