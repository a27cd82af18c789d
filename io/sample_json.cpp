#include "io/sample_json.hpp"

#include "io/beside_json.hpp"
#include "io/job_json.hpp"
#include "io/kernel_json.hpp"
#include "io/operation_json.hpp"

namespace ddpx::io {
namespace {

KernelRecord kernel_of(const Reader& from) {
  from.only({"name", "blocks", "threads", "registers_per_thread", "shared_bytes", "persistent"});
  KernelRecord kernel;
  kernel.name = from.at("name").text();
  read_geometry(from, kernel);
  return kernel;
}

JsonObject kernel_json(const KernelRecord& kernel) {
  JsonObject members;
  members.emplace_back("name", kernel.name);
  append_geometry(members, kernel);
  return members;
}

Bytes working_set_of(const Reader& from) {
  const auto bytes = from.find("working_set_bytes");
  return bytes ? Bytes(bytes->plausible(kSize)) : Bytes{};
}

void append_working_set(JsonObject& members, Bytes bytes) {
  if (bytes.value() > 0) members.emplace_back("working_set_bytes", bytes.value());
}

CollectiveRun run_of(const Reader& from) {
  from.only({"algorithm", "protocol", "channels"});
  CollectiveRun run{from.at("algorithm").label(), from.at("protocol").label()};
  if (const auto channels = from.find("channels"))
    run.channels = channels->integer(1, kMostChannels);
  return run;
}

JsonObject run_json(const CollectiveRun& run) {
  JsonObject members;
  members.emplace_back("algorithm", run.algorithm);
  members.emplace_back("protocol", run.protocol);
  if (run.channels > 0) members.emplace_back("channels", run.channels);
  return members;
}

}  // namespace

LinkDescription link_description_of(const Reader& from) {
  from.only(
      {"name", "title", "topology", "topology_assumed", "channels", "peak_bytes_per_s", "source"});
  LinkDescription link;
  link.name = from.at("name").label();
  link.title = text_or_empty(from, "title");
  link.topology = topology_of(from.at("topology"));
  if (const auto assumed = from.find("topology_assumed"))
    link.topology_assumed = assumed->boolean();
  if (const auto channels = from.find("channels")) {
    link.channels = channels->integer(1, kMostChannels);
  }
  if (const auto peak = from.find("peak_bytes_per_s"))
    link.peak_bytes_per_s = peak->plausible(kLinkRate);
  link.source = text_or_empty(from, "source");
  return link;
}

JsonObject sample_json(const LinkDescription& link) {
  JsonObject members;
  members.emplace_back("name", link.name);
  members.emplace_back("title", link.title);
  members.emplace_back("topology", name(link.topology));
  if (link.topology_assumed) members.emplace_back("topology_assumed", true);
  if (link.channels > 0) members.emplace_back("channels", link.channels);
  if (link.peak_bytes_per_s > 0) members.emplace_back("peak_bytes_per_s", link.peak_bytes_per_s);
  members.emplace_back("source", link.source);
  return members;
}

ProductSample product_sample_of(const Reader& from) {
  from.only(
      {"pass", "dtype", "rows", "in", "out", "times_s", "kernel", "record_times_s", "dropped"});
  ProductSample sample;
  sample.product = product_of(from);
  if (const auto recorded = from.find("record_times_s"))
    sample.recorded_seconds = recorded->all_positive(kMeasuredTime);
  const auto timed = sample.recorded_seconds.empty() ? from.at("times_s") : from.find("times_s");
  if (timed) sample.seconds = timed->all_positive(kMeasuredTime);
  if (const auto kernel = from.find("kernel")) sample.kernel = kernel_of(*kernel);
  sample.dropped = dropped_of(from);
  return sample;
}

JsonObject sample_json(const ProductSample& sample) {
  JsonObject members;
  append_product(members, sample.product);
  if (!sample.seconds.empty()) members.emplace_back("times_s", array_json(sample.seconds));
  if (sample.kernel) members.emplace_back("kernel", kernel_json(*sample.kernel));
  if (!sample.recorded_seconds.empty())
    members.emplace_back("record_times_s", array_json(sample.recorded_seconds));
  append_dropped(members, sample.dropped);
  return members;
}

CollectiveSample collective_sample_of(const Reader& from) {
  from.only({"link", "collective", "dtype", "ranks", "bytes", "rested", "times_s", "tool",
             "dropped", "reported", "process_set", "hosts"});
  CollectiveSample sample;
  sample.link = from.at("link").label();
  sample.call.kind = collective_of(from.at("collective"));
  sample.call.dtype = dtype_of(from.at("dtype"));
  sample.call.ranks = from.at("ranks").integer(2, kMostRanks);
  sample.call.bytes = Bytes(from.at("bytes").plausible(kSize));
  if (const auto rested = from.find("rested")) sample.call.rested = rested->boolean();
  sample.seconds = from.at("times_s").times_of(sample.call.bytes.value(), kLinkRate);
  sample.tool = text_or_empty(from, "tool");
  sample.dropped = dropped_of(from);
  if (const auto reported = from.find("reported")) sample.reported = run_of(*reported);
  if (const auto set = from.find("process_set")) sample.process_set = set->integer(0, kMostRanks);
  if (const auto hosts = from.find("hosts")) sample.hosts = hosts->integer(1, sample.call.ranks);
  return sample;
}

JsonObject sample_json(const CollectiveSample& sample) {
  JsonObject members;
  members.emplace_back("link", sample.link);
  members.emplace_back("collective", name(sample.call.kind));
  members.emplace_back("dtype", name(sample.call.dtype));
  members.emplace_back("ranks", sample.call.ranks);
  members.emplace_back("bytes", sample.call.bytes.value());
  if (sample.call.rested) members.emplace_back("rested", true);
  members.emplace_back("times_s", array_json(sample.seconds));
  members.emplace_back("tool", sample.tool);
  append_dropped(members, sample.dropped);
  if (sample.reported) members.emplace_back("reported", run_json(*sample.reported));
  if (sample.process_set > 0) members.emplace_back("process_set", sample.process_set);
  if (sample.hosts) members.emplace_back("hosts", *sample.hosts);
  return members;
}

CopySample copy_sample_of(const Reader& from) {
  from.only({"bytes", "working_set_bytes", "times_s", "dropped"});
  const double bytes = from.at("bytes").plausible(kSize);
  return {Bytes(bytes), from.at("times_s").times_of(bytes, kMemoryRate), dropped_of(from),
          working_set_of(from)};
}

JsonObject sample_json(const CopySample& sample) {
  JsonObject members;
  members.emplace_back("bytes", sample.bytes.value());
  append_working_set(members, sample.working_set);
  members.emplace_back("times_s", array_json(sample.seconds));
  append_dropped(members, sample.dropped);
  return members;
}

OptimizerSample optimizer_sample_of(const Reader& from) {
  from.only({"optimizer", "parameters", "working_set_bytes", "times_s", "dropped"});
  return {{optimizer_of(from.at("optimizer")), from.at("parameters").positive()},
          from.at("times_s").all_positive(kMeasuredTime),
          dropped_of(from),
          working_set_of(from)};
}

JsonObject sample_json(const OptimizerSample& sample) {
  JsonObject members;
  members.emplace_back("optimizer", name(sample.step.optimizer));
  members.emplace_back("parameters", sample.step.parameters);
  append_working_set(members, sample.working_set);
  members.emplace_back("times_s", array_json(sample.seconds));
  append_dropped(members, sample.dropped);
  return members;
}

StepSample step_sample_of(const Reader& from) {
  from.only({"network", "batch_per_rank", "micro_batches", "dtype", "optimizer", "engine", "clocks",
             "step_times_s", "note", "gpus", "strategy"});
  StepSample sample;
  sample.network = from.at("network").label();
  sample.batch = from.at("batch_per_rank").whole();
  sample.micro_batches = from.at("micro_batches").integer(1, kMostRanks);
  sample.dtype = dtype_of(from.at("dtype"));
  sample.optimizer = optimizer_of(from.at("optimizer"));
  sample.engine = from.at("engine").one_of({Engine::native, Engine::torch});
  sample.clocks = from.at("clocks").one_of({Clocks::burst, Clocks::sustained});
  sample.seconds = from.at("step_times_s").all_positive(kMeasuredTime);
  sample.note = text_or_empty(from, "note");
  if (const auto gpus = from.find("gpus")) sample.gpus = gpus->integer(1, kMostRanks);
  if (const auto strategy = from.find("strategy")) {
    sample.strategy = strategy_of(*strategy);
    if (sample.gpus == 1)
      strategy->refuse("is of steps on several GPUs, and \"gpus\" is 1; leave it out");
    if (sample.strategy.micro_batches != sample.micro_batches) {
      strategy->refuse("has another number of micro-batches than \"micro_batches\"");
    }
  } else if (sample.gpus > 1) {
    from.refuse("has \"gpus\" above 1 and no \"strategy\"");
  }
  return sample;
}

JsonObject sample_json(const StepSample& sample) {
  JsonObject members;
  members.emplace_back("network", sample.network);
  members.emplace_back("batch_per_rank", sample.batch);
  members.emplace_back("micro_batches", sample.micro_batches);
  members.emplace_back("dtype", name(sample.dtype));
  members.emplace_back("optimizer", name(sample.optimizer));
  members.emplace_back("engine", name(sample.engine));
  members.emplace_back("clocks", name(sample.clocks));
  members.emplace_back("step_times_s", array_json(sample.seconds));
  if (!sample.note.empty()) members.emplace_back("note", sample.note);
  if (sample.gpus > 1) {
    members.emplace_back("gpus", sample.gpus);
    members.emplace_back("strategy", describe(sample.strategy));
  }
  return members;
}

Prior prior_of(const Reader& from) {
  from.only({"constant", "value", "relative_error", "source"});
  const std::string constant = from.at("constant").label();
  return {constant, from.at("value").plausible(plausible_for(constant)),
          from.at("relative_error").plausible(kRelativeError), from.at("source").text()};
}

JsonObject sample_json(const Prior& prior) {
  JsonObject members;
  members.emplace_back("constant", prior.constant);
  members.emplace_back("value", prior.value);
  members.emplace_back("relative_error", prior.relative_error);
  members.emplace_back("source", prior.source);
  return members;
}

}  // namespace ddpx::io
