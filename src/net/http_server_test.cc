// Requests and answers, the limits, and what broken clients do to the server.
#include "net/http_server.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>

#include "net/test_client.h"

namespace gangway::net {
namespace {

using std::chrono::milliseconds;

// Answers with what it got.
void echo(const sys::HttpRequest& request, sys::EventLoop&, const sys::Respond& respond) {
  respond(text_response(request.method + " " + request.target + " [" + request.body + "]"));
}

std::string body_of(const std::string& answer) {
  const auto at = answer.find("\r\n\r\n");
  return at == std::string::npos ? "" : answer.substr(at + 4);
}

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(HttpServer, AnswersAndKeepsTheConnection) {
  TestServer server(echo);
  TestClient client(server.port());
  ASSERT_TRUE(client.send("GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n"));
  const std::string first = client.receive_until("[]");
  EXPECT_TRUE(first.starts_with("HTTP/1.1 200 OK\r\n")) << first;
  EXPECT_NE(first.find("\r\nContent-Length: 13\r\n"), std::string::npos) << first;
  EXPECT_NE(first.find("\r\nDate: "), std::string::npos) << first;
  EXPECT_EQ(body_of(first), "GET /a?b=c []");
  client.forget();
  ASSERT_TRUE(client.send("POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"));
  EXPECT_EQ(body_of(client.receive_until("[hello]")), "POST /p [hello]");
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  TestServer server(echo);
  TestClient client(server.port());
  std::string requests;
  for (int i = 0; i < 500; ++i) requests += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  ASSERT_TRUE(client.send(requests));
  const std::string answers = client.receive_until("GET /499 []");
  std::size_t at = 0;
  for (int i = 0; i < 500; ++i) {
    at = answers.find("GET /" + std::to_string(i) + " []", at);
    ASSERT_NE(at, std::string::npos) << "answer " << i;
  }
  EXPECT_EQ(count(answers, "HTTP/1.1 200"), 500U);
}

TEST(HttpServer, AnswersPipelinedRequestsInOrderWhenTheHandlerIsLate) {
  TestServer server([](const sys::HttpRequest& request, sys::EventLoop& here, const sys::Respond& respond) {
    here.run_after(request.target == "/0" ? milliseconds(20) : milliseconds(0),
                   [respond, target = request.target] { respond(text_response("<" + target + ">")); });
  });
  TestClient client(server.port());
  ASSERT_TRUE(client.send("GET /0 HTTP/1.1\r\nHost: x\r\n\r\nGET /1 HTTP/1.1\r\nHost: x\r\n\r\n"));
  const std::string answers = client.receive_until("</1>");
  EXPECT_LT(answers.find("</0>"), answers.find("</1>"));
}

TEST(HttpServer, TakesARequestByteByByte) {
  TestServer server(echo);
  TestClient client(server.port());
  for (const char c : std::string("PUT /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                                  "3\r\nabc\r\n2;e=1\r\nde\r\n0\r\nHost: evil\r\n\r\n"))
    ASSERT_TRUE(client.send({&c, 1}));
  EXPECT_EQ(body_of(client.receive_until("[abcde]")), "PUT /x [abcde]");
}

TEST(HttpServer, SendsBodiesOfAllSizesWhole) {
  const TestKeys keys = TestKeys::make();
  for (const bool tls : {false, true}) {
    SCOPED_TRACE(tls ? "tls" : "plain");
    std::vector<sys::Buffer> pieces;
    std::string whole;
    for (const std::size_t size : {0, 1, 100, 16383, 16384, 16385, 3, 70000, 5, 1000000, 2})
      for (int i = 0; i < 3; ++i) {
        pieces.push_back(sys::make_buffer(std::string(size, static_cast<char>('a' + pieces.size() % 26))));
        whole += *pieces.back();
      }
    HttpServerOptions options;
    if (tls) options.tls = sys::TlsServerConfig{keys.server, ""};
    TestServer server(
        [&](const sys::HttpRequest&, sys::EventLoop&, const sys::Respond& respond) {
          sys::HttpResponse response;
          response.body = pieces;
          respond(std::move(response));
        },
        options);
    const auto context = TlsContext::for_client({.ca_pem = keys.authority.certificate_pem}).value();
    TestClient client(server.port(), tls ? context.get() : nullptr);
    for (int round = 0; round < 2; ++round) {
      client.forget();
      ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
      const std::string answer = client.receive_until(
          [&](const std::string& all) { return !body_of(all).empty() && body_of(all).size() >= whole.size(); });
      EXPECT_TRUE(body_of(answer) == whole);
    }
  }
}

TEST(HttpServer, AnswersHeadWithTheLengthAndNoBody) {
  TestServer server(echo);
  TestClient client(server.port());
  ASSERT_TRUE(client.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\nGET /next HTTP/1.1\r\nHost: x\r\n\r\n"));
  const std::string answers = client.receive_until("/next");
  EXPECT_NE(answers.find("Content-Length: 9\r\n"), std::string::npos) << answers;
  EXPECT_EQ(answers.find("HEAD / []"), std::string::npos) << answers;
}

TEST(HttpServer, InvitesTheBodyThatAwaitsIt) {
  TestServer server(echo);
  TestClient client(server.port());
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
  EXPECT_EQ(client.receive_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.forget();
  ASSERT_TRUE(client.send("ok"));
  EXPECT_EQ(body_of(client.receive_until("[ok]")), "POST / [ok]");
}

TEST(HttpServer, ClosesWhenAskedTo) {
  TestServer server(echo);
  for (const std::string_view request :
       {"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"}) {
    TestClient client(server.port());
    ASSERT_TRUE(client.send(request));
    const std::string answer = client.receive_until_closed();
    EXPECT_FALSE(client.timed_out());
    EXPECT_NE(answer.find("\r\nConnection: close\r\n"), std::string::npos) << answer;
    EXPECT_EQ(body_of(answer), "GET / []");
  }
}

TEST(HttpServer, AnswersAClientThatHalfCloses) {
  TestServer server(echo);
  TestClient client(server.port());
  ASSERT_TRUE(client.send("GET /half HTTP/1.1\r\nHost: x\r\n\r\n"));
  client.shutdown_write();
  EXPECT_EQ(body_of(client.receive_until_closed()), "GET /half []");
}

TEST(HttpServer, RefusesMalformedRequestsAndCloses) {
  struct Case {
    const char* name;
    std::string request;
  };
  const std::vector<Case> cases = {
      {"no target", "GET\r\n\r\n"},
      {"no version", "GET /\r\n\r\n"},
      {"unknown version", "GET / HTTP/9.9\r\nHost: x\r\n\r\n"},
      {"a TLS handshake", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + "\r\n\r\n"},
      {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
      {"no host", "GET / HTTP/1.1\r\n\r\n"},
      {"header without a colon", "GET / HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n"},
      {"space before the colon", "GET / HTTP/1.1\r\nHost : x\r\n\r\n"},
      {"NUL in a header", std::string("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 28)},
      {"length is not a number", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: five\r\n\r\n"},
      {"negative length", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"},
      {"two lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"},
      {"length and chunks",
       "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"chunks and length",
       "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n"},
      {"chunk size is not a number", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"},
      {"chunk longer than it says",
       "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n"},
      {"huge chunk size", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n"},
  };
  std::atomic<int> handled = 0;
  TestServer server([&](const sys::HttpRequest& request, sys::EventLoop& here, const sys::Respond& respond) {
    ++handled;
    echo(request, here, respond);
  });
  for (const auto& [name, request] : cases) {
    SCOPED_TRACE(name);
    TestClient client(server.port());
    ASSERT_TRUE(client.send(request));
    const std::string answer = client.receive_until_closed();
    EXPECT_FALSE(client.timed_out());
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 Bad Request\r\n")) << answer;
    EXPECT_NE(answer.find(R"("reason":"BadRequest","code":400)"), std::string::npos) << answer;
  }
  EXPECT_EQ(handled, 0);
}

TEST(HttpServer, KeepsItsLimits) {
  struct Case {
    const char* name;
    std::string request;
    int status;
    const char* reason;
  };
  HttpServerOptions options;
  options.limits = {.header_bytes = 4096, .target_bytes = 256, .body_bytes = 1000};
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\n";
  const std::vector<Case> cases = {
      {"long header", head + "A: " + std::string(8000, 'a') + "\r\n\r\n", 431, "BadRequest"},
      {"endless header", head + "A: " + std::string(8000, 'a'), 431, "BadRequest"},
      {"long target", "GET /" + std::string(300, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n", 414, "BadRequest"},
      {"announced body", head + "Content-Length: 1001\r\n\r\n", 413, "RequestEntityTooLarge"},
      {"announced body, not yet sent", head + "Expect: 100-continue\r\nContent-Length: 1001\r\n\r\n", 413,
       "RequestEntityTooLarge"},
      {"huge length", head + "Content-Length: 18446744073709551615\r\n\r\n", 413, "RequestEntityTooLarge"},
      {"chunked body", head + "Transfer-Encoding: chunked\r\n\r\n3e9\r\n" + std::string(1001, 'a') + "\r\n0\r\n\r\n",
       413, "RequestEntityTooLarge"},
      {"many chunks",
       head + "Transfer-Encoding: chunked\r\n\r\n1f4\r\n" + std::string(500, 'a') + "\r\n1f5\r\n" +
           std::string(501, 'a') + "\r\n0\r\n\r\n",
       413, "RequestEntityTooLarge"},
  };
  TestServer server(echo, options);
  for (const auto& [name, request, status, reason] : cases) {
    SCOPED_TRACE(name);
    TestClient client(server.port());
    ASSERT_TRUE(client.send(request));
    const std::string answer = client.receive_until_closed();
    EXPECT_FALSE(client.timed_out());
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 " + std::to_string(status) + " ")) << answer;
    EXPECT_NE(answer.find("\"kind\":\"Status\""), std::string::npos) << answer;
    EXPECT_NE(answer.find("\"reason\":\"" + std::string(reason) + "\""), std::string::npos) << answer;
  }
  TestClient fits(server.port());
  ASSERT_TRUE(fits.send(head + "Content-Length: 1000\r\n\r\n" + std::string(1000, 'a')));
  EXPECT_TRUE(fits.receive_until("]").starts_with("HTTP/1.1 200"));
}

TEST(HttpServer, TheRefusalOfALargeBodyArrivesWhileItIsStillBeingSent) {
  TestServer server(echo);
  TestClient client(server.port());
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n"));
  EXPECT_TRUE(client.send(std::string(10000000, 'a')));
  EXPECT_TRUE(client.receive_until("\"code\":413").starts_with("HTTP/1.1 413 "));
}

TEST(HttpServer, ClosesConnectionsThatDoNothing) {
  const TestKeys keys = TestKeys::make();
  struct Case {
    const char* name;
    bool tls;
    const char* sent;
    void (*shorten)(HttpServerOptions&);
  };
  const Case cases[] = {
      {"no handshake", true, "", [](HttpServerOptions& o) { o.handshake_timeout = milliseconds(50); }},
      {"half a handshake", true, "\x16\x03\x01", [](HttpServerOptions& o) { o.handshake_timeout = milliseconds(50); }},
      {"no request", false, "", [](HttpServerOptions& o) { o.header_timeout = milliseconds(50); }},
      {"half a header", false, "GET / HT", [](HttpServerOptions& o) { o.header_timeout = milliseconds(50); }},
      {"half a body", false, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab",
       [](HttpServerOptions& o) { o.body_timeout = milliseconds(50); }},
      {"no second request", false, "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
       [](HttpServerOptions& o) { o.idle_timeout = milliseconds(50); }},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    HttpServerOptions options;
    if (test.tls) options.tls = sys::TlsServerConfig{keys.server, ""};
    test.shorten(options);
    TestServer server(echo, options);
    TestClient client(server.port());
    ASSERT_TRUE(client.send(test.sent));
    client.receive_until_closed();
    EXPECT_FALSE(client.timed_out());
    EXPECT_TRUE(wait_until([&] { return server.server().connections() == 0; }));
  }
}

TEST(HttpServer, TurnsConnectionsAwayWhenItIsFull) {
  HttpServerOptions options;
  options.max_connections = 3;
  TestServer server(echo, options);
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<TestClient>(server.port()));
    ASSERT_TRUE(clients.back()->send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    clients.back()->receive_until("[]");
  }
  TestClient one_too_many(server.port());
  EXPECT_TRUE(one_too_many.receive_until_closed().starts_with("HTTP/1.1 503 "));
  clients.pop_back();
  ASSERT_TRUE(wait_until([&] { return server.server().connections() == 2; }));
  TestClient fits_again(server.port());
  ASSERT_TRUE(fits_again.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_TRUE(fits_again.receive_until("[]").starts_with("HTTP/1.1 200 "));
}

TEST(HttpServer, AHandlerThatFailsOrForgetsGetsItsClientAn500) {
  TestServer server([](const sys::HttpRequest& request, sys::EventLoop&, const sys::Respond& respond) {
    if (request.target == "/throws") std::vector<int>().at(1);
    if (request.target == "/forgets") return;
    respond(text_response("fine"));
    respond(text_response("a second answer"));
  });
  TestClient client(server.port());
  for (const std::string target : {"/throws", "/forgets"}) {
    client.forget();
    ASSERT_TRUE(client.send("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n"));
    const std::string answer = client.receive_until("\"code\":500}\n");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 500 Internal Server Error\r\n")) << answer;
  }
  client.forget();
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  EXPECT_EQ(body_of(client.receive_until_closed()), "fine");
}

TEST(HttpServer, HeadersCannotSmuggleLines) {
  TestServer server([](const sys::HttpRequest&, sys::EventLoop&, const sys::Respond& respond) {
    sys::HttpResponse response = text_response("x");
    response.headers.add("Location", "/a\r\nSet-Cookie: stolen");
    respond(std::move(response));
  });
  TestClient client(server.port());
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ(client.receive_until("\r\n\r\n").find("\nSet-Cookie"), std::string::npos);
}

TEST(HttpServer, KnowsItsClientsByTheirCertificates) {
  const TestKeys keys = TestKeys::make();
  const TestKeys others = TestKeys::make();
  HttpServerOptions options;
  options.tls = sys::TlsServerConfig{keys.server, keys.authority.certificate_pem};
  TestServer server(
      [](const sys::HttpRequest& request, sys::EventLoop&, const sys::Respond& respond) {
        std::string who = request.peer.common_name + "|";
        for (const auto& group : request.peer.organizations) who += group + ",";
        respond(text_response(who + (request.peer.certificate_error.empty() ? "|" : "|refused") + "|end"));
      },
      options);
  struct Case {
    const char* name;
    sys::TlsIdentity identity;
    const char* want;
  };
  for (const auto& [name, identity, want] :
       {Case{"none", {}, "|||end"}, Case{"ours", keys.client, "alice|dev,ops,||end"},
        Case{"of another authority", others.client, "||refused|end"},
        Case{"a server's", keys.server, "||refused|end"}}) {
    SCOPED_TRACE(name);
    const auto context =
        TlsContext::for_client({.ca_pem = keys.authority.certificate_pem, .identity = identity}).value();
    TestClient client(server.port(), context.get());
    ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    EXPECT_EQ(body_of(client.receive_until("|end")), want);
  }
}

// Each client trusts one authority only, so that it sees which identity the server has.
TEST(HttpServer, TakesANewIdentityWhileConnectionsAreOpen) {
  const TestKeys before = TestKeys::make();
  const TestKeys after = TestKeys::make();
  HttpServerOptions options;
  options.tls = sys::TlsServerConfig{before.server, ""};
  TestServer server(
      [](const sys::HttpRequest&, sys::EventLoop&, const sys::Respond& respond) { respond(text_response("|end")); },
      options);
  const auto trusting = [](const TestKeys& keys) {
    return TlsContext::for_client({.ca_pem = keys.authority.certificate_pem}).value();
  };
  const auto old_trust = trusting(before);
  const auto new_trust = trusting(after);
  const auto answered = [](TestClient& client) {
    return client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n") &&
           client.receive_until("|end").find("|end") != std::string::npos;
  };
  TestClient open_before(server.port(), old_trust.get());
  ASSERT_TRUE(answered(open_before));
  EXPECT_FALSE(server.server().renew_identity({{"no certificate", "no key"}, ""}));
  ASSERT_TRUE(server.server().renew_identity({after.server, ""}));
  // The loops learn of it one after the other.
  ASSERT_TRUE(wait_until([&] {
    TestClient one(server.port(), new_trust.get());
    TestClient other(server.port(), new_trust.get());
    return answered(one) && answered(other);
  }));
  EXPECT_TRUE(answered(open_before));
  TestClient mistrusting(server.port(), old_trust.get());
  EXPECT_FALSE(answered(mistrusting));
}

TEST(HttpServer, SurvivesAnyBytes) {
  HttpServerOptions options;
  options.linger_timeout = milliseconds(20);
  TestServer server(echo, options);
  const std::vector<std::string> words = {"GET ",
                                          "POST ",
                                          "/",
                                          " HTTP/1.1\r\n",
                                          "Host: x\r\n",
                                          "\r\n",
                                          "Content-Length: ",
                                          "5",
                                          "0",
                                          "\r\n\r\n",
                                          "Transfer-Encoding: chunked\r\n",
                                          "Expect: 100-continue\r\n",
                                          "Upgrade: websocket\r\n",
                                          "Connection: upgrade\r\n",
                                          ":",
                                          " "};
  EXPECT_TRUE(rc::check("a broken connection hurts nobody else", [&] {
    const auto pieces = *rc::gen::container<std::vector<std::string>>(
        rc::gen::oneOf(rc::gen::elementOf(words), rc::gen::string<std::string>()));
    std::string bytes;
    for (const auto& piece : pieces) bytes += piece;
    {
      TestClient broken(server.port());
      broken.send(bytes);
      broken.shutdown_write();
      broken.receive_until_closed();
      RC_ASSERT(!broken.timed_out());
    }
    TestClient healthy(server.port());
    RC_ASSERT(healthy.send("GET /ok HTTP/1.1\r\nHost: x\r\n\r\n"));
    RC_ASSERT(healthy.receive_until("/ok []").starts_with("HTTP/1.1 200 "));
  }));
}

TEST(HttpServer, ListensOnMoreAddressesThanTheMachineHasYet) {
  HttpServerOptions options;
  options.address = "127.0.0.2";
  options.more_addresses = {"203.0.113.5", "127.0.0.1"};  // the first is nobody's
  TestServer server(echo, options);
  TestClient client(server.port());  // at 127.0.0.1
  ASSERT_TRUE(client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ(body_of(client.receive_until("[]")), "GET /a []");
  server.stop();
  TestClient late(server.port());
  EXPECT_FALSE(late.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")) << "still listening";
}

TEST(HttpServer, SaysWhyItCannotListen) {
  TestServer server(echo);
  LoopThread thread("other");
  FunctionHandler handler(echo);
  HttpServerOptions options;
  options.port = server.port();
  const auto second = HttpServer::start(options, {&thread.loop()}, handler);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("Address already in use"), std::string::npos) << second.error().message;
  options.address = "not an address";
  EXPECT_FALSE(HttpServer::start(options, {&thread.loop()}, handler));
}

}  // namespace
}  // namespace gangway::net
