/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What formulations need to differentiate their steps (gradient.h): columns, states beside the one
 * at hand, and the linear system of a step.  Formulations say what their equations are. */
#ifndef PERP_DERIVATIVE_H
#define PERP_DERIVATIVE_H

#include "models/stepping/constrained.h"
#include "models/stepping/gradient.h"

enum { PERP_DERIVATIVE_POINTS = 4 }; /* of a central difference of order 4 */
extern const double perp_derivative_at[PERP_DERIVATIVE_POINTS];
extern const double perp_derivative_weight[PERP_DERIVATIVE_POINTS];

typedef struct perp_derivative_rows perp_derivative_rows;

typedef struct perp_derivative {
  const perp_model *model; /* that of the formulation */
  int n;                   /* columns */
  const perp_gradient_wrt *wrt;
  const bool *held;
  double *dq, *dv; /* [nv n] of the current state */
  /* the step that was made: its start, where dq and dv are on entry, and its end */
  double t, *q, *v;
  double t_end;
  const double *q_end, *v_end;
  /* out: of the step */
  perp_gradient_verdict verdict;
  perp_gradient_side *side; /* [n] */
  perp_gradient_row *row;
  int n_rows, rows_cap, active;
  /* of this file */
  perp_model varied; /* shallow copy of the model with the parameter of a column moved */
  perp_inertia *inertia;
  perp_drive_def *drive;
  double length;          /* m, of the smallest body: what a difference moves is a part of it */
  double speed;           /* m/s, of the motion at hand */
  double *q_at, *rate_at; /* [nq] beside a state */
  double *v_at, *x_at;    /* [nv] */
  double *r, *rho;        /* residuals, see perp_derivative_solve */
  double *x;              /* [nv n] answer of it */
  double *margin;         /* [margins n] */
  double *lambda, *zeros; /* [m] */
  double *sum;            /* [nv] */
  double *peak; /* [n] how much a column has moved at most, over what a difference of it moves: what
                   is far below that is rounding */
  perp_derivative_rows *rows;
  perp_arena arena, grown;
  int room, margin_room;
  /* of the formulation */
  void *own;
  void (*own_destroy)(void *own);
} perp_derivative;

/* What a formulation does; a member of its descriptor. */
struct perp_derivative_calls {
  /* PERP_ERR_UNSUPPORTED: not with these methods, options, elements; the message says which do. May
   * set d->own.  After it failed own_destroy is called. */
  perp_status (*create)(perp_ctx *ctx, void *ws, perp_derivative *d);
  /* The columns of the current state (d->t, d->q, d->v) are new.  NULL: nothing to do. */
  perp_status (*reset)(perp_ctx *ctx, void *ws, perp_derivative *d);
  /* They were given anew (perp_gradient_seed).  NULL: nothing to do. */
  perp_status (*seed)(perp_ctx *ctx, void *ws, perp_derivative *d);
  /* A step is about to be made.  NULL: nothing to do. */
  void (*before)(void *ws, perp_derivative *d);
  /* It was made: dq and dv become those of its end. */
  perp_status (*step)(perp_ctx *ctx, void *ws, perp_derivative *d);
};

/* The formulation of a simulation, its workspace and the model as it sees it; NULL: an engine.
 * switched: joints are released or bodies disabled on the way. */
const perp_formulation_desc *perp_sim_formulation(const perp_sim *sim, void **ws,
                                                  const perp_model **model, bool *switched);

/* ---- columns ---- */

/* Is column j a parameter that acts?  Its kind and index. */
bool perp_derivative_acts(const perp_derivative *d, int j, perp_gradient_kind kind);
/* eps for column j with dq, dv [nv] (NULL: zero): the state moves by about a thousandth of its
 * size. 0: nothing moves. */
double perp_derivative_eps(const perp_derivative *d, int j, const double *dq, const double *dv);
/* The model with the parameter of column j moved by eps: masses, gravity and targets; until the
 * next call.  Friction and forces are up to the caller. */
const perp_model *perp_derivative_model(perp_derivative *d, int j, double eps);
/* dq [nv] becomes the derivative of q [+] h x, or with `numbers` of q + h N(q) x brought to unit
 * quaternions, along dq and dx, in tangent coordinates at q_end. */
void perp_derivative_move(perp_derivative *d, bool numbers, const double *q, double h,
                          const double *x, const double *dx, const double *q_end, double *dq);
/* A row at a kink; margins [n]: its derivative by each column, positive: towards where the
 * derivative holds.  NULL: holds on neither side. */
perp_status perp_derivative_kink(perp_ctx *ctx, perp_derivative *d, const perp_gradient_row *row,
                                 const double *margins);
/* The same of sides that were set already. */
perp_status perp_derivative_note(perp_ctx *ctx, perp_derivative *d, perp_gradient_row row,
                                 bool acts);
void perp_derivative_worse(perp_derivative *d, perp_gradient_verdict verdict);

/* ---- one linear system ---- */

/* Unknowns beside x and lambda: mu [n], with
 *
 *      M dx = J' dlambda + G dmu - rho_1,   J dx + S dlambda = -rho_2,   B' dx + D dmu = -rho_3
 *
 * and what is asked of the answer, margins = rho_4 + Bm' dx + Dm' dmu. */
struct perp_derivative_rows {
  int n, margins;
  double *G, *B;      /* [nv n] */
  double *D;          /* [n n] */
  double *Bm, *Dm;    /* [nv margins], [n margins] */
  double *unit;       /* [margins] a natural size of each */
  double *Y, *A, *LU; /* [nv n], [n n] */
  double *scale;      /* [2 n] of rows and columns of A */
  double *sigma, *U, *V, *work;
  int *pivot;
  double *mu; /* [n] */
  bool deficient;
};
/* Room for n rows and so many margins, all zero. */
perp_status perp_derivative_room(perp_ctx *ctx, perp_derivative *d, int n, int margins);

/* The equations of a stage at a state beside it, with its unknowns held: r_1 [nv], r_2 [m], r_3
 * [n], r_4 [margins] in a row, all zero before.  model: with the parameter of column j moved by
 * eps. */
typedef void perp_derivative_residual(void *user, const perp_model *model, int j, double eps,
                                      const double *q, const double *v, double *r);

typedef struct perp_derivative_stage {
  perp_constrained *k;   /* evaluated and factored at the state */
  const double *q, *v;   /* the state, */
  const double *dq, *dv; /* [nv n] and its columns */
  bool flat;             /* numbers of q and v themselves: dq [nq n] */
  perp_derivative_residual *residual;
  void *user;
} perp_derivative_stage;
/* d->x and d->margin of all columns.  False: k says why there is no answer.  Verdicts of redundant
 * rows are noted. */
bool perp_derivative_solve(perp_ctx *ctx, perp_derivative *d, const perp_derivative_stage *stage,
                           perp_status *status);

#endif
