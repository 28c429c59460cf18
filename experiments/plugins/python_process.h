/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A Python file as a process that answers: one for each process of perp that asks it something, so
 * that each cell of a study has its own. It runs perp.serve of the Python package, which loads the
 * file and waits at the other end of a socket, and ends when that end is closed or the process that
 * started it dies.
 *
 * A request is a head and `size` bytes, and so is the answer; numbers are those of the machine. */
#ifndef PERP_PYTHON_PROCESS_H
#define PERP_PYTHON_PROCESS_H

#include "experiments/study/commands.h"

#include <sys/types.h>

extern const perp_command perp_python_command; /* perp python */

typedef struct perp_python {
  const char *file; /* absolute path */
  pid_t owner, pid; /* who started it, and it; pid 0: nobody has */
  int fd;
  clockid_t clock; /* of its CPU time */
  double memory;   /* bytes of address space that it may take; 0: those of who starts it */
} perp_python;

/* Requests, as serve.py has them. */
typedef enum perp_python_op {
  PERP_PYTHON_DESCRIBE, /* -> JSON: the methods of the file */
  PERP_PYTHON_CREATE,   /* JSON: method, max_n, options -> nothing */
  PERP_PYTHON_SOLVE,    /* a problem -> an answer, see python_solver.c */
  PERP_PYTHON_DESTROY,  /* -> nothing */
  PERP_PYTHON_STEP,     /* a state -> the next one, see python_stepper.c; asks back */
  PERP_PYTHON_CONTACT,  /* an island -> an answer */
  PERP_PYTHON_METRIC,   /* a run -> a number; id: which metric of the file */
  PERP_PYTHON_REPLY     /* to what it asked back */
} perp_python_op;

/* Where the Python package is: of the source tree that the launcher names, installed, of the tree
 * the program was built in.  PERP_ERR_IO with a message; free it. */
perp_status perp_python_home(perp_ctx *ctx, char **home);
/* The environment of a Python that imports this package and finds this library; before exec. */
void perp_python_setenv(const char *home);
/* PERP_PYTHON, or python3. */
const char *perp_python_name(void);

/* Start it where this process has none.  seconds: of patience with its first answer, 0: no end.
 * PERP_ERR_EXTERNAL. */
perp_status perp_python_start(perp_ctx *ctx, perp_python *python, int seconds);
void perp_python_stop(perp_python *python);
/* Parts of a request, in turn.  A Python that has ended is told by perp_python_answer. */
void perp_python_ask(perp_python *python, perp_python_op op, int id, size_t size);
void perp_python_send(perp_python *python, const void *bytes, size_t size);
/* The head of the answer: the size of what follows.  PERP_ERR_EXTERNAL: it raised an exception, or
 * has ended; the message says what and where. */
perp_status perp_python_answer(perp_ctx *ctx, perp_python *python, size_t *size);
/* The same, or a question: *question > 0, which PERP_PYTHON_REPLY answers. */
perp_status perp_python_listen(perp_ctx *ctx, perp_python *python, int *question, size_t *size);
perp_status perp_python_receive(perp_ctx *ctx, perp_python *python, void *bytes, size_t size);
/* CPU seconds that it has taken so far. */
double perp_python_cpu(const perp_python *python);

#endif
