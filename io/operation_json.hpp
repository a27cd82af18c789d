// The parts that several files share: a product's shape, a collective's kind, a device, lists of
// texts and times.
#pragma once

#include <span>

#include "io/json_reader.hpp"
#include "model/machine.hpp"

namespace ddpx::io {

// More ranks, layers or micro-batches than any run has had; keeps products of them finite.
inline constexpr int kMostRanks = 1'000'000;
// More channels than any collective has used.
inline constexpr int kMostChannels = 1024;

[[nodiscard]] DType dtype_of(const Reader& from);
[[nodiscard]] Collective collective_of(const Reader& from);
[[nodiscard]] Optimizer optimizer_of(const Reader& from);
[[nodiscard]] Topology topology_of(const Reader& from);

// The members pass, dtype, rows, in, out.
[[nodiscard]] Product product_of(const Reader& from);
void append_product(JsonObject& members, const Product& product);

[[nodiscard]] Device device_of(const Reader& from);
[[nodiscard]] JsonObject device_json(const Device& device);

[[nodiscard]] JsonArray array_json(std::span<const std::string> values);
[[nodiscard]] JsonArray array_json(std::span<const double> values);

// The text of an optional member, empty without it.
[[nodiscard]] std::string text_or_empty(const Reader& from, std::string_view key);

}  // namespace ddpx::io
