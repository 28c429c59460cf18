/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the program that starts a command and the library inside of it share: one page of a file
 * that both map.  Counts are those of all processes of the command together. */
#ifndef PERP_TESTS_FAULTS_H
#define PERP_TESTS_FAULTS_H

#include <stdatomic.h>

/* This close() says that the libraries of a process are loaded: what fails before is no fault. */
#define FAULTS_READY (-0x706572)

typedef struct faults_page {
  atomic_long allocations; /* so far */
  long fail;               /* the number of the one that fails, from 1; 0: none */
  atomic_int hit;          /* it has failed */
} faults_page;

#endif
