#include "io/prices_json.hpp"

namespace ddpx::io {
namespace {

constexpr int kMostGpusOfMachine = 1024;
constexpr std::size_t kLongestName = 64;
constexpr std::size_t kLongestCurrency = 8;

std::string short_label(const Reader& from, std::size_t most) {
  std::string text = from.label();
  if (text.size() > most)
    from.refuse("is longer than " + std::to_string(most) + " bytes; shorten it");
  return text;
}

}  // namespace

Prices prices_from_json(std::string_view text, std::string_view place) {
  const Document document = open_document(text, place, kPricesSchema);
  static_cast<void>(context_of(document, {"currency", "machines"}));
  const Reader root(document);
  Prices prices;
  if (const auto currency = root.find("currency"))
    prices.currency = short_label(*currency, kLongestCurrency);
  for (const Reader& from : root.at("machines").filled()) {
    from.only({"name", "gpus", "price_per_hour", "link"});
    MachinePrice machine;
    machine.name = short_label(from.at("name"), kLongestName);
    for (const MachinePrice& other : prices.machines) {
      if (other.name == machine.name) from.at("name").refuse("is given twice; name each once");
    }
    machine.gpus = from.at("gpus").integer(1, kMostGpusOfMachine);
    const Reader price = from.at("price_per_hour");
    machine.per_hour = price.number();
    if (machine.per_hour < kLeastPrice || machine.per_hour > kMostPrice)
      price.refuse_value(kAcceptedPrice);
    if (const auto link = from.find("link")) machine.link = short_label(*link, kLongestName);
    prices.machines.push_back(std::move(machine));
  }
  return prices;
}

}  // namespace ddpx::io
