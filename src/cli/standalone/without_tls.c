/*
 * without_tls.c - the functions of GnuTLS that libmicrohttpd refers to, in a standalone allo.
 *
 * Debian has no static library of GnuTLS that could be linked, and allo serves plain HTTP only:
 * libmicrohttpd calls none of them but the first two, when it is initialised and at the end.
 */
#include <stddef.h>

int gnutls_global_init(void);
void gnutls_global_deinit(void);

int gnutls_global_init(void)
{
	return 0;
}

void gnutls_global_deinit(void)
{
}

/* Fails, whatever its arguments. */
#define UNUSED(name)                                                                               \
	int gnutls_##name(void);                                                                   \
	int gnutls_##name(void)                                                                    \
	{                                                                                          \
		return -1;                                                                         \
	}

UNUSED(alpn_set_protocols)
UNUSED(bye)
UNUSED(certificate_allocate_credentials)
UNUSED(certificate_free_credentials)
UNUSED(certificate_server_set_request)
UNUSED(certificate_set_dh_params)
UNUSED(certificate_set_retrieve_function2)
UNUSED(certificate_set_retrieve_function3)
UNUSED(certificate_set_x509_key_mem)
UNUSED(certificate_set_x509_key_mem2)
UNUSED(certificate_set_x509_trust_mem)
UNUSED(cipher_get)
UNUSED(credentials_set)
UNUSED(deinit)
UNUSED(dh_params_deinit)
UNUSED(dh_params_import_pkcs3)
UNUSED(dh_params_init)
UNUSED(handshake)
UNUSED(init)
UNUSED(priority_deinit)
UNUSED(priority_init)
UNUSED(priority_set)
UNUSED(protocol_get_version)
UNUSED(psk_allocate_server_credentials)
UNUSED(psk_free_server_credentials)
UNUSED(psk_set_server_credentials_function)
UNUSED(record_check_pending)
UNUSED(record_get_direction)
UNUSED(record_recv)
UNUSED(record_send)
UNUSED(session_get_ptr)
UNUSED(session_set_ptr)
UNUSED(strerror)
UNUSED(transport_set_int2)

/* A pointer to a function there. */
extern void *(*gnutls_malloc)(size_t size);
void *(*gnutls_malloc)(size_t size);
