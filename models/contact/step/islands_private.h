/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside islands*.c: the arrays that all islands share. */
#ifndef PERP_ISLANDS_PRIVATE_H
#define PERP_ISLANDS_PRIVATE_H

#include "models/contact/step/islands.h"
#include "solvers/lcp/unique.h"

enum { JOINT_ROWS = 6 };

/* What one thread has of its own. */
typedef struct lane {
  perp_ctx ctx;
  void *ws;
  perp_contact_count count;
  struct islands_choice *choice; /* NULL: none, or a law without friction */
} lane;

/* What an island has.  The contacts of island i are the places first[CONTACTS] of start[i] to that
 * of start[i + 1] in the order of all islands, and so on. */
enum { CONTACTS, BODIES, JOINTS, BOUNDED, PARTS };
typedef struct island {
  int first[PARTS];
  int joint_rows; /* free rows of all islands before */
  int joint_subs; /* their sub-matrices, and the numbers in these */
  int couples,
      couple_rows; /* contacts with couples, and the rows of these, of all islands before */
  size_t joint_numbers;
  size_t dense;   /* where its matrix starts in A */
  bool eliminate; /* its joints: the problem is dense */
  bool solved;    /* its guess was not the answer */
  bool none;      /* it was shown to have no solution */
} island;

/* What is known of the solutions of an island: see islands_choice.c. */
typedef struct island_known {
  uint64_t ids, key;  /* contacts; with what they did */
  bool slides;        /* one of them did */
  bool open;          /* impulses are not unique */
  bool alone;         /* no second solution was found with these contacts */
  bool several;       /* one was found in the run */
  unsigned vain;      /* examinations without one */
  double work, spent; /* multiplications: of the solver, and of second solutions */
} island_known;

/* Factors of the equations of frozen contacts, islands_factor.c. */
enum { ISLAND_FACTORS = 5 }; /* the first one for what is not kept */
typedef struct island_factor {
  uint64_t key;
  int64_t used; /* in this call of perp_islands_solve */
  int n, rank;  /* n: 0 = none */
  double *A, *tau_q, *tau_z;
  int *pivot;
} island_factor;

struct perp_islands {
  const perp_model *model;
  const perp_contact_desc *kind;
  int r; /* rows of a contact */
  bool rows;
  bool couples; /* surfaces resist spinning or rolling */
  int threads;
  lane *lanes;
  perp_contact_count count;
  perp_contact_observer *observer; /* NULL: none */
  void *user;
  double tol, tol_data; /* of a solution, see contact.h */
  int64_t calls;        /* of perp_islands_solve */
  /* of fixed size */
  int *joint_root;     /* [bodies] representative by joints alone */
  int *joint_body;     /* [joints] a moving body of it */
  bool *jointed;       /* [bodies] has a joint */
  unsigned char *diag; /* [bodies] by island: is M_b^-1 diagonal? */
  double *mass;        /* [bodies] kg */
  island_known
      *known;      /* [bodies] by the first body of an island: not of a lane, which islands share */
  int *mass_place; /* [bodies] whose M_b stands there, by island; -1: none */
  int *parent;     /* [bodies] */
  int *island_of;  /* [bodies] -1: of none */
  int *local;      /* [bodies] place in its island */
  int *bodies;     /* [bodies] by island */
  int *joints;     /* [joints] by island */
  int *bounded;    /* [max_bounded] bounded rows by island */
  int *bounded_body;       /* [max_bounded] a moving body of each */
  island *start;           /* [bodies + 1] */
  int *cursor;             /* [bodies + 1] */
  int *bptr, *mptr, *tptr; /* [2 bodies + 1] */
  double *M, *Minv, *flat; /* by island, see blocks.h */
  double *v_star;          /* [nv] M^-1 f, for joints as rows */
  double *twist_star;      /* [6 bodies] of it */
  double *twist_end;       /* [6 bodies] at the end of the step */
  double *f, *a;           /* [nv] response */
  double *zero, *lambda;   /* [m] */
  double *product;         /* [2 nv] by island */
  int n_islands;
  int max_bounded; /* bounded rows at most */
  /* by the number of contacts n */
  int cap;
  double *scratch;              /* [4 n] */
  int *owner;                   /* [n] a moving body, -1: the contact does not take part */
  int *order;                   /* [n] contact at each place */
  double *frame;                /* [6 n] t1, t2 */
  double *b, *x, *s, *diagonal; /* [r n + m + bounded], the last of A */
  double *mu, *slip;            /* [n] */
  /* [n] and the least impulse of decompression, or (laws of one contact) the normal velocity before
   * the step */
  double *restitution, *least;
  /* with couples: [further] see contact.h, and [n] of the contacts, m */
  int *row_of;
  double *row_mu, *torsion, *rolling;
  signed char *row_pair;
  double *drag;              /* [2 n] friction of sliding contacts, see contact.h */
  double *b_decompression;   /* [(r + 1) n + m + bounded] */
  double *x_decompression;   /* [r n + m + bounded] */
  double *row_lo, *row_hi;   /* [m + bounded] of the rows that are no contacts */
  double *left_lo, *left_hi; /* [m + bounded] what compression leaves of them */
  double *J;
  int *cptr, *jptr, *joff, *jblk, *jgrp, *tsub;
  perp_arena grown;
  double *A; /* matrices of eliminated islands */
  size_t cap_A;
  perp_arena frozen_grown; /* of islands_frozen.c, by the rows of the largest island */
  int cap_frozen, lwork;
  double *frozen_b, *frozen_work; /* [4 rows], [lwork] */
  int *frozen_row;                /* [rows] */
  island_factor factor[ISLAND_FACTORS];
};

/* One call, for the members of a team. */
typedef struct islands_job {
  perp_islands *s;
  const perp_constrained *k;
  const perp_island_task *task;
  double *f;
} islands_job;

/* How many contacts, bodies, joints or bounded rows has island i? */
static inline int islands_number(const perp_islands *s, int i, int part)
{
  return s->start[i + 1].first[part] - s->start[i].first[part];
}

/* A moving body of a contact or a row. */
static inline int islands_moving(const int body[2])
{
  return body[0] >= 0 ? body[0] : body[1];
}

/* Rows that are no contacts: of all islands before i, and of island i. */
static inline size_t islands_first_further(const perp_islands *s, int i)
{
  const island *p = &s->start[i];
  return (size_t)p->joint_rows + (size_t)p->first[BOUNDED] + (size_t)p->couple_rows;
}
static inline int islands_further(const perp_islands *s, int i)
{
  return (int)(islands_first_further(s, i + 1) - islands_first_further(s, i));
}

static inline size_t islands_first_row(const perp_islands *s, int i)
{
  return (size_t)s->r * (size_t)s->start[i].first[CONTACTS] + islands_first_further(s, i);
}

/* Contacts, joints, bounded rows and couples of all islands before. */
static inline int islands_first_group(const perp_islands *s, int i)
{
  const int *first = s->start[i].first;
  return first[CONTACTS] + first[JOINTS] + first[BOUNDED] + s->start[i].couples;
}

/* Room for the sub-matrices of all islands before. */
static inline int islands_first_sub(const perp_islands *s, int i)
{
  const int *first = s->start[i].first;
  return 2 * (first[CONTACTS] + first[BOUNDED] + s->start[i].couples) + s->start[i].joint_subs;
}

/* The block structure of island i in the shared arrays. */
static inline perp_blocks islands_blocks(const perp_islands *s, int i, bool soft)
{
  const island *p = &s->start[i];
  const size_t nvb = (size_t)s->model->nvb, square = nvb * nvb, body = (size_t)p->first[BODIES];
  const int nb = islands_number(s, i, BODIES), group = islands_first_group(s, i);
  const size_t rows = (size_t)s->r * (size_t)p->first[CONTACTS] + (size_t)p->first[BOUNDED] +
                      (size_t)p->couple_rows;
  const int sub = islands_first_sub(s, i);
  return (perp_blocks){
    .nv = nb * s->model->nvb,
    .m = s->r * islands_number(s, i, CONTACTS) + islands_further(s, i),
    .nb = nb,
    .nc = islands_first_group(s, i + 1) - group,
    .bptr = s->bptr + p->first[BODIES] + i,
    .mptr = s->mptr + p->first[BODIES] + i,
    .cptr = s->cptr + group + i,
    .jptr = s->jptr + group + i,
    .jblk = s->jblk + sub,
    .joff = s->joff + sub + i,
    .jgrp = s->jgrp + sub,
    .tptr = s->tptr + p->first[BODIES] + i,
    .tsub = s->tsub + sub,
    .M = s->M + square * body,
    .Minv = s->Minv + square * body,
    .J = s->J + 2 * nvb * rows + p->joint_numbers,
    .diag = s->diag + body,
    .flat = s->flat + nvb * body,
    .s = soft ? s->s + islands_first_row(s, i) : NULL,
  };
}

/* islands_partition.c: which bodies belong together, and what of the task belongs to them. */
void perp_islands_partition(perp_islands *s, const perp_island_task *task);
/* islands_rows.c: everything of all islands but dense matrices, on up to `threads` threads. */
void perp_islands_fill(perp_islands *s, const perp_constrained *k, const perp_island_task *task,
                       int threads);
/* Tangents: from the normal alone, t1 the x axis of the world (y where the normal is nearer to x)
 * made perpendicular to n; or along the sliding u where that is clear of rounding. */
PERP_INLINE void perp_islands_tangents(int dim, const double n[3], const double *u, double t[6])
{
  if (dim == 2) {
    t[0] = n[1], t[1] = -n[0];
    t[2] = t[3] = t[4] = t[5] = 0;
    return;
  }
  double *t1 = t, length = 0;
  if (u != NULL) {
    double un = perp_dot(3, n, u);
    for (int i = 0; i < 3; i++) t1[i] = u[i] - un * n[i];
    length = sqrt(perp_dot(3, t1, t1));
    if (length <= 1e-4 * fabs(un) + 1e-9) length = 0;
  }
  if (length == 0) {
    int axis = fabs(n[0]) < 0.9 ? 0 : 1;
    for (int i = 0; i < 3; i++) t1[i] = (i == axis) - n[axis] * n[i];
    length = sqrt(perp_dot(3, t1, t1));
  }
  for (int i = 0; i < 3; i++) t1[i] /= length;
  perp_cross(n, t1, t + 3);
}

/* ---- islands_anisotropy.c: elliptic cones of friction ---- */

/* Friction T of a contact with mu along g and ratio mu across it, w = n x g / |n x g|: with the map
 * S = 1 + (ratio - 1) w w' on tangents, T = S x with |x| <= mu lambda_n.  Most dissipation - T . u
 * = - x . S u makes x opposite to S u: a circular cone for the rows S t of tangents t.  Returns
 * ratio; 1: isotropic, w is not set. */
double perp_islands_anisotropy(const perp_model *model, const perp_eval *e, const perp_contact *x,
                               double w[3]);
/* y = (1 + (ratio - 1) w w') y */
PERP_INLINE void perp_islands_stretch(double ratio, const double w[3], double *y)
{
  const double more = (ratio - 1) * perp_dot(3, w, y);
  for (int i = 0; i < 3; i++) y[i] += more * w[i];
}

/* ---- islands_couples.c: couples against spinning and rolling ---- */

/* torsion and rolling [n] of all contacts that take part; 0 where the task has no couples. */
void perp_islands_couples_find(perp_islands *s, const perp_island_task *task);
/* How many rows the couples of a contact have. */
static inline int islands_couple_count(const perp_islands *s, int contact)
{
  return (s->torsion[contact] > 0) + (s->rolling[contact] > 0) * (s->model->dim - 1);
}
/* Their directions d [3 r], unit, world; returns r. */
int perp_islands_couple_directions(const perp_islands *s, const perp_contact *x, int at,
                                   double d[9]);
/* Their rows of J, r x nvb for each moving body, b = J v and the guess x. */
void perp_islands_couple_rows(const perp_islands *s, const perp_constrained *k,
                              const perp_island_task *task, int at, const double *v,
                              double *const J[2], double *b, double *x);
/* task->couple of the contacts of island i, from its answer. */
void perp_islands_couples_back(const perp_islands *s, const perp_island_task *task, int i);
/* f [nv] += the couples of all contacts. */
void perp_islands_couples_apply(const perp_islands *s, const perp_constrained *k,
                                const perp_island_task *task, double *f);

/* islands_dense.c: A_c = J_c H J_c' + S of island i, whose joints are eliminated: without any by
 * its blocks, else one response to each row of the whole system, by the KKT factor.  False: k says
 * why. */
bool perp_islands_columns(perp_islands *s, perp_constrained *k, int i);
/* ---- islands_factor.c ---- */

/* Room for matrices of so many rows, and frozen_*; factors are lost where that is more than ever.
 */
perp_status perp_islands_factor_room(perp_ctx *ctx, perp_islands *s, int rows);
/* Factors [n, n] made under this key, NULL: none. */
island_factor *perp_islands_factor_find(perp_islands *s, uint64_t key, int n);
/* Where to make them: the caller writes A, perp_islands_factor_make overwrites it. */
island_factor *perp_islands_factor_take(perp_islands *s, uint64_t key, int n);
bool perp_islands_factor_make(perp_islands *s, island_factor *f);
/* c [n] = A^+ c; overwrites frozen_work */
void perp_islands_factor_solve(perp_islands *s, const island_factor *f, double *c);

/* ---- islands_choice.c: which of several solutions ---- */

/* rule: PERP_CHOICE_* but NONE.  NULL where there is no memory. */
struct islands_choice *perp_islands_choice_create(perp_ctx *ctx, int rule);
void perp_islands_choice_destroy(struct islands_choice *c); /* NULL is fine */
/* Before island i is solved: x is its guess. */
void perp_islands_choice_guess(const lane *own, const perp_contact_island *problem, int r,
                               const double *x);
/* After it was solved with so much work (0: x is its guess), solution x, slip: counts whether its
 * impulses are unique, and whether another solution has another motion; x and slip become those of
 * the choice.  product: scratch [2 nv]. */
perp_status perp_islands_choose(perp_islands *s, lane *own, const perp_contact_island *problem,
                                const perp_island_task *task, island_known *is, double work,
                                double *x, double *slip, double *product);

/* islands_coulomb.c: after a step on the velocity level, what its friction leaves of Coulomb's law,
 * into s->count. */
void perp_islands_coulomb(perp_islands *s, const perp_constrained *k, const perp_island_task *task);
/* islands_impact.c: impacts of island i by a law of one contact, before its problem is solved:
 * problem->b becomes what they leave.  False: there are none.  Else perp_islands_impact_add adds
 * their impulses to the solution x. */
bool perp_islands_impact(perp_islands *s, lane *own, const perp_island_task *task,
                         perp_contact_island *problem, int i);
void perp_islands_impact_add(const perp_islands *s, int i);
/* islands_frozen.c: the impulses x of all islands for the modes task->frozen.  False: k says why.
 */
bool perp_islands_freeze(perp_islands *s, perp_constrained *k, perp_island_task *task);

#endif
