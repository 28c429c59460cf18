/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Methods that are written in Python: what those of all kinds share.  A method is asked over a
 * socket (python_process.h), and what its process spends is charged to the clock of the thread that
 * asked, by the clock of the system and not by its own word. */
#ifndef PERP_PYTHON_METHOD_H
#define PERP_PYTHON_METHOD_H

#include "experiments/plugins/perp.h"
#include "experiments/plugins/python_process.h"

/* Functions of descriptors are not told which they belong to: each has its own. */
/* clang-format off */
enum { PERP_PYTHON_MOST = 16 };
#define PERP_PYTHON_EACH(DO) \
  DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) \
  DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)
/* clang-format on */

/* One method of one file. */
typedef struct perp_python_method {
  perp_python *python;
  int number; /* in its file */
  union {
    perp_desc d; /* the first member of all */
    perp_lcp_desc lcp;
    perp_ode_desc ode;
    perp_contact_desc contact;
    perp_metric_desc metric;
  } desc;
} perp_python_method;
extern perp_python_method perp_python_methods[PERP_PYTHON_MOST];

/* A method at work. */
typedef struct perp_python_work {
  const perp_python_method *method;
  perp_ctx *ctx; /* of create */
  int id, rows;  /* rows: of a contact law, those of a contact */
  bool failed;   /* an integrator that has raised an exception is not asked again */
  double *room;  /* of an integrator */
  perp_contact_observer *observer; /* of a contact law */
  void *user;
} perp_python_work;

/* Create and destroy of all kinds: the options go to the process.  PERP_ERR_NOMEM,
 * PERP_ERR_EXTERNAL. */
perp_status perp_python_create(perp_ctx *ctx, int which, int max_n, const void *opts, void **ws);
void perp_python_destroy(void *ws);

/* Threads ask one after the other: between these calls a thread sends a request and reads what is
 * said to it.  One that answers a question of Python lets others ask meanwhile. */
void perp_python_begin(const perp_python *python);
void perp_python_end(const perp_python *python);

/* The answer of solve(): reason, counts, x [n] and a certificate [n], which may be NULL. */
perp_status perp_python_solution(perp_ctx *ctx, perp_python *python, int n, double *x,
                                 double *certificate, perp_stats *stats);

/* Fill in the functions of the descriptor of perp_python_methods[which]. */
void perp_python_integrator(int which);
void perp_python_law(int which);
void perp_python_metric(int which);

#endif
