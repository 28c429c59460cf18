/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a test sends to forked.c: a header, then texts that end with 0 (folder, words, variables of
 * the environment), and three files. The answer is the id of the process. */
#ifndef PERP_TEST_FORKED_H
#define PERP_TEST_FORKED_H

#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

enum { FORKED_BYTES = 1 << 17 };

typedef struct forked_request {
  uint32_t words, variables;
} forked_request;

typedef union forked_files {
  struct cmsghdr header;
  char bytes[CMSG_SPACE(3 * sizeof(int))];
} forked_files;

static inline struct msghdr forked_message(struct iovec parts[2], forked_files *files)
{
  return (struct msghdr){ .msg_iov = parts,
                          .msg_iovlen = 2,
                          .msg_control = files->bytes,
                          .msg_controllen = sizeof files->bytes };
}

__attribute__((unused)) static int forked_send(int socket, forked_request *request, char *text,
                                               size_t size, const int files[3])
{
  forked_files with = { 0 };
  struct iovec parts[2] = { { request, sizeof *request }, { text, size } };
  struct msghdr m = forked_message(parts, &with);
  struct cmsghdr *c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(3 * sizeof(int));
  memcpy(CMSG_DATA(c), files, 3 * sizeof(int));
  return sendmsg(socket, &m, MSG_NOSIGNAL) == (ssize_t)(sizeof *request + size) ? 0 : -1;
}

__attribute__((unused)) static int forked_receive(int socket, forked_request *request,
                                                  char text[FORKED_BYTES], int files[3])
{
  forked_files with = { 0 };
  struct iovec parts[2] = { { request, sizeof *request }, { text, FORKED_BYTES } };
  struct msghdr m = forked_message(parts, &with);
  if (recvmsg(socket, &m, MSG_CMSG_CLOEXEC) <= 0 || CMSG_FIRSTHDR(&m) == NULL) return -1;
  memcpy(files, CMSG_DATA(CMSG_FIRSTHDR(&m)), 3 * sizeof(int));
  return 0;
}

#endif
