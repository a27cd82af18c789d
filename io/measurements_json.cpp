#include "io/measurements_json.hpp"

#include <map>
#include <tuple>

#include "io/beside_json.hpp"
#include "io/box_json.hpp"
#include "io/operation_json.hpp"
#include "io/sample_json.hpp"
#include "io/schema.hpp"

namespace ddpx::io {
namespace {

const std::vector<std::string_view> kMeasurementsMembers = {
    "name",    "source",       "device",      "links",  "products", "collectives",
    "copies",  "optimizers",   "steps",       "priors", "notes",    "launches",
    "besides", "copy_besides", "elementwise", "pairs",  "loads",    "gaps"};

template <class Sample>
std::vector<Sample> samples_of(const Reader& top, std::string_view key,
                               Sample (*sample_of)(const Reader&)) {
  std::vector<Sample> samples;
  for (const Reader& element : top.at(key).elements()) samples.push_back(sample_of(element));
  return samples;
}

// Only a calibration on the spot has them.
template <class Sample>
std::vector<Sample> samples_if_any(const Reader& top, std::string_view key,
                                   Sample (*sample_of)(const Reader&)) {
  return top.find(key) ? samples_of(top, key, sample_of) : std::vector<Sample>();
}

template <class Sample>
JsonArray samples_json(const std::vector<Sample>& samples) {
  JsonArray array;
  for (const Sample& sample : samples) array.emplace_back(sample_json(sample));
  return array;
}

// A size measured twice would be two points of one curve: its repeats belong into one times_s.
void refuse_repeated_sizes(const Reader& collectives,
                           const std::vector<CollectiveSample>& samples) {
  std::map<std::tuple<std::string, std::string, Collective, DType, int, double, bool, int>,
           std::size_t>
      seen;
  const std::vector<Reader> elements = collectives.elements();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const CollectiveSample& s = samples[i];
    const auto [earlier, fresh] =
        seen.emplace(std::tuple(s.link, s.tool, s.call.kind, s.call.dtype, s.call.ranks,
                                s.call.bytes.value(), s.call.rested, s.process_set),
                     i);
    if (fresh) continue;
    elements[i].at("bytes").refuse_value(
        "each size once per link, tool, collective, dtype, ranks and process set, and "
        "collectives[" +
        std::to_string(earlier->second) + "] has it already; join their times_s");
  }
}

void refuse_repeated_products(const Reader& products, const std::vector<ProductSample>& samples) {
  std::map<std::tuple<Pass, DType, double, double, double>, std::size_t> seen;
  const std::vector<Reader> elements = products.elements();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Product& p = samples[i].product;
    const auto [earlier, fresh] = seen.emplace(std::tuple(p.pass, p.dtype, p.rows, p.in, p.out), i);
    if (!fresh)
      elements[i].refuse("is what products[" + std::to_string(earlier->second) +
                         "] is already; join their times");
  }
}

// Of two values for one constant the later would count, and nobody could tell.
void refuse_repeated_constants(const Reader& priors, const std::vector<Prior>& values) {
  std::map<std::string_view, std::size_t> seen;
  const std::vector<Reader> elements = priors.elements();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto [earlier, fresh] = seen.emplace(values[i].constant, i);
    if (!fresh)
      elements[i]
          .at("constant")
          .refuse_value("each constant once, and priors[" + std::to_string(earlier->second) +
                        "] has it already; keep one of them");
  }
}

}  // namespace

Measurements measurements_from_json(std::string_view text, std::string_view place) {
  const Document document = open_document(text, place, kMeasurementsSchema);
  const Reader top(document);
  Measurements m;
  m.context = context_of(document, kMeasurementsMembers);
  m.name = top.at("name").label();
  m.source = top.at("source").text();
  m.device = device_of(top.at("device"));
  m.links = samples_of(top, "links", link_description_of);
  m.products = samples_of(top, "products", product_sample_of);
  refuse_repeated_products(top.at("products"), m.products);
  m.collectives = samples_of(top, "collectives", collective_sample_of);
  refuse_repeated_sizes(top.at("collectives"), m.collectives);
  m.copies = samples_of(top, "copies", copy_sample_of);
  m.optimizers = samples_of(top, "optimizers", optimizer_sample_of);
  m.launches = samples_if_any(top, "launches", launch_sample_of);
  m.besides = samples_if_any(top, "besides", beside_sample_of);
  m.copy_besides = samples_if_any(top, "copy_besides", copy_beside_sample_of);
  m.elementwise = samples_if_any(top, "elementwise", elementwise_sample_of);
  m.pairs = samples_if_any(top, "pairs", pair_sample_of);
  m.loads = samples_if_any(top, "loads", load_sample_of);
  m.gaps = samples_if_any(top, "gaps", gap_sample_of);
  m.steps = samples_of(top, "steps", step_sample_of);
  m.priors = samples_of(top, "priors", prior_of);
  refuse_repeated_constants(top.at("priors"), m.priors);
  m.notes = top.at("notes").texts();
  return m;
}

std::string to_json(const Measurements& m) {
  JsonObject members = opening(kMeasurementsSchema, m.context);
  members.emplace_back("name", m.name);
  members.emplace_back("source", m.source);
  members.emplace_back("device", device_json(m.device));
  members.emplace_back("links", samples_json(m.links));
  members.emplace_back("products", samples_json(m.products));
  members.emplace_back("collectives", samples_json(m.collectives));
  members.emplace_back("copies", samples_json(m.copies));
  members.emplace_back("optimizers", samples_json(m.optimizers));
  const auto append = [&](const char* key, const auto& samples) {
    if (!samples.empty()) members.emplace_back(key, samples_json(samples));
  };
  append("launches", m.launches);
  append("besides", m.besides);
  append("copy_besides", m.copy_besides);
  append("elementwise", m.elementwise);
  append("pairs", m.pairs);
  append("loads", m.loads);
  append("gaps", m.gaps);
  members.emplace_back("steps", samples_json(m.steps));
  members.emplace_back("priors", samples_json(m.priors));
  members.emplace_back("notes", array_json(m.notes));
  return print(std::move(members));
}

}  // namespace ddpx::io
