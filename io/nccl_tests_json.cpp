// nccl-tests' JSON: its own (-J, from 2.17.3 on) and that of a fork which keys its rows by their
// sizes.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/json_value.hpp"
#include "io/nccl_tests_json_repair.hpp"
#include "io/nccl_tests_row.hpp"
#include "model/error.hpp"

namespace ddpx::io::nccl {
namespace {

// Launchers and libraries write before the object; a log full of braces is something else.
constexpr int kMostCandidates = 8;
// jsonDouble prints "%lf" (src/util.cu).
constexpr double kHalfUnit = 5e-7;

const JsonValue* member(const JsonValue* value, std::string_view key) {
  const JsonObject* object = value == nullptr ? nullptr : value->as<JsonObject>();
  if (object == nullptr) return nullptr;
  const auto found = std::find_if(object->begin(), object->end(),
                                  [&](const auto& entry) { return entry.first == key; });
  return found == object->end() ? nullptr : &found->second;
}

std::string text_of(const JsonValue* value) {
  const std::string* text = value == nullptr ? nullptr : value->as<std::string>();
  return text == nullptr ? std::string() : *text;
}

// Numbers are sometimes written as strings ("root": "    -1").
std::optional<double> number_of(const JsonValue* value) {
  if (value == nullptr) return std::nullopt;
  if (const double* number = value->as<double>()) return *number;
  std::string text = text_of(value);
  text.erase(0, text.find_first_not_of(' '));
  const std::optional<Printed> printed = printed_number(text);
  if (!printed) return std::nullopt;
  return printed->value;
}

// Names of the members that make a row, in each layout.
struct Keys {
  std::string_view time, algbw, busbw, wrong;
};
constexpr Keys kOwn{"time", "alg_bw", "bus_bw", "nwrong"};
constexpr Keys kForkOut{"oop_time", "oop_algbw", "oop_busbw", "oop_error"};
constexpr Keys kForkIn{"ip_time", "ip_algbw", "ip_busbw", "ip_error"};

class JsonReader {
 public:
  explicit JsonReader(NcclImport& import) : import_(import) {}

  // false when `root` is not of nccl-tests.
  bool read(const JsonValue& root) {
    const JsonValue* results = member(&root, "results");
    const JsonValue* benchmark = member(&root, "benchmark");
    if (results != nullptr && results->as<JsonArray>() != nullptr &&
        member(&root, "schema") == nullptr &&
        (member(&root, "nccl_version") != nullptr || member(&root, "config") != nullptr)) {
      read_header(root);
      for (const JsonValue& row : *results->as<JsonArray>())
        read_row(row, number_of(member(&row, "size")));
    } else if (benchmark != nullptr && benchmark->as<JsonArray>() != nullptr) {
      for (const JsonValue& group : *benchmark->as<JsonArray>()) {
        const JsonObject* rows = group.as<JsonObject>();
        if (rows == nullptr) continue;
        for (const auto& [size, row] : *rows) read_row(row, whole_number(size));
      }
    } else {
      return false;
    }
    for (Table& table : tables_.tables()) add_table(std::move(table), import_);
    if (import_.tables.empty()) add_table(like_, import_);
    return true;
  }

 private:
  void read_header(const JsonValue& root) {
    // Of the arguments only the program's name is looked at: the others may hold anything.
    const JsonValue* arguments = member(&root, "args");
    const JsonArray* words = arguments == nullptr ? nullptr : arguments->as<JsonArray>();
    if (words != nullptr && !words->empty())
      like_.collective = collective_named_in(text_of(&words->front()));
    const std::optional<double> code = number_of(member(&root, "nccl_version"));
    like_.version = version_text("", code && *code > 0 && *code < 1e7
                                         ? std::optional<int>(static_cast<int>(*code))
                                         : std::nullopt);
    const JsonValue* config = member(&root, "config");
    const double per_process = number_of(member(config, "nthreads")).value_or(1.0) *
                               number_of(member(config, "ngpus")).value_or(1.0);
    const JsonValue* list = member(config, "devices");
    const JsonArray* devices = list == nullptr ? nullptr : list->as<JsonArray>();
    if (devices == nullptr || devices->empty() || per_process < 1 || per_process > 4096 ||
        static_cast<double>(devices->size()) * per_process > kMostListed)
      return;
    // One entry per process: its first GPU (src/util.cu, writeDeviceReport).
    const auto listed = std::make_shared<ListedRanks>();
    for (const JsonValue& device : *devices) {
      const double first = std::min(1e6, number_of(member(&device, "rank")).value_or(0.0));
      if (first < 0) return;
      for (int i = 0; i < static_cast<int>(per_process); ++i)
        listed->add(static_cast<int>(first) + i, text_of(member(&device, "hostname")));
    }
    like_.listed = listed;
  }

  void read_row(const JsonValue& json, std::optional<double> size) {
    ++number_;
    Table like = like_;
    like.type = text_of(member(&json, "type"));
    // A word that is no reduction may be anything, and is not repeated.
    like.redop = text_of(member(&json, "redop"));
    if (!like.redop.empty() && !is_reduction(like.redop)) like.redop = "unknown reduction";
    if (const auto root = number_of(member(&json, "root")); root && *root >= 0 && *root < 1e6) {
      like.root = static_cast<int>(*root);
    }
    const std::optional<double> count = number_of(member(&json, "count"));
    const std::string what =
        size ? fmt::format("result of {:.0f} bytes", *size) : "result without a size";
    if (!size || !count || *size <= 0 || *count < 0 || !type_bytes(like.type)) {
      add_dropped(import_, number_, what, "size, count or type is missing or not usable");
      return;
    }
    Row row;
    row.line = number_;
    row.text = what;
    row.bytes = *size;
    row.count = *count;
    if (!set_halves(json, row, like)) {
      add_dropped(import_, number_, what, "time or bandwidth is missing, or not one");
      return;
    }
    tables_.add(like, {}, std::move(row));
  }

  static bool set_halves(const JsonValue& json, Row& row, Table& like) {
    const JsonValue* out = member(&json, "out_of_place");
    const JsonValue* in = member(&json, "in_place");
    if (out == nullptr && in == nullptr) {
      if (!set_half(&json, kForkOut, row)) return false;
      row.in_place_time = time_of(member(&json, kForkIn.time));
      set_in_place_wrong(&json, kForkIn.wrong, row);
      return true;
    }
    Keys keys = kOwn;
    row.in_place_only = out == nullptr || out->as<JsonObject>() == nullptr;
    const JsonValue* half = row.in_place_only ? in : out;
    if (member(half, keys.time) == nullptr) {
      keys.time = "cpu_time";
      like.host_time = true;
    }
    if (!set_half(half, keys, row)) return false;
    row.in_place_time = time_of(member(in, keys.time));
    set_in_place_wrong(in, keys.wrong, row);
    return true;
  }

  static void set_in_place_wrong(const JsonValue* half, std::string_view key, Row& row) {
    const std::optional<double> wrong = number_of(member(half, key));
    row.in_place_checked = wrong.has_value();
    if (row.wrong && wrong) row.wrong = std::max(*row.wrong, *wrong);
  }

  static std::optional<double> time_of(const JsonValue* value) {
    const std::optional<double> number = number_of(value);
    return number && plausible_time(*number) ? number : std::nullopt;
  }

  static bool set_half(const JsonValue* half, const Keys& keys, Row& row) {
    const std::optional<double> time = time_of(member(half, keys.time));
    const std::optional<double> algbw = number_of(member(half, keys.algbw));
    const std::optional<double> busbw = number_of(member(half, keys.busbw));
    if (!time || !algbw || !busbw || *algbw < 0 || *busbw < 0) return false;
    row.time = {*time, kHalfUnit};
    row.algbw = {*algbw, kHalfUnit};
    row.busbw = {*busbw, kHalfUnit};
    row.wrong = number_of(member(half, keys.wrong));
    return true;
  }

  NcclImport& import_;
  OpenTables tables_;
  Table like_;
  std::size_t number_ = 0;
};

}  // namespace

bool read_json(std::string_view text, NcclImport& import) {
  std::size_t at = text.find('{');
  for (int tried = 0; at != std::string_view::npos && tried < kMostCandidates;
       at = text.find('{', at + 1)) {
    const std::size_t inside = text.find_first_not_of(" \t\r\n", at + 1);
    if (inside == std::string_view::npos || text[inside] != '"') continue;
    ++tried;
    const std::string_view rest = text.substr(at);
    if (rest.find("\"results\"") == std::string_view::npos &&
        rest.find("\"benchmark\"") == std::string_view::npos)
      return false;
    std::optional<RepairedJson> repaired = repair_json(rest);
    if (!repaired) continue;
    // Reading may fail on what only looks like an object; the words of that failure could quote the
    // file's environment.
    NcclImport found;
    found.place = import.place;
    found.row_word = "result";
    try {
      if (!JsonReader(found).read(parse_json(repaired->text, import.place))) continue;
    } catch (const InputError&) {
      continue;
    }
    import = std::move(found);
    if (repaired->cut)
      import.notes.emplace_back("the JSON is cut: results before the cut are kept");
    return true;
  }
  return false;
}

}  // namespace ddpx::io::nccl
