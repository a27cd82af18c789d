#include "io/captured_json.hpp"

#include "io/kernel_json.hpp"
#include "io/operation_json.hpp"

namespace ddpx::io {
namespace {

Seconds seconds_or_zero(const Reader& from, std::string_view key) {
  const auto member = from.find(key);
  return Seconds(member ? member->non_negative() : 0);
}

}  // namespace

KernelLaunch launch_of(const Reader& from) {
  from.only(
      {"s_per_sample", "blocks", "threads", "registers_per_thread", "shared_bytes", "persistent"});
  KernelLaunch launch;
  launch.seconds_per_sample = from.at("s_per_sample").positive();
  read_geometry(from, launch);
  return launch;
}

JsonObject launch_json(const KernelLaunch& launch) {
  JsonObject members;
  members.emplace_back("s_per_sample", launch.seconds_per_sample);
  append_geometry(members, launch);
  return members;
}

Captured captured_of(const Reader& from) {
  from.only({"batch_per_rank", "dtype", "optimizer", "optimizer_s", "host_s", "host_optimizer_s",
             "broadcast_bytes", "gradient_dtype", "kernels"});
  Captured captured;
  captured.batch = from.at("batch_per_rank").whole();
  captured.dtype = dtype_of(from.at("dtype"));
  captured.optimizer = optimizer_of(from.at("optimizer"));
  captured.optimizer_time = Seconds(from.at("optimizer_s").non_negative());
  captured.host_time = seconds_or_zero(from, "host_s");
  captured.host_optimizer_time = seconds_or_zero(from, "host_optimizer_s");
  if (const auto broadcasts = from.find("broadcast_bytes"))
    for (const Reader& bytes : broadcasts->elements())
      captured.broadcast_bytes.push_back(bytes.positive());
  captured.gradient_element_bytes = element_bytes(dtype_of(from.at("gradient_dtype")));
  if (const auto kernels = from.find("kernels")) captured.kernels = kernels->non_negative();
  return captured;
}

JsonObject captured_json(const Captured& captured) {
  JsonObject members;
  members.emplace_back("batch_per_rank", captured.batch);
  members.emplace_back("dtype", name(captured.dtype));
  members.emplace_back("optimizer", name(captured.optimizer));
  members.emplace_back("optimizer_s", captured.optimizer_time.value());
  members.emplace_back("host_s", captured.host_time.value());
  members.emplace_back("host_optimizer_s", captured.host_optimizer_time.value());
  members.emplace_back("broadcast_bytes", array_json(captured.broadcast_bytes));
  members.emplace_back("gradient_dtype", captured.gradient_element_bytes < 4 ? "bf16" : "fp32");
  if (captured.kernels > 0) members.emplace_back("kernels", captured.kernels);
  return members;
}

}  // namespace ddpx::io
