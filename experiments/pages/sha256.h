/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SHA-256 (FIPS 180-4), for the hashes of a page's content security policy. */
#ifndef PERP_SHA256_H
#define PERP_SHA256_H

#include <stddef.h>

/* The digest of n bytes in base64; free it. */
char *perp_sha256_base64(const void *bytes, size_t n);

#endif
