#include "io/nccl_tests_json_repair.hpp"

#include "io/json_value.hpp"

namespace ddpx::io::nccl {
namespace {

constexpr std::string_view kEnvironment = "env";

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

class Repair {
 public:
  explicit Repair(std::string_view text) : in_(text) {}

  std::optional<RepairedJson> run() {
    out_.reserve(in_.size());
    while (at_ < in_.size()) {
      if (!step()) return std::nullopt;
      if (closers_.empty()) return RepairedJson{std::move(out_), false};
    }
    if (safe_closers_.empty()) return std::nullopt;
    out_.resize(safe_size_);
    out_.append(safe_closers_.rbegin(), safe_closers_.rend());
    return RepairedJson{std::move(out_), true};
  }

 private:
  bool step() {
    const char c = in_[at_];
    if (c == '"') {
      const std::string_view key = copy_string();
      if (closers_.size() == 1 && key == kEnvironment) hide_value();
      return true;
    }
    if (c == '{' || c == '[') {
      if (closers_.size() >= kDeepestJson) return false;
      closers_ += c == '{' ? '}' : ']';
    } else if (c == '}' || c == ']') {
      if (closers_.empty() || closers_.back() != c) return false;
      closers_.pop_back();
      out_ += c;
      ++at_;
      safe_size_ = out_.size();
      safe_closers_ = closers_;
      return true;
    } else if (is_letter(c) || (c == '-' && at_ + 1 < in_.size() && is_letter(in_[at_ + 1]))) {
      copy_word();
      return true;
    }
    if (static_cast<unsigned char>(c) >= 0x80 ||
        (static_cast<unsigned char>(c) < 0x20 && !is_blank(c)))
      return false;
    out_ += c;
    ++at_;
    return true;
  }

  // The string without what JSON forbids; its content as given.
  std::string_view copy_string() {
    const std::size_t begin = ++at_;
    out_ += '"';
    while (at_ < in_.size() && in_[at_] != '"') {
      const auto c = static_cast<unsigned char>(in_[at_]);
      if (c == '\\' && at_ + 1 < in_.size()) {
        copy_escape();
        continue;
      }
      out_ += c < 0x20 || c >= 0x80 || c == '\\' ? '?' : static_cast<char>(c);
      ++at_;
    }
    const std::string_view content = in_.substr(begin, at_ - begin);
    if (at_ < in_.size()) ++at_;
    out_ += '"';
    return content;
  }

  void copy_escape() {
    const char escaped = in_[at_ + 1];
    if (std::string_view("\"\\/bfnrt").find(escaped) != std::string_view::npos) {
      out_ += '\\';
      out_ += escaped;
    } else {
      out_ += '?';
    }
    at_ += 2;
  }

  // true, false and null are JSON's; nan, inf and whatever else is no number are null.
  void copy_word() {
    const std::size_t begin = at_;
    if (in_[at_] == '-') ++at_;
    while (at_ < in_.size() && (is_letter(in_[at_]) || in_[at_] == '/')) ++at_;
    const std::string_view word = in_.substr(begin, at_ - begin);
    out_ += word == "true" || word == "false" ? word : "null";
  }

  // Replaces the value behind the key just copied by null.
  void hide_value() {
    std::size_t at = at_;
    while (at < in_.size() && is_blank(in_[at])) ++at;
    if (at >= in_.size() || in_[at] != ':') return;
    ++at;
    std::size_t depth = 0;
    bool inside = false;
    for (; at < in_.size(); ++at) {
      const char c = in_[at];
      if (inside) {
        if (c == '\\') {
          ++at;
        } else if (c == '"') {
          inside = false;
        }
        continue;
      }
      if (c == '"') inside = true;
      if (depth == 0 && (c == ',' || c == '}')) break;
      if (c == '[' || c == '{') ++depth;
      if ((c == ']' || c == '}') && depth > 0) --depth;
    }
    out_ += ":null";
    at_ = at;
  }

  std::string_view in_;
  std::size_t at_ = 0;
  std::string out_;
  std::string closers_;
  std::size_t safe_size_ = 0;
  std::string safe_closers_;
};

}  // namespace

std::optional<RepairedJson> repair_json(std::string_view text) {
  if (!text.starts_with('{')) return std::nullopt;
  return Repair(text).run();
}

}  // namespace ddpx::io::nccl
