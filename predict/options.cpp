#include "predict/options.hpp"

#include "cli/command_line.hpp"

namespace ddpx {
namespace {

constexpr const char* kDescription =
    "Forecasts whether another GPU pays for data-parallel training: step time,\n"
    "speedup over one GPU with its 90 % interval, and where along a sweep it\n"
    "crosses 1. Needs no GPU.";

constexpr const char* kFooter =
    R"(Sizes: KB = 10^3 B, KiB = 2^10 B; GB/s: bytes, Gb/s: bits; counts take K, M, B.

Examples:
  ddpx-predict --link nvlink --gpus 2,4,8
  ddpx-predict --params 350M --step-time 120ms --batch 32 --link 25GB/s,10us
               --strategy ddp --strategy ddp,compress=fp16

Exit codes: 0 answered; 1 nothing satisfies the request; 2 a flag or a file is
wrong; 130 interrupted.)";

constexpr const char* kAnswer = "Answer";

void add_machine(CommandLine& line, Options& o) {
  constexpr const char* kGroup = "Machine and link";
  line.one(
      kGroup, "--machine", o.machine, "FILE|NAME",
      "calibrated machine (default: the GPU machine\ncalibrated last on this host, else t4x2)");
  line.one(kGroup, "--gpu", o.gpu, "NAME",
           "a GPU you have not measured (a100-sxm, ...): by its\ndatasheet or, with --machine, "
           "carried from it");
  line.one(kGroup, "--validation", o.validation, "FILE",
           "what ddpx-validate --json said of the machine:\nintervals of further steps are what it "
           "missed by");
  line.many(
      kGroup, "--link", o.links, "NAME|FILE|FIGURES",
      "link between the GPUs: a name of --list-links or\nof the machine, a family (nvlink, pcie), "
      "a link\nfile, an nccl-tests log, "
      "or bus bandwidth and\nlatency as 25GB/s,10us; repeatable (default: the\nmachine's first)");
  line.one(kGroup, "--gpus", o.gpus, "N,NxM,...",
           "GPU counts; 2x8 is two nodes of eight\n(default: 2)");
  line.one(
      kGroup, "--inter-link", o.inter_link, "NAME|FILE|FIGURES",
      "link between the nodes of --gpus NxM; --link is\ninside each (a log of nodes of several "
      "GPUs holds\nboth: give it as --link alone)");
  line.one(kGroup, "--nics", o.nics, "N",
           "of --inter-link in every node (default: one per\nGPU for infiniband, roce and efa, "
           "else one)");
}

void add_network(CommandLine& line, Options& o) {
  constexpr const char* kGroup = "Network";
  line.many(kGroup, "--network", o.networks, "SPEC|FILE",
            "mlp:width=W,depth=D, gpt:layers=L,hidden=H,... or\na network file; repeatable "
            "(default: mlp:depth=8\nwith --sweep "
            "width=256:8192)");
  line.one(kGroup, "--params", o.params, "COUNT", "parameters of a model known by its step time");
  line.one(
      kGroup, "--step-time", o.step_time, "TIME",
      "its measured step on one GPU, as 120ms; with\n--scaling strong also at one rank's share "
      "of the\nbatch, as 120ms,40ms");
  line.one(kGroup, "--sweep", o.sweep, "KEY=LOW:HIGH",
           "vary a key of --network, or batch; doubles unless\na step follows, as :x4 or :+256");
}

void add_training(CommandLine& line, Options& o) {
  constexpr const char* kGroup = "Training";
  line.one(kGroup, "--batch", o.batch, "B,...",
           "samples per rank and micro-batch (default: 256);\nwith --scaling strong, of all ranks");
  line.one(kGroup, "--scaling", o.scaling, "weak|strong",
           "whether the batch grows with the GPUs\n(default: weak)");
  line.one(kGroup, "--dtype", o.dtype, "TYPE",
           "of the products: fp32, tf32, bf16, fp16\n(default: fp32)");
  line.one(kGroup, "--optimizer", o.optimizer, "NAME", "sgd or adamw (default: sgd)");
  line.one(kGroup, "--engine", o.engine, "NAME",
           "native or torch, whose host costs to count\n(default: torch)");
  line.many(
      kGroup, "--strategy", o.strategies, "WORDS",
      "ddp, accumulate=K, compress=fp16|bf16,\nbucket=SIZE, first-bucket=SIZE, bucket-view,\n"
      "overlap=no, cycle=TIME, sync=every, channels=C,\nno-sync, fsdp=unit|block, reshard=no, "
      "zero=1|2|3,\nhsdp=RxS; commas combine, repeat to compare\n(default: ddp)");
}

void add_conditions(CommandLine& line, Options& o) {
  constexpr const char* kGroup = "Conditions of ideal scaling";
  line.one(
      kGroup, "--loader-rate", o.loader_rate, "R|R/rank",
      "samples/s that the data loaders deliver to all\nranks together, or as 500/rank to each");
  line.one(kGroup, "--imbalance", o.imbalance, "PERCENT",
           "work of the fullest rank above the mean, as 10%");
  line.one(
      kGroup, "--straggler", o.straggler, "PERCENT|spread=P|samples=P",
      "compute of one slow rank above the others', as\n20%; or the standard deviation between "
      "ranks, as\nspread=3% (default: the machine's); or that of\nthe work of single samples, as "
      "samples=0% where\nall have one shape (default with --params: 30%)");
}

void add_decision(CommandLine& line, Options& o) {
  constexpr const char* kGroup = "Time to target and money";
  line.one(kGroup, "--samples", o.samples, "COUNT",
           "samples of the run; with --critical-batch those\none GPU needs to the target");
  line.one(kGroup, "--critical-batch", o.critical_batch, "B|LOW:HIGH|unknown",
           "add what a larger global batch costs in samples\n(unknown: the public 1K:20K)");
  line.one(kGroup, "--learning-rate", o.learning_rate, "ALPHA",
           "at one GPU's batch: add the rate of each plan");
  line.one(kGroup, "--rate-rule", o.rate_rule, "linear|sqrt",
           "how it follows the batch (default: linear for sgd,\nsqrt for adamw)");
  line.one(kGroup, "--price", o.price, "P|FILE",
           "of a GPU-hour, or a ddpx.prices file: add what\nsamples, the run and the target cost");
  line.one(kGroup, "--deadline", o.deadline, "TIME",
           "add the cheapest plan that meets it, as 24h; exit\ncode 1 when none does");
}

void add_diagnosis(CommandLine& line, Options& o) {
  constexpr const char* kGroup = "Diagnosis";
  line.one(
      kGroup, "--diagnose", o.diagnose, "t1=TIME,tN=TIME,...|FILE",
      "instead: what is wrong, from steps measured on 1, N,\n... GPUs (t1: one plain step, of one "
      "micro-batch;\nor r1=, rN=: samples/s "
      "with --batch; FILE:\na table of them, headed bench Plan metric GPU1 GPU2);\nalso "
      "busy1=, busyN= (device busy, 95%), data1=,\ndataN= (step waits for "
      "data); of a message\nmessage=228B,took=4ms. --params and --link let it\nweigh "
      "communication");
  line.one(kGroup, "--rank-compute", o.rank_compute, "TIME,...|FILE",
           "each rank's compute before the exchange; FILE: a\nlog with lines as Rank 3: 9.40ms");
  line.one(kGroup, "--rank-wall", o.rank_wall, "TIME,...|FILE",
           "each rank's wall time of the step");
  line.one(kGroup, "--rank-data", o.rank_data, "TIME,...|FILE",
           "each rank's wait for data in a step");
}

void add_answer(CommandLine& line, Options& o) {
  line.flag(kAnswer, "--crossover", o.crossover, "add the batch per rank from which on it pays");
  line.flag(kAnswer, "--explain", o.explain,
            "add where each step's time goes and what the\ninterval rests on");
  line.flag(
      kAnswer, "--rank-strategies", o.rank_strategies,
      "instead: strategies side by side, what each gains\nover ddp, its memory and batch; exit "
      "code 1 when\nnone fits");
  line.one(
      kAnswer, "--gpu-memory", o.gpu_memory, "SIZE",
      "of one GPU, as 16GB: what fits is said, ranked and\nplanned by it (default: the machine's)");
  line.many(
      kAnswer, "--require", o.requirements, "METRIC=VALUE",
      "instead: the link, batch, accumulation, model size\nor GPU count that meets "
      "speedup=1.8,\nefficiency=90% or communication-share=20%\n(of a link: the link scaled by "
      "the ratio shown);\nrepeatable; exit code 1 when nothing does");
  line.one(
      kAnswer, "--infer-link", o.infer_link, "t1=TIME,tn=TIME",
      "instead: the link that explains the steps measured\non one and on --gpus GPUs (or t16=), "
      "for --params\n(and --batch, over which unequal samples settle);\nt1: one plain step, of one "
      "micro-batch");
  line.one(
      kAnswer, "--check-link", o.check_link, "FILE",
      "instead: is this right for my box? of an nccl-tests\nlog, nvbandwidth or nvidia-smi topo "
      "-m; --link names\nwhat it should be (of nodes also --inter-link, and\n--gpus 2x8 where the "
      "log's rank lines do not say\nit); exit code 1 when below");
  line.flag(kAnswer, "--list-links", o.list_links, "instead: the interconnects known by name");
  line.flag(kAnswer, "--list-machines", o.list_machines, "instead: the machines known by name");
  line.flag(kAnswer, "--csv", o.csv, "print CSV");
  line.flag(kAnswer, "--json", o.json, "print one JSON document");
}

}  // namespace

ParsedOptions parse_options(int argc, const char* const* argv, const std::string& version) {
  ParsedOptions parsed;
  CommandLine line("ddpx-predict", kDescription, kFooter);
  add_machine(line, parsed.options);
  add_network(line, parsed.options);
  add_training(line, parsed.options);
  add_conditions(line, parsed.options);
  add_decision(line, parsed.options);
  add_diagnosis(line, parsed.options);
  add_answer(line, parsed.options);
  parsed.message = line.parse(argc, argv, kAnswer, version);
  return parsed;
}

}  // namespace ddpx
