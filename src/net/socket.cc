#include "net/socket.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace gangway::net {
namespace {

struct OpenSslDelete {
  void operator()(BIO* p) const { BIO_free(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(SSL_CTX* p) const { SSL_CTX_free(p); }
};
template <class T>
using Owned = std::unique_ptr<T, OpenSslDelete>;

std::string openssl_error() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return "unknown TLS error";
  char text[256];
  ERR_error_string_n(code, text, sizeof text);
  return text;
}

Error tls_error(std::string_view what) {
  return bad_request("TLS: " + std::string(what) + ": " + openssl_error());
}

// OpenSSL's own socket BIO uses write(), which raises SIGPIPE when the peer is gone; ours does not.
int bio_read(BIO* bio, char* data, int size) {
  BIO_clear_retry_flags(bio);
  const auto fd = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  const ssize_t got = ::recv(fd, data, static_cast<std::size_t>(size), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(got);
}

int bio_write(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const auto fd = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  const ssize_t sent = ::send(fd, data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

long bio_control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return 0;
}

const BIO_METHOD* socket_bio() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "gangway socket");
    GW_CHECK(made != nullptr);
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  return method;
}

Owned<BIO> pem_bio(const std::string& pem) {
  return Owned<BIO>(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

Result<void> use_identity(SSL_CTX* context, const sys::TlsIdentity& identity) {
  const auto certificates = pem_bio(identity.certificate_pem);
  const Owned<X509> leaf(PEM_read_bio_X509(certificates.get(), nullptr, nullptr, nullptr));
  if (!leaf) return tls_error("the certificate is not valid PEM");
  if (SSL_CTX_use_certificate(context, leaf.get()) != 1) return tls_error("the certificate cannot be used");
  while (X509* next = PEM_read_bio_X509(certificates.get(), nullptr, nullptr, nullptr))
    SSL_CTX_add0_chain_cert(context, next);
  ERR_clear_error();
  const auto key_bio = pem_bio(identity.key_pem);
  const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, nullptr));
  if (!key) return tls_error("the private key is not valid PEM");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) return tls_error("the private key does not fit the certificate");
  return {};
}

Result<void> trust(SSL_CTX* context, const std::string& ca_pem, bool announce) {
  const auto bio = pem_bio(ca_pem);
  int count = 0;
  while (X509* read = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    const Owned<X509> authority(read);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get());
    if (announce) SSL_CTX_add_client_CA(context, authority.get());
    ++count;
  }
  ERR_clear_error();
  if (count == 0) return bad_request("TLS: the certificate authority is not valid PEM");
  return {};
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                    unsigned int offered_size, void*) {
  static constexpr unsigned char kHttp11[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, kHttp11, sizeof kHttp11, offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

// A bad client certificate is an authentication failure, which the request's answer reports, not a broken handshake.
int accept_for_now(int, X509_STORE_CTX*) {
  return 1;
}

Owned<SSL_CTX> new_context(const SSL_METHOD* method) {
  Owned<SSL_CTX> context(SSL_CTX_new(method));
  if (!context) return nullptr;
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  // Resumption would keep the authentication of a first handshake alive; a P-256 handshake is cheap enough without it.
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET |
                                         SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  // One recv() for a whole record instead of one for its header and one for the rest.
  SSL_CTX_set_read_ahead(context.get(), 1);
  return context;
}

std::string name_entry(const X509_NAME_ENTRY* entry) {
  unsigned char* utf8 = nullptr;
  const int size = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(entry));
  if (size < 0) return {};
  std::string text(reinterpret_cast<const char*>(utf8), static_cast<std::size_t>(size));
  OPENSSL_free(utf8);
  return text;
}

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::for_server(const sys::TlsServerConfig& config) {
  auto context = new_context(TLS_server_method());
  if (!context) return tls_error("no context");
  GW_CHECKED(use_identity(context.get(), config.identity));
  SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
  if (!config.client_ca_pem.empty()) {
    GW_CHECKED(trust(context.get(), config.client_ca_pem, true));
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, accept_for_now);
  }
  return std::shared_ptr<const TlsContext>(new TlsContext(context.release(), true));
}

Result<std::shared_ptr<const TlsContext>> TlsContext::for_client(const sys::TlsClientConfig& config) {
  auto context = new_context(TLS_client_method());
  if (!context) return tls_error("no context");
  if (!config.identity.certificate_pem.empty()) GW_CHECKED(use_identity(context.get(), config.identity));
  if (!config.ca_pem.empty())
    GW_CHECKED(trust(context.get(), config.ca_pem, false));
  else
    SSL_CTX_set_default_verify_paths(context.get());
  SSL_CTX_set_verify(context.get(), config.skip_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  static constexpr unsigned char kHttp11[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  SSL_CTX_set_alpn_protos(context.get(), kHttp11, sizeof kHttp11);
  return std::shared_ptr<const TlsContext>(new TlsContext(context.release(), false));
}

TlsContext::~TlsContext() {
  SSL_CTX_free(context_);
}

Socket::Socket(FileDescriptor fd) : fd_(std::move(fd)) {}

Socket::Socket(FileDescriptor fd, const TlsContext& tls, const std::string& server_name)
    : fd_(std::move(fd)), ssl_(SSL_new(tls.context_)) {
  GW_CHECK(ssl_ != nullptr);
  BIO* bio = BIO_new(socket_bio());
  GW_CHECK(bio != nullptr);
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd_.get())));
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_, bio, bio);
  if (tls.server_) {
    SSL_set_accept_state(ssl_);
    return;
  }
  SSL_set_connect_state(ssl_);
  if (server_name.empty()) return;
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), server_name.c_str()) != 1) {
    SSL_set1_host(ssl_, server_name.c_str());
    SSL_set_tlsext_host_name(ssl_, server_name.c_str());
  }
  ERR_clear_error();
}

Socket::~Socket() {
  SSL_free(ssl_);
}

Socket::Socket(Socket&& other) noexcept
    : fd_(std::move(other.fd_)),
      ssl_(std::exchange(other.ssl_, nullptr)),
      dead_(other.dead_),
      error_(std::move(other.error_)) {}

Socket::Status Socket::failed(int result) {
  const int system_error = errno;
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      return Status::kWantRead;
    case SSL_ERROR_WANT_WRITE:
      return Status::kWantWrite;
    case SSL_ERROR_ZERO_RETURN:
      return Status::kEnd;
    default:
      break;
  }
  dead_ = true;
  // A peer that closes the connection without saying so first is rude, not an error; kubectl on Ctrl-C does it.
  if (ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    ERR_clear_error();
    error_ = "the peer closed the connection";
    return Status::kEnd;
  }
  if (const long verdict = SSL_get_verify_result(ssl_); verdict != X509_V_OK && !SSL_is_init_finished(ssl_))
    error_ = std::string("TLS: the peer's certificate is not accepted: ") + X509_verify_cert_error_string(verdict);
  else if (ERR_peek_last_error() != 0)
    error_ = "TLS: " + openssl_error();
  else
    error_ = system_error != 0 ? std::strerror(system_error) : "the peer closed the connection";
  ERR_clear_error();
  return Status::kFailed;
}

Socket::Status Socket::handshake() {
  if (ssl_ == nullptr) return Status::kOk;
  if (dead_) return Status::kFailed;
  ERR_clear_error();
  errno = 0;
  const int result = SSL_do_handshake(ssl_);
  return result == 1 ? Status::kOk : failed(result);
}

Socket::Io Socket::read(std::span<char> into) {
  if (dead_) return {Status::kFailed, 0};
  if (ssl_ != nullptr) {
    ERR_clear_error();
    errno = 0;
    std::size_t got = 0;
    const int result = SSL_read_ex(ssl_, into.data(), into.size(), &got);
    return result == 1 ? Io{Status::kOk, got} : Io{failed(result), 0};
  }
  const ssize_t got = ::recv(fd_.get(), into.data(), into.size(), 0);
  if (got > 0) return {Status::kOk, static_cast<std::size_t>(got)};
  if (got == 0) return {Status::kEnd, 0};
  if (errno == EAGAIN || errno == EINTR) return {Status::kWantRead, 0};
  dead_ = true;
  error_ = std::strerror(errno);
  return {Status::kFailed, 0};
}

bool Socket::has_buffered() const {
  return ssl_ != nullptr && SSL_has_pending(ssl_) == 1;
}

Socket::Io Socket::write(std::string_view bytes) {
  if (dead_) return {Status::kFailed, 0};
  if (ssl_ != nullptr) {
    ERR_clear_error();
    errno = 0;
    std::size_t sent = 0;
    const int result = SSL_write_ex(ssl_, bytes.data(), bytes.size(), &sent);
    return result == 1 ? Io{Status::kOk, sent} : Io{failed(result), 0};
  }
  const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) return {Status::kOk, static_cast<std::size_t>(sent)};
  if (errno == EAGAIN || errno == EINTR) return {Status::kWantWrite, 0};
  dead_ = true;
  error_ = std::strerror(errno);
  return {Status::kFailed, 0};
}

void Socket::shutdown_write() {
  if (ssl_ != nullptr && !dead_ && SSL_is_init_finished(ssl_) == 1) {
    ERR_clear_error();
    SSL_shutdown(ssl_);
    ERR_clear_error();
  }
  ::shutdown(fd_.get(), SHUT_WR);
}

void Socket::describe_peer(sys::HttpPeer& peer) const {
  if (ssl_ == nullptr) return;
  X509* certificate = SSL_get0_peer_certificate(ssl_);
  if (certificate == nullptr) return;
  if (const long verdict = SSL_get_verify_result(ssl_); verdict != X509_V_OK) {
    peer.certificate_error = X509_verify_cert_error_string(verdict);
    return;
  }
  const X509_NAME* subject = X509_get_subject_name(certificate);
  for (int i = 0; i < X509_NAME_entry_count(subject); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(subject, i);
    const int kind = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
    if (kind == NID_commonName) peer.common_name = name_entry(entry);
    if (kind == NID_organizationName) peer.organizations.push_back(name_entry(entry));
  }
}

std::string Socket::last_error() const {
  return error_;
}

}  // namespace gangway::net
