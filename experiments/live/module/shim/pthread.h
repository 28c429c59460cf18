/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The WebAssembly module has one thread. */
#ifndef PTHREAD_ONE_H
#define PTHREAD_ONE_H

typedef int pthread_mutex_t;
#define PTHREAD_MUTEX_INITIALIZER 0
static inline int pthread_mutex_lock(pthread_mutex_t *mutex)
{
  (void)mutex;
  return 0;
}
static inline int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
  (void)mutex;
  return 0;
}
static inline int pthread_mutex_init(pthread_mutex_t *mutex, const void *how)
{
  (void)mutex, (void)how;
  return 0;
}
static inline int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
  (void)mutex;
  return 0;
}

#endif
