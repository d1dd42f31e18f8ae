#include "net/http_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <limits>
#include <optional>
#include <utility>

namespace gangway::net {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using beast::error_code;

// What a request's body may reserve before its bytes arrive.
constexpr std::uint64_t kReserve = 256 * 1024;

std::string to_std(beast::string_view text) {
  return {text.data(), text.size()};
}

bool contains_token(std::string_view list, std::string_view lower_token) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::search(list.begin(), list.end(), lower_token.begin(), lower_token.end(),
                     [&](char a, char b) { return lower(a) == b; }) != list.end();
}

// Beast calls back while it parses; this collects the request.
class RequestCollector final : public http::basic_parser<true> {
 public:
  explicit RequestCollector(const HttpLimits& limits) : limits_(limits) {
    eager(true);
    header_limit(static_cast<std::uint32_t>(
        std::min<std::size_t>(limits.header_bytes, std::numeric_limits<std::uint32_t>::max())));
    body_limit(limits.body_bytes);
  }

  sys::HttpRequest request;
  bool header_complete = false;
  bool target_too_long = false;
  bool http_1_0 = false;

 private:
  void on_request_impl(http::verb, beast::string_view method, beast::string_view target, int version,
                       error_code& ec) override {
    http_1_0 = version < 11;
    if (target.size() > limits_.target_bytes) {
      target_too_long = true;
      ec = http::error::header_limit;
      return;
    }
    request.method = to_std(method);
    request.target = to_std(target);
  }
  void on_response_impl(int, beast::string_view, int, error_code&) override {}
  void on_field_impl(http::field, beast::string_view name, beast::string_view value, error_code&) override {
    // Fields after a chunked body could otherwise overrule those that were acted on.
    if (!header_complete) request.headers.add(to_std(name), to_std(value));
  }
  void on_header_impl(error_code&) override { header_complete = true; }
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code&) override {
    if (length) request.body.reserve(static_cast<std::size_t>(std::min(*length, kReserve)));
  }
  std::size_t on_body_impl(beast::string_view body, error_code&) override {
    request.body.append(body.data(), body.size());
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t, beast::string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view body, error_code&) override {
    request.body.append(body.data(), body.size());
    return body.size();
  }
  void on_finish_impl(error_code&) override {}

  const HttpLimits& limits_;
};

class ResponseCollector final : public http::basic_parser<false> {
 public:
  explicit ResponseCollector(const ResponseParser::OnBody& on_body) : on_body_(on_body) {
    eager(true);
    header_limit(1024 * 1024);
    body_limit(boost::none);
  }

  int status = 0;
  sys::HttpHeaders headers;
  bool header_complete = false;

 private:
  void on_request_impl(http::verb, beast::string_view, beast::string_view, int, error_code&) override {}
  void on_response_impl(int code, beast::string_view, int, error_code&) override { status = code; }
  void on_field_impl(http::field, beast::string_view name, beast::string_view value, error_code&) override {
    if (!header_complete) headers.add(to_std(name), to_std(value));
  }
  void on_header_impl(error_code&) override { header_complete = true; }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(beast::string_view body, error_code&) override {
    on_body_({body.data(), body.size()});
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t, beast::string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view body, error_code&) override {
    on_body_({body.data(), body.size()});
    return body.size();
  }
  void on_finish_impl(error_code&) override {}

  const ResponseParser::OnBody& on_body_;
};

// Feeds until the message is complete, broken, or needs bytes that are not there.
template <class Parser>
ParseProgress feed_parser(Parser& parser, std::string_view bytes, error_code& ec) {
  std::size_t used = 0;
  ec = {};
  while (!parser.is_done() && used < bytes.size()) {
    used += parser.put(boost::asio::buffer(bytes.data() + used, bytes.size() - used), ec);
    if (ec == http::error::need_more) {
      ec = {};
      break;
    }
    if (ec) return {ParseState::kBad, used};
  }
  return {parser.is_done() ? ParseState::kDone : ParseState::kNeedMore, used};
}

}  // namespace

class RequestParser::Impl {
 public:
  explicit Impl(const HttpLimits& limits_given) : limits(limits_given) { reset(); }
  void reset() {
    collector.emplace(limits);
    status = 0;
    message.clear();
  }
  void explain(const error_code& ec) {
    if (collector->target_too_long) {
      status = 414;
      message = "the request's target is longer than " + std::to_string(limits.target_bytes) + " bytes";
    } else if (ec == http::error::header_limit) {
      status = 431;
      message = "the request's header is larger than " + std::to_string(limits.header_bytes) + " bytes";
    } else if (ec == http::error::body_limit) {
      status = 413;
      message = "Request entity too large: limit is " + std::to_string(limits.body_bytes);
    } else {
      status = 400;
      message = "malformed HTTP request: " + ec.message();
    }
  }

  const HttpLimits limits;
  std::optional<RequestCollector> collector;
  int status = 0;
  std::string message;
};

RequestParser::RequestParser(const HttpLimits& limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestParser::~RequestParser() = default;

ParseProgress RequestParser::feed(std::string_view bytes) {
  error_code ec;
  const ParseProgress progress = feed_parser(*impl_->collector, bytes, ec);
  if (progress.state == ParseState::kBad) impl_->explain(ec);
  return progress;
}

void RequestParser::reset() {
  impl_->reset();
}
bool RequestParser::header_done() const {
  return impl_->collector->header_complete;
}
bool RequestParser::keep_alive() const {
  return impl_->collector->keep_alive();
}
bool RequestParser::http_1_0() const {
  return impl_->collector->http_1_0;
}
bool RequestParser::expects_continue() const {
  return !http_1_0() && contains_token(impl_->collector->request.headers.get("Expect"), "100-continue");
}
sys::HttpRequest RequestParser::take() {
  return std::move(impl_->collector->request);
}
int RequestParser::error_status() const {
  return impl_->status;
}
const std::string& RequestParser::error_message() const {
  return impl_->message;
}

class ResponseParser::Impl {
 public:
  explicit Impl(OnBody callback) : on_body(std::move(callback)) { collector.emplace(on_body); }
  OnBody on_body;
  std::optional<ResponseCollector> collector;
  std::string message;
};

ResponseParser::ResponseParser(OnBody on_body) : impl_(std::make_unique<Impl>(std::move(on_body))) {}
ResponseParser::~ResponseParser() = default;

ParseProgress ResponseParser::feed(std::string_view bytes) {
  error_code ec;
  const ParseProgress progress = feed_parser(*impl_->collector, bytes, ec);
  if (progress.state == ParseState::kBad) impl_->message = "malformed HTTP response: " + ec.message();
  return progress;
}

ParseState ResponseParser::end_of_input() {
  error_code ec;
  if (impl_->collector->header_complete && !impl_->collector->is_done()) impl_->collector->put_eof(ec);
  if (!ec && impl_->collector->is_done()) return ParseState::kDone;
  impl_->message = "the connection ended in the middle of the response";
  return ParseState::kBad;
}

void ResponseParser::reset(bool no_body) {
  impl_->collector.emplace(impl_->on_body);
  impl_->collector->skip(no_body);
  impl_->message.clear();
}

bool ResponseParser::header_done() const {
  return impl_->collector->header_complete;
}
bool ResponseParser::keep_alive() const {
  return impl_->collector->keep_alive();
}
int ResponseParser::status() const {
  return impl_->collector->status;
}
sys::HttpHeaders& ResponseParser::headers() {
  return impl_->collector->headers;
}
const std::string& ResponseParser::error_message() const {
  return impl_->message;
}

}  // namespace gangway::net
