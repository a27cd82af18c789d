#include "predict/options.hpp"

#include <CLI/CLI.hpp>

#include "model/error.hpp"
#include "predict/nearest.hpp"
#include "predict/quantity.hpp"

namespace ddpx {
namespace {

constexpr const char* kDescription =
    "Forecasts whether another GPU pays for data-parallel training: step time,\n"
    "speedup over one GPU with its 90 % interval, and where along a sweep it\n"
    "crosses 1. Needs no GPU.";

constexpr const char* kFooter = R"(Sizes: KB = 10^3 B, KiB = 2^10 B; GB/s: bytes, Gb/s: bits; counts take K, M, B.

Examples:
  ddpx-predict --link nvlink --gpus 2,4,8
  ddpx-predict --params 350M --step-time 120ms --batch 32 --link 25GB/s,10us
               --strategy ddp --strategy ddp,compress=fp16

Exit codes: 0 answered; 1 nothing satisfies the request; 2 a flag or a file is
wrong; 130 interrupted.)";

class CommandLine {
 public:
  explicit CommandLine(Options& options) : app_(kDescription, "ddpx-predict"), options_(options) {
    app_.allow_extras();
    app_.set_help_flag();  // ours stands in its group
    app_.get_formatter()->column_width(26);
    app_.footer(kFooter);
    add_machine();
    add_network();
    add_training();
    add_answer();
  }

  ParsedOptions parse(int argc, const char* const* argv, const std::string& version) {
    try {
      app_.parse(argc, const_cast<char**>(argv));  // NOLINT(*-const-cast): CLI11 2.1 does not write to it
    } catch (const CLI::ParseError& error) {
      fail(error.what());
    }
    if (help_) return {options_, help()};
    if (version_) return {options_, version};
    refuse_extras();
    return {options_, std::nullopt};
  }

 private:
  using Text = std::optional<std::string>;

  void one(const char* group, const char* flag, Text& target, const char* type, const char* help) {
    app_.add_option(flag, target, help)->group(group)->type_name(type);
    flags_.emplace_back(flag);
  }
  void many(const char* group, const char* flag, std::vector<std::string>& target, const char* type, const char* help) {
    // One value per flag; the flag may be repeated.
    app_.add_option(flag, target, help)->group(group)->type_name(type)->expected(1)->allow_extra_args(false)->take_all();
    flags_.emplace_back(flag);
  }
  void flag(const char* group, const char* name, bool& target, const char* help) {
    app_.add_flag(name, target, help)->group(group)->disable_flag_override();
    flags_.emplace_back(name);
  }

  void add_machine() {
    constexpr const char* kGroup = "Machine and link";
    one(kGroup, "--machine", options_.machine, "FILE|NAME", "calibrated machine (default: the GPU machine\ncalibrated last on this host, else t4x2)");
    many(kGroup, "--link", options_.links, "NAME|FILE|FIGURES", "link between the GPUs: a name of --list-links or\nof the machine, a family (nvlink, pcie), a link\nfile, an nccl-tests log, or bus bandwidth and\nlatency as 25GB/s,10us; repeatable (default: the\nmachine's first)");
    one(kGroup, "--gpus", options_.gpus, "N,...", "GPU counts (default: 2)");
  }
  void add_network() {
    constexpr const char* kGroup = "Network";
    many(kGroup, "--network", options_.networks, "SPEC|FILE", "mlp:width=W,depth=D, gpt:layers=L,hidden=H,... or\na network file; repeatable (default: mlp:depth=8\nwith --sweep width=256:8192)");
    one(kGroup, "--params", options_.params, "COUNT", "parameters of a model known by its step time");
    one(kGroup, "--step-time", options_.step_time, "TIME", "its measured step on one GPU, as 120ms");
    one(kGroup, "--sweep", options_.sweep, "KEY=LOW:HIGH", "vary a key of --network, or batch; doubles unless\na step follows, as :x4 or :+256");
  }
  void add_training() {
    constexpr const char* kGroup = "Training";
    one(kGroup, "--batch", options_.batch, "B,...", "samples per rank and micro-batch (default: 256);\nwith --scaling strong, of all ranks");
    one(kGroup, "--scaling", options_.scaling, "weak|strong", "whether the batch grows with the GPUs\n(default: weak)");
    one(kGroup, "--dtype", options_.dtype, "TYPE", "of the products: fp32, tf32, bf16, fp16\n(default: fp32)");
    one(kGroup, "--optimizer", options_.optimizer, "NAME", "sgd or adamw (default: sgd)");
    one(kGroup, "--engine", options_.engine, "NAME", "native or torch, whose host costs to count\n(default: torch)");
    many(kGroup, "--strategy", options_.strategies, "WORDS", "ddp, accumulate=K, compress=fp16|bf16,\nbucket=SIZE, first-bucket=SIZE, bucket-view,\nchannels=C, fsdp=unit, no-sync; commas combine,\nrepeat to compare (default: ddp)");
  }
  void add_answer() {
    constexpr const char* kGroup = "Answer";
    flag(kGroup, "--crossover", options_.crossover, "add the batch per rank from which on it pays");
    flag(kGroup, "--explain", options_.explain, "add where each step's time goes and what the\ninterval rests on");
    one(kGroup, "--infer-link", options_.infer_link, "t1=TIME,tn=TIME", "instead: the link that explains the steps measured\non one and on --gpus GPUs, for --params");
    flag(kGroup, "--list-links", options_.list_links, "instead: the interconnects known by name");
    flag(kGroup, "--list-machines", options_.list_machines, "instead: the machines known by name");
    flag(kGroup, "--csv", options_.csv, "print CSV");
    flag(kGroup, "--json", options_.json, "print one JSON document");
    flag(kGroup, "--version", version_, "print version and git state");
    flag(kGroup, "-h,--help", help_, "print this");
    flags_.back() = "--help";
  }

  void refuse_extras() const {
    const std::vector<std::string> extras = app_.remaining();
    if (extras.empty()) return;
    const std::string& extra = extras.front();
    if (!extra.starts_with("-")) {
      throw InputError("command line", "unexpected '" + shown(extra) + "'; every value follows an option, as --link nvlink");
    }
    const std::string word = extra.substr(0, extra.find('='));
    const std::optional<std::string> meant = nearest(word, flags_);
    throw InputError(shown(word), "is no option" + std::string(meant ? "; did you mean " + *meant + "?" : "") + " (--help lists all)");
  }

  // CLI11's groups stand two empty lines apart.
  [[nodiscard]] std::string help() const {
    std::string text = app_.help();
    for (std::size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n", at)) text.erase(at, 1);
    return text;
  }

  // CLI11's message is "--flag: what is wrong" or a sentence.
  [[noreturn]] static void fail(const std::string& message) {
    const std::string flag = message.substr(0, message.find_first_of(": "));
    const auto has = [&](const char* words) { return message.find(words) != std::string::npos; };
    if (has("received")) throw InputError(flag, "takes one value and is given more than once");
    if (has("missing")) throw InputError(flag, "needs a value (--help lists them)");
    if (has("override")) throw InputError(flag, "is a switch and takes no value");
    throw InputError("command line", shown(message) + " (--help lists all options)");
  }

  CLI::App app_;
  Options& options_;
  std::vector<std::string> flags_;
  bool help_ = false;
  bool version_ = false;
};

}  // namespace

ParsedOptions parse_options(int argc, const char* const* argv, const std::string& version) {
  Options options;
  return CommandLine(options).parse(argc, argv, version);
}

}  // namespace ddpx
