#include "io/machine_json.hpp"

#include <map>
#include <tuple>

#include "io/estimate_json.hpp"
#include "io/host_json.hpp"
#include "io/kernel_costs_json.hpp"
#include "io/link_json.hpp"
#include "io/longer_gap_json.hpp"
#include "io/operation_json.hpp"
#include "io/schema.hpp"
#include "model/tiles.hpp"

namespace ddpx::io {
namespace {

const std::vector<std::string_view> kMachineMembers = {"name",
                                                       "device",
                                                       "products",
                                                       "kernel_costs",
                                                       "one_gpu_steps",
                                                       "copy_bandwidth_bytes_per_s",
                                                       "optimizer_bandwidth_bytes_per_s",
                                                       "copy_points",
                                                       "optimizer_points",
                                                       "adamw_bandwidth_bytes_per_s",
                                                       "adamw_points",
                                                       "between_products_bytes_per_s",
                                                       "kernel_gap_s",
                                                       "longer_gap_s",
                                                       "shared_gap_s",
                                                       "host",
                                                       "boost_factor",
                                                       "power_window_s",
                                                       "sustained_factor",
                                                       "memory_beside_factor",
                                                       "shared_core",
                                                       "hook_gap_s",
                                                       "hook_overlap",
                                                       "rank_spread",
                                                       "residual",
                                                       "links",
                                                       "measurements",
                                                       "notes"};

constexpr int kLargestTile = 4096;

KernelGrid grid_of(const Reader& from) {
  from.only({"blocks", "per_multiprocessor", "persistent", "tile", "generation"});
  KernelGrid grid;
  grid.blocks = from.at("blocks").positive();
  grid.per_multiprocessor = from.at("per_multiprocessor").positive();
  grid.persistent = from.at("persistent").boolean();
  if (const auto tile = from.find("tile")) {
    tile->only({"contiguous", "across"});
    grid.tile = {tile->at("contiguous").integer(1, kLargestTile),
                 tile->at("across").integer(1, kLargestTile)};
  }
  if (const auto generation = from.find("generation"))
    grid.generation = generation->integer(1, kNewestGeneration);
  return grid;
}

ProductPoint product_point_of(const Reader& from) {
  from.only({"pass", "dtype", "rows", "in", "out", "time_s", "relative_error", "origin", "grid"});
  ProductPoint point;
  point.product = product_of(from);
  point.time.value = Seconds(from.at("time_s").plausible(kMeasuredTime));
  point.time.relative_error = from.at("relative_error").plausible(kRelativeError);
  point.time.origin = text_or_empty(from, "origin");
  if (const auto grid = from.find("grid")) {
    point.grid = grid_of(*grid);
    point.grid->tiles = tiles_of(point.grid->tile, point.product);
  }
  return point;
}

JsonObject point_json(const ProductPoint& point) {
  JsonObject members;
  append_product(members, point.product);
  members.emplace_back("time_s", point.time.value.value());
  members.emplace_back("relative_error", point.time.relative_error);
  if (!point.time.origin.empty()) members.emplace_back("origin", point.time.origin);
  if (point.grid) {
    JsonObject grid;
    grid.emplace_back("blocks", point.grid->blocks);
    grid.emplace_back("per_multiprocessor", point.grid->per_multiprocessor);
    if (point.grid->tile.contiguous > 0) {
      JsonObject tile;
      tile.emplace_back("contiguous", point.grid->tile.contiguous);
      tile.emplace_back("across", point.grid->tile.across);
      grid.emplace_back("tile", std::move(tile));
    }
    grid.emplace_back("persistent", point.grid->persistent);
    if (point.grid->generation > 0) grid.emplace_back("generation", point.grid->generation);
    members.emplace_back("grid", std::move(grid));
  }
  return members;
}

MeasuredStep step_of(const Reader& from) {
  from.only({"network", "batch_per_rank", "dtype", "optimizer", "engine", "step_time_s",
             "relative_error", "origin"});
  MeasuredStep step;
  step.network = from.at("network").label();
  step.batch = from.at("batch_per_rank").whole();
  step.dtype = dtype_of(from.at("dtype"));
  step.optimizer = optimizer_of(from.at("optimizer"));
  step.engine = from.at("engine").one_of({Engine::native, Engine::torch});
  step.time.value = Seconds(from.at("step_time_s").plausible(kMeasuredTime));
  step.time.relative_error = from.at("relative_error").plausible(kRelativeError);
  step.time.origin = text_or_empty(from, "origin");
  return step;
}

JsonObject step_json(const MeasuredStep& step) {
  JsonObject members;
  members.emplace_back("network", step.network);
  members.emplace_back("batch_per_rank", step.batch);
  members.emplace_back("dtype", name(step.dtype));
  members.emplace_back("optimizer", name(step.optimizer));
  members.emplace_back("engine", name(step.engine));
  members.emplace_back("step_time_s", step.time.value.value());
  members.emplace_back("relative_error", step.time.relative_error);
  if (!step.time.origin.empty()) members.emplace_back("origin", step.time.origin);
  return members;
}

// Two times for one thing: which of them counts would be the order's choice.
template <class T, class Key>
void refuse_repeated(const Reader& list, const std::vector<T>& values, const Key& key) {
  std::map<decltype(key(values.front())), std::size_t> seen;
  const std::vector<Reader> elements = list.elements();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto [earlier, fresh] = seen.emplace(key(values[i]), i);
    if (!fresh)
      elements[i].refuse("times what [" + std::to_string(earlier->second) +
                         "] times already; keep one of them");
  }
}

std::optional<Estimate<double>> factor_of(const Reader& top, std::string_view key) {
  const auto factor = top.find(key);
  return factor ? std::optional(estimate_of<double>(*factor, kFactor)) : std::nullopt;
}

void append_factor(JsonObject& members, const char* key,
                   const std::optional<Estimate<double>>& factor) {
  if (factor) members.emplace_back(key, estimate_json(*factor));
}

std::vector<MemoryPoint> memory_points_of(const Reader& top, std::string_view key) {
  std::vector<MemoryPoint> points;
  const auto list = top.find(key);
  if (!list) return points;
  for (const Reader& element : list->filled()) {
    element.only({"working_set_bytes", "bytes_per_s"});
    const Reader bytes = element.at("working_set_bytes");
    points.push_back({Bytes(bytes.plausible(kSize)),
                      BytesPerSecond(element.at("bytes_per_s").plausible(kMemoryRate))});
    if (points.size() > 1 && points.back().working_set <= points[points.size() - 2].working_set)
      bytes.refuse_value("more than the point before it");
  }
  return points;
}

void append_memory_points(JsonObject& members, const char* key,
                          const std::vector<MemoryPoint>& points) {
  if (points.empty()) return;
  JsonArray list;
  for (const MemoryPoint& point : points) {
    JsonObject entry;
    entry.emplace_back("working_set_bytes", point.working_set.value());
    entry.emplace_back("bytes_per_s", point.bandwidth.value());
    list.emplace_back(std::move(entry));
  }
  members.emplace_back(key, std::move(list));
}

}  // namespace

Machine machine_from_json(std::string_view text, std::string_view place) {
  const Document document = open_document(text, place, kMachineSchema);
  const Reader top(document);
  Machine machine;
  machine.context = context_of(document, kMachineMembers);
  machine.name = top.at("name").label();
  machine.device = device_of(top.at("device"));
  for (const Reader& product : top.at("products").elements()) {
    machine.products.push_back(product_point_of(product));
  }
  refuse_repeated(top.at("products"), machine.products, [](const ProductPoint& point) {
    const Product& p = point.product;
    return std::tuple(p.pass, p.dtype, p.rows, p.in, p.out);
  });
  if (const auto costs = top.find("kernel_costs")) machine.kernel_costs = kernel_costs_of(*costs);
  if (const auto steps = top.find("one_gpu_steps")) {
    for (const Reader& step : steps->elements()) machine.one_gpu_steps.push_back(step_of(step));
    refuse_repeated(*steps, machine.one_gpu_steps, [](const MeasuredStep& step) {
      return std::tuple(step.network, step.batch, step.dtype, step.optimizer, step.engine);
    });
  }
  machine.copy_bandwidth =
      estimate_of<BytesPerSecond>(top.at("copy_bandwidth_bytes_per_s"), kMemoryRate);
  machine.optimizer_bandwidth =
      estimate_of<BytesPerSecond>(top.at("optimizer_bandwidth_bytes_per_s"), kMemoryRate);
  machine.copy_points = memory_points_of(top, "copy_points");
  machine.optimizer_points = memory_points_of(top, "optimizer_points");
  if (const auto adamw = top.find("adamw_bandwidth_bytes_per_s"))
    machine.adamw_bandwidth = estimate_of<BytesPerSecond>(*adamw, kMemoryRate);
  machine.adamw_points = memory_points_of(top, "adamw_points");
  if (const auto between = top.find("between_products_bytes_per_s")) {
    between->only({"forward", "backward"});
    machine.forward_bandwidth = estimate_of<BytesPerSecond>(between->at("forward"), kMemoryRate);
    machine.backward_bandwidth = estimate_of<BytesPerSecond>(between->at("backward"), kMemoryRate);
  }
  machine.kernel_gap = estimate_of<Seconds>(top.at("kernel_gap_s"), kGap);
  machine.host = hosts_of(top.at("host"));
  machine.boost = factor_of(top, "boost_factor");
  if (const auto window = top.find("power_window_s"))
    machine.power_window = estimate_of<Seconds>(*window, kWindow);
  machine.sustained = factor_of(top, "sustained_factor");
  machine.memory_beside = factor_of(top, "memory_beside_factor");
  if (const auto core = top.find("shared_core")) machine.shared_core = shared_core_of(*core);
  if (const auto gap = top.find("hook_gap_s")) machine.hook_gap = estimate_of<Seconds>(*gap, kGap);
  machine.hook_overlap = estimate_of<double>(top.at("hook_overlap"), kShare);
  machine.rank_spread = top.at("rank_spread").plausible(kRelativeError);
  machine.residual = top.at("residual").plausible(kRelativeError);
  machine.links = links_of(top.at("links"));
  const Reader measurements = top.at("measurements");
  measurements.only({"name", "hash"});
  machine.measurements = measurements.at("name").text();
  machine.measurements_hash = measurements.at("hash").text();
  machine.notes = top.at("notes").texts();
  take_longer_gap(top, machine);
  return machine;
}

std::string to_json(const Machine& machine) {
  JsonArray products;
  for (const ProductPoint& point : machine.products) products.emplace_back(point_json(point));
  JsonArray steps;
  for (const MeasuredStep& step : machine.one_gpu_steps) steps.emplace_back(step_json(step));
  JsonObject measurements;
  measurements.emplace_back("name", machine.measurements);
  measurements.emplace_back("hash", machine.measurements_hash);
  JsonObject members = opening(kMachineSchema, machine.context);
  members.emplace_back("name", machine.name);
  members.emplace_back("device", device_json(machine.device));
  members.emplace_back("products", std::move(products));
  if (!machine.kernel_costs.empty())
    members.emplace_back("kernel_costs", kernel_costs_json(machine.kernel_costs));
  members.emplace_back("one_gpu_steps", std::move(steps));
  members.emplace_back("copy_bandwidth_bytes_per_s", estimate_json(machine.copy_bandwidth));
  members.emplace_back("optimizer_bandwidth_bytes_per_s",
                       estimate_json(machine.optimizer_bandwidth));
  append_memory_points(members, "copy_points", machine.copy_points);
  append_memory_points(members, "optimizer_points", machine.optimizer_points);
  if (machine.adamw_bandwidth)
    members.emplace_back("adamw_bandwidth_bytes_per_s", estimate_json(*machine.adamw_bandwidth));
  append_memory_points(members, "adamw_points", machine.adamw_points);
  if (machine.forward_bandwidth && machine.backward_bandwidth) {
    JsonObject between;
    between.emplace_back("forward", estimate_json(*machine.forward_bandwidth));
    between.emplace_back("backward", estimate_json(*machine.backward_bandwidth));
    members.emplace_back("between_products_bytes_per_s", std::move(between));
  }
  members.emplace_back("kernel_gap_s", estimate_json(machine.kernel_gap));
  append_longer_gap(members, machine);
  members.emplace_back("host", hosts_json(machine.host));
  append_factor(members, "boost_factor", machine.boost);
  if (machine.power_window)
    members.emplace_back("power_window_s", estimate_json(*machine.power_window));
  append_factor(members, "sustained_factor", machine.sustained);
  append_factor(members, "memory_beside_factor", machine.memory_beside);
  if (machine.shared_core)
    members.emplace_back("shared_core", shared_core_json(*machine.shared_core));
  if (machine.hook_gap) members.emplace_back("hook_gap_s", estimate_json(*machine.hook_gap));
  members.emplace_back("hook_overlap", estimate_json(machine.hook_overlap));
  members.emplace_back("rank_spread", machine.rank_spread);
  members.emplace_back("residual", machine.residual);
  members.emplace_back("links", links_json(machine.links));
  members.emplace_back("measurements", std::move(measurements));
  members.emplace_back("notes", array_json(machine.notes));
  return print(std::move(members));
}

}  // namespace ddpx::io
